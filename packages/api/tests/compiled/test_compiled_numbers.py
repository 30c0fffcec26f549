"""Every operation compiled and run by XLA on CPU, against its NumPy reference, on drawn operands of every dtype it takes.

What a result may differ by is `compiled.tolerances`, and docs/tolerances.md. Compiling takes nearly all of the time, so each
example compiles all operations of a family as one program.
"""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from compiled.comparison import FAMILIES, check
from compiled.drawing import DTYPES, FLOATS, Draw
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import laminax

RANKS = [np.dtype(name) for name in ("float32", "int32", "complex64")]
seeds = st.integers(0, 2**32 - 1)
example = {"max_examples": 1, "phases": [Phase.generate]}  # a smaller seed is no simpler example
shapes = st.lists(st.integers(0, 4), max_size=5).map(tuple)


@pytest.fixture(autouse=True)
def x64():
    with laminax.enable_x64(True):
        yield


def comparisons(family: str, draw: Draw, dtype: np.dtype):
    return importlib.import_module(f"compiled.{family}").comparisons(draw, dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(**example)
@given(seeds)
def test_elementwise_operations(dtype, seed):
    check(comparisons("elementwise", Draw(seed, (400,)), dtype))


@pytest.mark.parametrize("dtype", RANKS, ids=str)  # an elementwise operation meets shapes the same way in every dtype
@settings(max_examples=2, phases=[Phase.generate])
@given(seeds, shapes)
def test_elementwise_operations_on_shapes_of_any_rank(dtype, seed, shape):
    check(comparisons("elementwise", Draw(seed, shape), dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@settings(**example)
@given(seeds)
def test_special_functions(dtype, seed):
    check(comparisons("special", Draw(seed, (200,)), dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("family", [family for family in FAMILIES if family not in ("elementwise", "special")])
@settings(**example)
@given(seeds)
def test_operations_on_arrays(family, dtype, seed):
    check(comparisons(family, Draw(seed), dtype))
