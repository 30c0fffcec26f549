"""Every windowed reduction on every dtype that it takes, on shapes of rank 0 to 5 with empty axes, NaN and infinities.

Oracle: a loop over the elements of each window, by the definition of StableHLO.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn_arrays import (
    BOOL,
    COMPLEX,
    EVERY,
    INTEGERS,
    NUMBERS,
    REALS,
    bound,
    covers,
    drawn,
    every_operation_is_covered,
    extreme,
    more,
    rounded,
    same,
    seeds,
    wide,
    wrapped,
)
from hypothesis import given
from hypothesis import strategies as st

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import windows
from laminax_ir.options.config import enable_x64


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


def windows_of(shape, window, strides, padding, base_dilation, window_dilation):
    """For each window the indices of the elements in it, in row-major order of the window; None outside."""
    counts = []
    for i, size in enumerate(shape):
        padded = ((size - 1) * base_dilation[i] + 1 if size else 0) + sum(padding[i])
        counts.append(max((padded - ((window[i] - 1) * window_dilation[i] + 1)) // strides[i] + 1, 0))
    table = np.empty(counts, object)
    for y in np.ndindex(*counts):
        table[y] = []
        for k in np.ndindex(*window):
            place = [y[i] * strides[i] + k[i] * window_dilation[i] - padding[i][0] for i in range(len(shape))]
            inside = all(p % d == 0 and 0 <= p // d < s for p, d, s in zip(place, base_dilation, shape))
            table[y].append(tuple(p // d for p, d in zip(place, base_dilation)) if inside else None)
    return table


@st.composite
def windowed(draw, dilations=True):
    """A shape, and window sizes, strides, padding and dilations for each of its axes."""
    rank = draw(st.integers(0, 5))
    numbers = lambda low, high: tuple(draw(st.lists(st.integers(low, high), min_size=rank, max_size=rank)))
    high = 2 if dilations else 1
    shape = numbers(0, 4 if rank < 3 else 2)
    low = [max(n, 0) if size == 0 or not dilations else n for n, size in zip(numbers(-1, 2), shape)]
    window, strides, padding = numbers(1, 3 if rank < 3 else 2), numbers(1, 2), tuple(zip(low, numbers(0, 2)))
    return shape, window, strides, padding, numbers(1, high), numbers(1, high)


def folded(f, table, x):
    """f of the list of the elements of each window."""
    result = np.empty(table.shape, x.dtype)
    for y in np.ndindex(*table.shape):
        result[y] = f([x[i] for i in table[y] if i is not None])
    return result


@covers("reduce_window_max", "reduce_window_min")
@more
@given(case=windowed(), seed=seeds)
def test_extremes_of_windows(case, seed):
    rng = np.random.default_rng(seed)
    shape, table = case[0], windows_of(*case)
    for dtype in EVERY:
        x = drawn(rng, dtype, shape)
        for computation, choose in ((op.max, max), (op.min, min)):
            init = np.asarray(bound(min if choose is max else max, dtype)).astype(dtype)
            got = np.asarray(windows.reduce_window(x, init, computation, *case[1:]))
            expected = folded(extreme(choose, dtype), table, x)
            assert got.dtype == dtype and got.shape == expected.shape
            if dtype in COMPLEX:  # which parts of a complex NaN are NaN is not specified
                defined = ~np.isnan(expected)
                np.testing.assert_array_equal(np.isnan(got), ~defined)
                got, expected = got[defined], expected[defined]
            np.testing.assert_array_equal(wide(got), wide(expected), str(dtype))


@covers("reduce_window_sum", "reduce_window")
@more
@given(case=windowed(), seed=seeds)
def test_sums_and_products_of_windows(case, seed):
    """Of integers with their low bits, of floats such that float32 holds every partial result."""
    rng = np.random.default_rng(seed)
    shape, table = case[0], windows_of(*case)
    for dtype in NUMBERS:
        zero, one = (np.asarray(n).astype(dtype) for n in (0, 1))
        if dtype in INTEGERS:
            x = drawn(rng, dtype, shape)
            for f, init, computation in ((sum, zero, op.add), (math.prod, one, op.mul)):
                expected = folded(lambda v: wrapped(f(map(int, v)), dtype), table, x)  # noqa: B023  (called at once)
                same(windows.reduce_window(x, init, computation, *case[1:]), expected)
            continue
        x = np.asarray(rng.choice([1, 1, -1, 2, 0.5, np.nan] if rng.random() < 0.3 else [1, 2, 1, -1, np.inf], shape)).astype(dtype)
        with np.errstate(all="ignore"):
            for f, init, computation in ((sum, zero, op.add), (math.prod, one, op.mul)):
                if np.isnan(wide(init)):  # float8_e8m0fnu has no zero
                    continue
                exact = folded(lambda v: f(map(wide, v)), table, wide(x))  # noqa: B023
                rounded(windows.reduce_window(x, init, computation, *case[1:]), exact, dtype, ulps=0)


@covers("reduce_window")
@more
@given(case=windowed(), seed=seeds)
def test_any_monoid_of_several_operands(case, seed):
    """A greatest element, or a bound if that is greater; beside it an exclusive or."""
    rng = np.random.default_rng(seed)
    shape, table = case[0], windows_of(*case)
    for dtype in REALS + BOOL:
        x, least = drawn(rng, dtype, shape, only_finite=True), drawn(rng, dtype, (), only_finite=True)[()]
        bits = drawn(rng, np.int16, shape)
        computation = lambda a, b: (op.max(a[0], b[0]), op.bitwise_xor(a[1], b[1]))
        greatest, parity = windows.reduce_window((x, bits), (least, np.int16(5)), computation, *case[1:])
        # The places outside count as the initial value, which an idempotent operation does not show; `xor` would.
        np.testing.assert_array_equal(wide(greatest), wide(folded(lambda v: extreme(max, dtype, reduces=False)([*v, least]), table, x)))  # noqa: B023
        expected = np.empty(table.shape, np.int16)
        for y in np.ndindex(*table.shape):
            expected[y] = np.bitwise_xor.reduce([5, *[5 if i is None else int(bits[i]) for i in table[y]]])
        same(parity, expected)


@covers("select_and_scatter_add", "select_and_gather_add")
@more
@given(case=windowed(dilations=False), greatest=st.booleans(), seed=seeds)
def test_selection(case, greatest, seed):
    """The first of the extreme elements of a window is its place."""
    shape, window, strides, padding, *ones = case
    table, rng = windows_of(*case), np.random.default_rng(seed)
    select = op.ge_p if greatest else op.le_p
    places = np.empty(table.shape, object)
    for dtype in REALS:
        x, source, tangents = (np.asarray(rng.integers(1, 4, s)).astype(dtype) for s in (shape, table.shape, shape))
        gathered, scattered = np.zeros(table.shape).astype(dtype), np.zeros(shape, object if dtype in INTEGERS else np.float64)
        for y in np.ndindex(*table.shape):
            inside = [i for i in table[y] if i is not None]
            places[y] = (max if greatest else min)(inside, key=lambda i: wide(x[i])) if inside else None  # noqa: B023
            if inside:
                scattered[places[y]] += int(source[y]) if dtype in INTEGERS else float(source[y])
                gathered[y] = tangents[places[y]]
        if dtype in INTEGERS:
            scattered = np.array([wrapped(int(v), dtype) for v in scattered.ravel()]).reshape(shape)
        got = np.asarray(windows.select_and_scatter_add(source, x, select, window, strides, padding))
        assert got.dtype == dtype
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(wide(got), wide(scattered.astype(dtype)), str(dtype))
        same(windows.select_and_gather_add(tangents, x, select, window, strides, padding), gathered)


@covers("select_and_scatter")
@more
@given(case=windowed(dilations=False), greatest=st.booleans(), seed=seeds)
def test_selection_with_any_combination(case, greatest, seed):
    """The greatest of the source elements that belong to a place, or a bound if that is greater."""
    shape, window, strides, padding, *_ = case
    table, rng = windows_of(*case), np.random.default_rng(seed)
    for dtype in REALS + BOOL:
        x, source, least = (drawn(rng, dtype, s, only_finite=True) for s in (shape, table.shape, ()))
        gathered = {i: [least[()]] for i in np.ndindex(*shape)}
        for y in np.ndindex(*table.shape):
            inside = [i for i in table[y] if i is not None]
            if inside:
                size = (lambda i: int(x[i])) if dtype in INTEGERS else lambda i: wide(x[i])  # noqa: B023  (called at once)
                gathered[(max if greatest else min)(inside, key=size)].append(source[y])
        expected = np.empty(shape, dtype)
        for i in np.ndindex(*shape):
            expected[i] = extreme(max, dtype, reduces=False)(gathered[i])
        got = np.asarray(windows.select_and_scatter(x, op.ge if greatest else op.le, window, strides, padding, source, least[()], op.max))
        assert got.dtype == dtype
        np.testing.assert_array_equal(wide(got), wide(expected), str(dtype))


TAKEN = {"select_and_scatter_add": REALS, "select_and_gather_add": REALS}


@pytest.mark.parametrize("name", TAKEN)
def test_other_dtypes_are_refused(name):
    for dtype in [d for d in EVERY if d not in TAKEN[name]]:
        with pytest.raises(TypeError, match=f"{name} does not accept dtype {dtype}"):
            x = np.ones(2, dtype)
            getattr(windows, name)(x, x, op.ge_p, (1,), (1,), [(0, 0)])


def test_every_operation_of_the_family_is_drawn():
    every_operation_is_covered(__name__)
