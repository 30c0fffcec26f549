"""Every reduction on every dtype that it takes, over any axes of shapes of rank 0 to 5 with empty axes.

Oracles: Python's own sums, products and extremes of each column of the reduced elements, in unbounded integers or in float64.
The terms of sums and products of floats are such that float32 holds every partial result, since the order is not specified.
"""

from __future__ import annotations

import functools
import math
import operator

import ml_dtypes
import numpy as np
import pytest
from drawn_arrays import (
    BOOL,
    COMPLEX,
    EVERY,
    FLOATS,
    INTEGERS,
    NUMBERS,
    REALS,
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

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import reduction
from laminax_ir.options.config import enable_x64


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


def some_axes(rng, rank):
    return tuple(axis for axis in rng.permutation(rank).tolist() if rng.random() < 0.5)


def by_columns(f, axes, *arrays, dtype=object):
    """f of the list of reduced elements (of several arrays, lists), for each place of the result."""
    kept = [axis for axis in range(arrays[0].ndim) if axis not in axes]
    shape = tuple(arrays[0].shape[axis] for axis in kept)
    count = math.prod(arrays[0].shape[axis] for axis in axes)
    columns = [x.transpose(*kept, *sorted(axes)).reshape(*shape, count) for x in arrays]
    result = np.empty(shape, dtype)
    for index in np.ndindex(*shape):
        result[index] = f(*[list(column[index]) for column in columns])
    return result


def integers(f, axes, x):
    """f on Python's integers, of which the low bits are kept."""
    return by_columns(lambda values: wrapped(f(list(map(int, values))), x.dtype), axes, x, dtype=x.dtype)


@covers("reduce_sum", "reduce_prod")
@few
@given(sizes=sizes, seed=seeds)
def test_sums_and_products(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(NUMBERS, sizes):
        axes = some_axes(rng, len(shape))
        if dtype in INTEGERS:
            x = drawn(rng, dtype, shape)
            same(reduction.reduce_sum(x, axes), integers(sum, axes, x))
            same(reduction.reduce_prod(x, axes), integers(math.prod, axes, x))
            continue
        unit = [1, 1j, -1, -1j] if dtype in COMPLEX else [1, 1, -1, np.nan] if rng.random() < 0.2 else [1, -1, 1, np.inf]
        terms = np.asarray(rng.choice([0, 1, 2, -2, *unit], shape)).astype(dtype)
        factors = np.asarray(rng.choice([*[1, -1] * 8, *unit, 2, 0.5], shape)).astype(dtype)
        with np.errstate(all="ignore"):
            total = by_columns(lambda v: sum(map(wide, v)), axes, terms, dtype=wide(terms).dtype)
            product = by_columns(lambda v: math.prod(map(wide, v)), axes, factors, dtype=wide(terms).dtype)
            rounded(reduction.reduce_sum(terms, axes), total, dtype, ulps=0)
            rounded(reduction.reduce_prod(factors, axes), product, dtype, ulps=0)


@covers("reduce_max", "reduce_min")
@few
@given(sizes=sizes, seed=seeds)
def test_extremes(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(EVERY, sizes):
        x, axes = drawn(rng, dtype, shape), some_axes(rng, len(shape))
        for function, choose in ((reduction.reduce_max, max), (reduction.reduce_min, min)):
            expected = by_columns(extreme(choose, dtype), axes, x, dtype=dtype)
            got = np.asarray(function(x, axes))
            assert got.dtype == dtype and got.shape == expected.shape
            if dtype in COMPLEX:  # which parts of a complex NaN are NaN is not specified
                defined = ~np.isnan(expected)
                np.testing.assert_array_equal(np.isnan(got), ~defined)
                got, expected = got[defined], expected[defined]
            np.testing.assert_array_equal(wide(got), wide(expected), str(dtype))


@covers("reduce_and", "reduce_or", "reduce_xor")
@few
@given(sizes=sizes, seed=seeds)
def test_logical_reductions(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(INTEGERS + BOOL, sizes):
        x, axes = drawn(rng, dtype, shape), some_axes(rng, len(shape))
        for function, combine, empty in ((reduction.reduce_and, operator.and_, -1), (reduction.reduce_or, operator.or_, 0),
                                         (reduction.reduce_xor, operator.xor, 0)):
            fold = lambda values: functools.reduce(combine, values, empty)  # noqa: B023  (called at once)
            if dtype == bool:
                same(function(x, axes), by_columns(lambda v: bool(fold(list(map(int, v))) & 1), axes, x, dtype=bool))  # noqa: B023
            else:
                same(function(x, axes), integers(fold, axes, x))


@covers("argmax", "argmin")
@few
@given(sizes=sizes, seed=seeds)
def test_places_of_extremes(sizes, seed):
    """The first NaN, or else the first of the extreme elements."""
    rng = np.random.default_rng(seed)
    for i, (dtype, shape) in enumerate(cases(REALS + BOOL, sizes, range(1, 6))):
        axis, index_dtype = int(rng.integers(len(shape))), [d for d in INTEGERS if d.itemsize > 1][i % 6]
        x = drawn(rng, dtype, shape)
        for function, name, choose in ((reduction.argmax, "argmax", max), (reduction.argmin, "argmin", min)):
            if shape[axis] == 0:
                with pytest.raises(ValueError, match=f"{name}: require non-empty reduced dimension, axis {axis} of"):
                    function(x, axis, index_dtype)
                continue

            def place(values, choose=choose):
                nans = [i for i, v in enumerate(values) if np.isnan(wide(v))]
                numbers = [int(v) if dtype in INTEGERS else wide(v) for v in values]  # noqa: B023
                return nans[0] if nans else numbers.index(choose(numbers))

            same(function(x, axis, index_dtype), by_columns(place, (axis,), x, dtype=index_dtype))


@covers("reduce")
@few
@given(sizes=sizes, seed=seeds)
def test_any_monoid_of_several_operands(sizes, seed):
    """The greatest element, or a bound if that is greater, and beside it a sum of integers."""
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(EVERY, sizes):
        axes = some_axes(rng, len(shape))
        x, bound = drawn(rng, dtype, shape, only_finite=True), drawn(rng, dtype, (), only_finite=True)
        counts = drawn(rng, np.int32, shape)
        computation = lambda a, b: (op.max(a[0], b[0]), op.add(a[1], b[1]))
        greatest, total = reduction.reduce((x, counts), (bound[()], np.int32(7)), computation, axes)
        expected = by_columns(lambda v: extreme(max, dtype, reduces=False)([*v, bound[()]]), axes, x, dtype=dtype)  # noqa: B023
        np.testing.assert_array_equal(wide(greatest), wide(expected), str(dtype))
        assert np.asarray(greatest).dtype == dtype
        same(total, integers(lambda v: sum(v) + 7, axes, counts))


TAKEN = {"reduce_sum": NUMBERS, "reduce_prod": NUMBERS, "reduce_max": EVERY, "reduce_min": EVERY, "reduce_and": INTEGERS + BOOL,
         "reduce_or": INTEGERS + BOOL, "reduce_xor": INTEGERS + BOOL, "argmax": REALS + BOOL, "argmin": REALS + BOOL}


@pytest.mark.parametrize("name", TAKEN)
def test_other_dtypes_are_refused(name):
    rest = (0, np.int32) if name.startswith("arg") else ((0,),)
    for dtype in EVERY:
        if dtype in TAKEN[name]:
            assert getattr(reduction, name)(np.ones(2, dtype), *rest).shape == ()
            continue
        with pytest.raises(TypeError, match=f"{name} does not accept dtype {dtype}"):
            getattr(reduction, name)(np.ones(2, dtype), *rest)


def test_floats_are_summed_in_any_order():
    """What makes the sums above exact: in float32 every partial sum of so few small numbers is one of its numbers."""
    assert 3**5 * 2 < 2**24 and all(ml_dtypes.finfo(d).nmant <= 23 for d in FLOATS if d != np.float64)


def test_every_operation_of_the_family_is_drawn():
    every_operation_is_covered(__name__)
