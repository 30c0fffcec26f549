"""Slices, gathers and scatters: every mode, drawn dimension numbers, indices out of bounds on both sides."""

from __future__ import annotations

from typing import Iterator

import numpy as np
from compiled.comparison import Comparison
from compiled.drawing import BOOL, COMPLEX, Draw

from laminax_ir.ops import elementwise, slicing
from laminax_ir.ops import indexing as op
from laminax_ir.ops.indexing import GatherDimensionNumbers, ScatterDimensionNumbers


def comparisons(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    """Every indexing operation on an array of the dtype."""
    yield from _slices(draw, dtype)
    for _ in range(2):
        yield from _gathers_and_scatters(draw, dtype, *_paired(draw) if draw.integer(0, 2) == 0 else _picked(draw))


def _slices(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    shape = draw.integers(1, 5, draw.integer(1, 4))
    x = draw.values(dtype, shape)
    starts = [draw.integer(0, n) for n in shape]
    limits = [draw.integer(low, n) for low, n in zip(starts, shape)]
    yield Comparison("slice", lambda x, s=draw.integers(1, 3, len(shape)): slicing.slice(x, starts, limits, s), [x])
    sizes = tuple([draw.integer(0, n) for n in shape])
    where = [np.array(draw.integer(-7, 7), np.int32) for _ in shape]
    yield Comparison("dynamic_slice", lambda x, *where: slicing.dynamic_slice(x, where, sizes), [x, *where])
    yield Comparison("dynamic_update_slice", lambda x, u, *where: slicing.dynamic_update_slice(x, u, where),
                     [x, draw.values(dtype, sizes), *where])


def _picked(draw: Draw):
    """Windows at index vectors: the operand's shape, dimension numbers, the window's, the indices' batch shape."""
    shape = draw.integers(2, 4, draw.integer(1, 3))
    collapsed = tuple(sorted(draw.permutation(len(shape))[:draw.integer(0, len(shape))]))
    window = tuple([1 if axis in collapsed else draw.integer(1, size) for axis, size in enumerate(shape)])
    indexed = draw.permutation(len(shape))[:draw.integer(1, len(shape))]
    batch = draw.integers(0 if draw.integer(0, 5) == 0 else 1, 3, draw.integer(0, 2))
    offsets = tuple(range(len(batch), len(batch) + len(shape) - len(collapsed)))
    return shape, GatherDimensionNumbers(offsets, collapsed, indexed), window, batch


def _paired(draw: Draw):
    """Axis 0 of operand and indices go together."""
    count, size, width = draw.integers(1, 4, 3)
    return (count, size, width), GatherDimensionNumbers((2,), (1,), (1,), (0,), (0,)), (1, 1, width), (count, draw.integer(1, 3))


def _gathers_and_scatters(draw: Draw, dtype: np.dtype, shape, dims: GatherDimensionNumbers, window, batch) -> Iterator[Comparison]:
    x = draw.values(dtype, shape)
    index_dtype = np.dtype(draw.one_of((np.int8, np.int32, np.int64, np.uint8, np.uint32)))
    indices = draw.rng.integers(-5 if index_dtype.kind == "i" else 0, 7, (*batch, len(dims.start_index_map))).astype(index_dtype)
    for mode in ("clip", "fill"):
        yield Comparison("gather", lambda x, i, m=mode: op.gather(x, i, dims, window, mode=m), [x, indices])
    yield Comparison("gather", lambda x, i: op.gather(x, i, dims, window, mode="fill", fill_value=1), [x, indices])
    yield Comparison("gather", lambda x, i: op.gather(x, i, dims, window, mode="promise_in_bounds"), [x, np.zeros_like(indices)])
    updates = draw.normal(dtype, np.asarray(op.gather(x, indices, dims, window, mode="clip")).shape)
    x = draw.normal(dtype, shape)
    scatter_dims = ScatterDimensionNumbers(*dims)
    for name in ("scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"):
        if dtype in BOOL and name in ("scatter_sub", "scatter_mul", "scatter_add") or dtype in COMPLEX and name[-3:] in ("min", "max"):
            continue
        size = None
        if name in ("scatter_add", "scatter_sub"):  # any order of summation
            size = np.abs(x.astype(np.complex128)).sum() + np.abs(updates.astype(np.complex128)).sum()
        for mode in ("clip", "drop"):
            terms = op.scatter_add(np.ones(shape), indices, np.ones(updates.shape), scatter_dims, mode=mode)
            yield Comparison(name.replace("_", "-"), lambda x, i, u, f=getattr(op, name), m=mode: f(x, i, u, scatter_dims, mode=m),
                             [x, indices, updates], size, is_zero_signed=False, terms=terms)
    same = np.full_like(updates, updates.ravel()[0] if updates.size else 0)  # of several updates of one element any may win
    yield Comparison("scatter", lambda x, i, u: op.scatter(x, i, u, scatter_dims, mode="drop"), [x, indices, same])
    yield Comparison("scatter", lambda x, i, u: op.scatter_apply(x, i, lambda v: elementwise.copy(v), scatter_dims, update_shape=u.shape),
                     [x, indices, updates])
