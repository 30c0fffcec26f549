"""The table of functions is complete, calls drawn on a new seed agree with NumPy and SciPy, and what is wrong is found."""

from __future__ import annotations

import importlib
import inspect
import pathlib
import random
import re
import secrets
import sys
import time
import typing

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

import check_functions  # noqa: E402
from functions import comparing  # noqa: E402
from functions.drawing import Call, Draw  # noqa: E402
from functions.entries import TABLE, Entry  # noqa: E402

MODULES = ("numpy", "numpy.linalg", "numpy.fft", "scipy.special", "scipy.linalg", "scipy.signal", "scipy.stats", "scipy.fft",
    "scipy.integrate",
           "scipy.ndimage", "scipy.optimize", "scipy.cluster.vq", "lax", "lax.linalg", "nn", "nn.initializers", "random", "ops", "image")
REPOSITORY = pathlib.Path(__file__).absolute().parents[2]
SECONDS = 10


def functions_of(module: str) -> set[str]:
    """The names of a module's public functions."""
    value = importlib.import_module(f"laminax.{module}")
    members = {name: getattr(value, name) for name in value.__all__}
    return {name for name, member in members.items() if callable(member) and not inspect.isclass(member) and not typing.get_origin(member)}


@pytest.mark.parametrize("module", MODULES)
def test_each_public_function_has_an_entry(module):
    table = {name for where, name in TABLE if where == module}
    assert functions_of(module) - table == set(), "these have no entry in tools/functions"
    assert table - functions_of(module) == set(), "these are in tools/functions and not in the module"


def test_what_is_not_compared_is_named_by_the_tests_that_its_entry_names():
    texts: dict[str, str] = {}
    for (module, name), entry in TABLE.items():
        if not entry.reason:
            continue
        for place in entry.tested_in:
            files = sorted(path.rglob("*.py")) if (path := REPOSITORY / place).is_dir() else [path]
            texts.setdefault(place, "\n".join(file.read_text() for file in files))
        assert any(re.search(rf"\b{name}\b", texts[place]) for place in entry.tested_in), f"{module}.{name} is not in {entry.tested_in}"
    assert sum(not entry.reason for entry in TABLE.values()) > 700


def test_calls_drawn_on_a_new_seed_agree():
    compared = [(name, entry) for name, entry in TABLE.items() if not entry.reason]
    seed = secrets.randbelow(2**31)
    random.Random(seed).shuffle(compared)
    end = time.monotonic() + SECONDS
    found = []
    for i, (name, entry) in enumerate(compared):
        if time.monotonic() > end and i >= 20:
            break
        found.append(check_functions.examined(name, entry, seed))
    assert not any(found), "\n".join(filter(None, found))


def test_a_seed_draws_the_same_call():
    assert str(TABLE["numpy", "clip"].draw(Draw(3, True, True))) == str(TABLE["numpy", "clip"].draw(Draw(3, True, True)))


@pytest.mark.parametrize("wrong", [lambda x: x + 1, lambda x: x[:1], lambda x: x.astype("int32"), lambda x: (x, x), lambda x: -x])
@pytest.mark.parametrize("mode", ["eager", "jit", "vmap"])
def test_what_is_wrong_is_found(wrong, mode):
    entry, call = Entry(lambda draw: Call(()), lambda x: x), Call((np.array([1.5, np.inf, 3.0], np.float32),))
    comparing.check(lambda x: x, entry, call, mode)
    with pytest.raises(comparing.Difference):
        comparing.check(wrong, entry, call, mode)


def test_a_few_units_are_rounding_and_more_are_not():
    entry = Entry(lambda draw: Call(()), units=4)
    x = np.array([1.0, 1e-3], np.float32)
    comparing.compare([x.astype(np.float64)], [x * np.float32(1 + 3e-7)], entry, [x])
    with pytest.raises(comparing.Difference):
        comparing.compare([x.astype(np.float64)], [x * np.float32(1 + 2e-6)], entry, [x])
    with pytest.raises(comparing.Difference):
        comparing.compare([np.array([np.nan])], [np.array([1.0])], entry, [x])


def test_drawn_arrays_have_the_dtypes_and_bounds_that_are_asked_for():
    draw = Draw(5, wide=False, special=True)
    assert all(draw.array(("float32", "float64", "complex128")).dtype == np.float32 for _ in range(9))
    x = draw.array("float32", (1000,), -2, 3)
    assert x.min() >= -2 and x.max() <= 3 and np.isfinite(x).all()
    assert np.isnan(draw.array("float32", (1000,))).any() and (draw.array("int8", (1000,), nonzero=True) != 0).all()
