"""Every sorting operation on every dtype that it takes, along any axis of shapes of rank 1 to 5, NaN and infinities included.

Oracle: Python's stable sort of tuples, row by row.
"""

from __future__ import annotations

import numpy as np
import pytest
from drawn_arrays import (
    COMPLEX,
    EVERY,
    FLOATS,
    INTEGERS,
    cases,
    covers,
    drawn,
    every_operation_is_covered,
    few,
    same,
    seeds,
    sizes,
    total_order_key,
    wide,
)
from hypothesis import given

from laminax_ir.ops import sorting
from laminax_ir.options.config import enable_x64


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


def rows_of(x, axis):
    """The rows along the axis, as a matrix that is a view where NumPy can."""
    moved = np.moveaxis(x, axis, -1)
    return moved.reshape(-1, x.shape[axis]) if x.size else moved.reshape(0, x.shape[axis])


def along(axis, shape, rows, dtype):
    """The array of the shape whose rows along the axis these are."""
    moved = (*shape[:axis], *shape[axis + 1:], shape[axis])
    return np.moveaxis(np.array(rows, dtype).reshape(moved), -1, axis)


def key(v):
    """NaN after everything, -0 equal to 0; complex numbers by real, then by imaginary part."""
    if v.dtype in INTEGERS:
        return (int(v),)
    parts = (wide(v).real, wide(v).imag) if v.dtype in COMPLEX else (wide(v),)
    return tuple((bool(np.isnan(p)), 0.0 if np.isnan(p) else float(p)) for p in parts)


@covers("sort")
@few
@given(sizes=sizes, seed=seeds)
def test_sort(sizes, seed):
    rng = np.random.default_rng(seed)
    for i, (dtype, shape) in enumerate(cases(EVERY, sizes, range(1, 6))):
        axis, num_keys = int(rng.integers(len(shape))), 1 + i % 2
        x, second = drawn(rng, dtype, shape), drawn(rng, EVERY[(i * 7) % len(EVERY)], shape)
        third = np.asarray(rng.integers(0, 100, shape), np.int32)
        operands = [np.asarray(np.where(rng.random(shape) < 0.5, np.ones((), dtype), x), dtype), second, third]  # with ties
        got = sorting.sort(operands, axis, is_stable=True, num_keys=num_keys)
        tables = [rows_of(a, axis) for a in operands]
        orders = [sorted(range(shape[axis]), key=lambda j: [key(t[r, j]) for t in tables[:num_keys]])  # noqa: B023
                  for r in range(len(tables[0]))]
        for result, table, operand in zip(got, tables, operands):
            same(result, along(axis, shape, [[row[j] for j in order] for row, order in zip(table, orders)], operand.dtype))


def check_first(got, x, axis, k, keys):
    values, indices = got
    shape = (*x.shape[:axis], k, *x.shape[axis + 1:])
    orders = [sorted(range(x.shape[axis]), key=lambda j: keys(row[j]))[:k] for row in rows_of(x, axis)]  # noqa: B023
    same(indices, along(axis, shape, orders, np.int32))
    same(values, along(axis, shape, [[row[j] for j in order] for row, order in zip(rows_of(x, axis), orders)], x.dtype))


def reversed_key(v):
    found = total_order_key(v)
    return tuple(-part for part in found) if isinstance(found, tuple) else -found


@covers("top_k", "approx_top_k")
@few
@given(sizes=sizes, seed=seeds)
def test_top_k(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases([d for d in EVERY if d not in COMPLEX], sizes, range(1, 6)):
        axis = int(rng.integers(len(shape)))
        k = int(rng.integers(0, shape[axis] + 1))
        x = drawn(rng, dtype, shape)
        check_first(sorting.top_k(x, k, axis=axis), x, axis, k, reversed_key)
        if dtype in FLOATS and k:
            check_first(sorting.approx_max_k(x, k, axis), x, axis, k, reversed_key)
            check_first(sorting.approx_min_k(x, k, axis), x, axis, k, total_order_key)
    for dtype in COMPLEX:
        with pytest.raises(ValueError, match="top_k: complex and extended dtypes have no order"):
            sorting.top_k(np.zeros(3, dtype), 1)


def test_every_operation_of_the_family_is_drawn():
    every_operation_is_covered(__name__)
