"""Every indexing operation on every dtype, on shapes of rank 0 to 5 with empty axes: slices against NumPy's, gather and scatter
against loops that follow the StableHLO specification.

What is combined is combined in Python's integers or in float64 and rounded once; the values are few and small, so that the
sums of wider types are exact.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from drawn_arrays import (
    EVERY,
    INTEGERS,
    NUMBERS,
    cases,
    covers,
    drawn,
    every_operation_is_covered,
    few,
    more,
    same,
    seeds,
    sizes,
    wide,
    wrapped,
)
from hypothesis import given
from hypothesis import strategies as st

from laminax_ir.ops import indexing as ops
from laminax_ir.ops import slicing
from laminax_ir.ops.indexing import GatherDimensionNumbers, ScatterDimensionNumbers
from laminax_ir.options.config import enable_x64


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


@covers("slice")
@few
@given(sizes=sizes, seed=seeds)
def test_slice_is_numpys(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(EVERY, sizes):
        x = drawn(rng, dtype, shape)
        bounds = [sorted(rng.integers(0, n + 1, 2).tolist()) for n in shape]
        starts, limits = tuple(low for low, _ in bounds), tuple(high for _, high in bounds)
        strides = tuple(rng.integers(1, 4, len(shape)).tolist())
        same(slicing.slice(x, starts, limits, strides), x[tuple(map(slice, starts, limits, strides))])
        same(slicing.slice(x, starts, limits), x[tuple(map(slice, starts, limits))])


@covers("dynamic_slice", "dynamic_update_slice")
@few
@given(sizes=sizes, seed=seeds)
def test_dynamic_slices_clamp(sizes, seed):
    rng = np.random.default_rng(seed)
    for i, (dtype, shape) in enumerate(cases(EVERY, sizes)):
        index_dtype = [d for d in INTEGERS if d.itemsize > 1 or d.name.endswith("int8")][i % 8]
        x = drawn(rng, dtype, shape)
        window = tuple(int(rng.integers(0, n + 1)) for n in shape)
        update = drawn(rng, dtype, window)
        starts = [drawn(rng, index_dtype, ()) if rng.random() < 0.3 else np.asarray(rng.integers(0, 4), index_dtype) for _ in shape]
        clamped = [min(max(int(s), 0), n - k) for s, n, k in zip(starts, shape, window)]
        places = tuple(slice(s, s + k) for s, k in zip(clamped, window))
        written = x.copy()
        written[places] = update
        same(slicing.dynamic_slice(x, starts, window, allow_negative_indices=False), x[places])
        same(slicing.dynamic_update_slice(x, update, starts, allow_negative_indices=False), written)


@st.composite
def windows(draw):
    """Shapes and dimension numbers of a gather: each axis of the operand batching, collapsed or kept."""
    kinds = draw(st.lists(st.sampled_from(["batching", "collapsed", "kept"]), max_size=5))
    sizes = [draw(st.integers(1, 3)) for _ in kinds]
    batching = tuple(i for i, kind in enumerate(kinds) if kind == "batching")
    collapsed = tuple(i for i, kind in enumerate(kinds) if kind == "collapsed")
    slice_sizes = tuple(draw(st.integers(0, n)) if kind == "kept" else 1 for kind, n in zip(kinds, sizes))
    movable = draw(st.permutations([i for i in range(len(kinds)) if i not in batching]))
    index_map = tuple(movable[:draw(st.integers(0, len(movable)))])
    extra = draw(st.lists(st.integers(0, 3), max_size=2))
    order = draw(st.permutations(range(len(batching) + len(extra))))  # the indices' axes: batching ones among others
    batch_sizes = [sizes[i] for i in batching] + extra
    batch_shape = tuple(batch_sizes[i] for i in order)
    indices_batching = tuple(order.index(i) for i in range(len(batching)))
    kept = [n for i, n in enumerate(slice_sizes) if kinds[i] == "kept"]
    rank = len(batch_shape) + len(kept)
    offset = tuple(sorted(draw(st.permutations(range(rank)))[:len(kept)]))
    low, high = draw(st.sampled_from([(0, 3), (-3, 6)]))
    indices = draw(st.lists(st.integers(low, high), min_size=int(np.prod(batch_shape)) * len(index_map),
                            max_size=int(np.prod(batch_shape)) * len(index_map)))
    return (tuple(sizes), np.array(indices, np.int32).reshape(*batch_shape, len(index_map)), slice_sizes,
            GatherDimensionNumbers(offset, collapsed, index_map, batching, indices_batching))


def correspondence(shape, indices, slice_sizes, dims, mode):
    """Pairs (index in the result or the updates, index in the operand, or None where out of bounds), by the specification."""
    batch_shape = indices.shape[:-1]
    kept = [i for i in range(len(shape)) if i not in dims.collapsed_slice_dims and i not in dims.operand_batching_dims]
    result_shape, batch_axes = [], []
    sizes, batches = iter([slice_sizes[i] for i in kept]), iter(batch_shape)
    for axis in range(len(batch_shape) + len(kept)):
        if axis in dims.offset_dims:
            result_shape.append(next(sizes))
        else:
            result_shape.append(next(batches))
            batch_axes.append(axis)
    pairs = []
    for index in itertools.product(*map(range, result_shape)):
        batch = tuple(index[a] for a in batch_axes)
        start = [0] * len(shape)
        for value, axis in zip(indices[batch], dims.start_index_map):
            start[axis] = int(value)
        for axis, indices_axis in zip(dims.operand_batching_dims, dims.start_indices_batching_dims):
            start[axis] = batch[indices_axis]
        room = [n - k for n, k in zip(shape, slice_sizes)]
        if mode == "clip":
            start = [min(max(s, 0), r) for s, r in zip(start, room)]
        inside = all(0 <= s <= r for s, r in zip(start, room))
        for axis, operand_axis in zip(dims.offset_dims, kept):
            start[operand_axis] += index[axis]
        pairs.append((index, tuple(start) if inside else None))
    return tuple(result_shape), pairs


@covers("gather")
@more
@given(case=windows(), mode=st.sampled_from(["clip", "fill"]), seed=seeds)
def test_gather_reads_what_the_specification_says(case, mode, seed):
    shape, indices, slice_sizes, dims = case
    rng = np.random.default_rng(seed)
    result_shape, pairs = correspondence(shape, indices, slice_sizes, dims, mode)
    for dtype in EVERY:
        x = drawn(rng, dtype, shape)
        fill = np.asarray(1).astype(dtype)
        expected = np.full(result_shape, fill, dtype)
        for index, place in pairs:
            if place is not None:
                expected[index] = x[place]
        same(ops.gather(x, indices, dims, slice_sizes, mode=mode, fill_value=1), expected)


COMBINE = {"scatter": lambda a, b: b, "scatter-add": lambda a, b: a + b, "scatter-sub": lambda a, b: a - b,
           "scatter-mul": lambda a, b: a * b, "scatter-min": lambda a, b: lexicographic(min, a, b),
           "scatter-max": lambda a, b: lexicographic(max, a, b)}


def lexicographic(choose, a, b):
    return choose(a, b, key=lambda v: (np.real(v), np.imag(v)))


@pytest.mark.parametrize("name", COMBINE)
@covers(*COMBINE, by="name")
@more
@given(case=windows(), mode=st.sampled_from(["clip", "drop"]), seed=seeds)
def test_scatter_writes_what_the_specification_says(name, case, mode, seed):
    shape, indices, slice_sizes, gather_dims = case
    rng = np.random.default_rng(seed)
    result_shape, pairs = correspondence(shape, indices, slice_sizes, gather_dims, mode)
    dims = ScatterDimensionNumbers(*gather_dims)
    for dtype in NUMBERS if name in ("scatter-add", "scatter-sub", "scatter-mul") else EVERY:
        least = 1 if dtype.name == "float8_e8m0fnu" else -1  # which holds powers of two only
        x, updates = (np.asarray(rng.integers(least, 3, s), np.float32).astype(dtype) for s in (shape, result_shape))
        expected, first = x.astype(object if dtype in INTEGERS else wide(x).dtype if dtype != bool else bool), {}
        for index, place in pairs:
            if place is None:
                continue
            if name == "scatter":  # which of several updates wins is not defined: they are all equal
                updates[index] = first.setdefault(place, updates[index])
            value = int(updates[index]) if dtype in INTEGERS else updates[index] if dtype == bool else wide(updates[index])[()]
            expected[place] = COMBINE[name](expected[place], value)
        if dtype in INTEGERS:
            expected = np.array([wrapped(int(v), dtype) for v in expected.ravel()], dtype).reshape(shape)
        else:
            expected = expected.astype(dtype)
        got = np.asarray(getattr(ops, name.replace("-", "_"))(x, indices, updates, dims, mode=mode))
        assert got.dtype == dtype and got.shape == shape
        np.testing.assert_array_equal(wide(got), wide(expected), str(dtype))


@pytest.mark.parametrize("name", ["scatter_add", "scatter_sub", "scatter_mul"])
def test_bools_have_no_arithmetic(name):
    x = np.zeros(3, bool)
    with pytest.raises(TypeError, match="does not accept dtype bool"):
        getattr(ops, name)(x, np.array([[0]]), x[:1], ScatterDimensionNumbers((), (0,), (0,)))


def test_every_operation_of_the_family_is_drawn():
    every_operation_is_covered(__name__)
