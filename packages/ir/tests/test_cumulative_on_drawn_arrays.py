"""Every cumulative operation on every dtype that it takes, along any axis of shapes of rank 1 to 5 with empty axes.

Oracle: the operation on each prefix, or in reverse each suffix, in unbounded integers or in float64.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn_arrays import (
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    cases,
    covers,
    drawn,
    every_operation_is_covered,
    extreme,
    few,
    rounded,
    same,
    seeds,
    sizes,
    wide,
    wrapped,
)
from hypothesis import given
from hypothesis import strategies as st

from laminax_ir.ops import cumulative
from laminax_ir.options.config import enable_x64


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


def prefixes(f, x, axis, reverse, dtype):
    """f of the list of elements up to each place along the axis (from it on, if reversed)."""
    rows = np.moveaxis(x, axis, -1)
    result = np.empty(rows.shape, dtype)
    for index in np.ndindex(*rows.shape):
        row, i = rows[index[:-1]], index[-1]
        result[index] = f(list(row[i:][::-1] if reverse else row[:i + 1]))
    return np.moveaxis(result, -1, axis)


@covers("cummax", "cummin")
@few
@given(sizes=sizes, seed=seeds, reverse=st.booleans())
def test_running_extremes(sizes, seed, reverse):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(NUMBERS, sizes, range(1, 6)):
        axis, x = int(rng.integers(len(shape))), drawn(rng, dtype, shape, only_finite=dtype in COMPLEX)
        for function, choose in ((cumulative.cummax, max), (cumulative.cummin, min)):
            got = np.asarray(function(x, axis, reverse))
            assert got.dtype == dtype
            expected = prefixes(extreme(choose, dtype, reduces=False), x, axis, reverse, dtype)
            np.testing.assert_array_equal(wide(got), wide(expected), str(dtype))


@covers("cumsum", "cumprod")
@few
@given(sizes=sizes, seed=seeds, reverse=st.booleans())
def test_running_sums_and_products(sizes, seed, reverse):
    """Of integers the low bits; floats are such that float32 holds every partial result."""
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(NUMBERS, sizes, range(1, 6)):
        axis = int(rng.integers(len(shape)))
        for function, f in ((cumulative.cumsum, sum), (cumulative.cumprod, math.prod)):
            if dtype in INTEGERS:
                x = drawn(rng, dtype, shape)
                same(function(x, axis, reverse), prefixes(lambda v: wrapped(f(map(int, v)), dtype), x, axis, reverse, dtype))  # noqa: B023
                continue
            unit = 1j if dtype in COMPLEX else np.inf if rng.random() < 0.5 else np.nan
            x = np.asarray(rng.choice([1, -1, 2, 0.5, 4, 1, 1, unit], shape)).astype(dtype)
            with np.errstate(all="ignore"):
                exact = prefixes(lambda v: f(map(wide, v)), x, axis, reverse, wide(x).dtype)  # noqa: B023
                rounded(function(x, axis, reverse), exact, dtype, ulps=0)


def log_sum_exp(values):
    """In float64, shifted by the greatest term."""
    values = wide(np.array(values))
    top = np.max(values.real)
    shift = top if np.isfinite(top) else 0
    return np.log(np.sum(np.exp(values - shift))) + shift


@covers("cumlogsumexp")
@few
@given(sizes=sizes, seed=seeds, reverse=st.booleans())
def test_cumlogsumexp(sizes, seed, reverse):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(FLOATS + COMPLEX, sizes, range(1, 6)):
        axis = int(rng.integers(len(shape)))
        x = drawn(rng, dtype, shape)
        if dtype in COMPLEX:  # far from the cut: angles below 1
            x = np.asarray(rng.normal(size=shape) + 1j * rng.uniform(-1, 1, shape), dtype)
        with np.errstate(all="ignore"):
            exact = prefixes(log_sum_exp, x, axis, reverse, wide(x).dtype)
        # a rounding of float32 for each of three terms, of sizes around 1 where they cancel
        eps = float(np.finfo(dtype if dtype.name in ("float64", "complex128") else np.float32).eps)
        rounded(cumulative.cumlogsumexp(x, axis, reverse), exact, dtype, ulps=8, absolute=40 * eps)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"])
def test_other_dtypes_are_refused(name):
    for dtype in BOOL + INTEGERS if name == "cumlogsumexp" else BOOL:
        with pytest.raises(TypeError, match=f"{name} does not accept dtype {dtype}"):
            getattr(cumulative, name)(np.ones(2, dtype))


def test_every_operation_of_the_family_is_drawn():
    every_operation_is_covered(__name__)
