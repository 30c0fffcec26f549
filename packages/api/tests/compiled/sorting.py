"""Sorting: many operands and keys, any axis; NaN, both zeros and repeated values."""

from __future__ import annotations

from typing import Iterator

import numpy as np
from compiled.comparison import Comparison
from compiled.drawing import COMPLEX, FLOATS, Draw

from laminax_ir.ops import sorting as op


def comparisons(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    """Sorts and selections of an array of the dtype."""
    shape = draw.integers(0 if draw.integer(0, 4) == 0 else 1, 6, draw.integer(1, 3))
    x, second, carried = draw.values(dtype, shape), draw.normal(draw.one_of((np.float32, np.int8)), shape), draw.values(np.float64, shape)
    axis = draw.integer(0, len(shape) - 1)
    for num_keys in (1, 2):
        yield Comparison("sort", lambda *xs, n=num_keys: op.sort(xs, axis, True, n), [x, second, carried])
    yield Comparison("sort", lambda *xs: op.sort(xs, axis, num_keys=2), [second, x])
    if dtype in FLOATS and shape[axis]:
        approximate = draw.one_of((op.approx_max_k, op.approx_min_k))
        yield Comparison("approx_top_k", lambda x, k=draw.integer(1, shape[axis]): approximate(x, k, axis), [draw.normal(dtype, shape)])
    if dtype not in COMPLEX:
        yield Comparison("top_k", lambda x, k=draw.integer(0, shape[axis]): op.top_k(x, k, axis=axis), [x])
