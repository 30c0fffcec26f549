"""Operations that move values: the results are equal to the last bit."""

from __future__ import annotations

from typing import Iterator

import numpy as np
from compiled.comparison import Comparison
from compiled.drawing import BOOL, Draw

from laminax_ir.ops import shape as op


def comparisons(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    """Every operation on an array of the dtype, of drawn rank and sizes."""
    shape = draw.integers(0 if draw.integer(0, 3) == 0 else 1, 4, draw.integer(1, 5))
    rank = len(shape)
    x, y = draw.values(dtype, shape), draw.values(dtype, shape)
    axes, axis = draw.permutation(rank), draw.integer(0, rank - 1)
    yield Comparison("transpose", lambda x: op.transpose(x, axes), [x])
    yield Comparison("reshape", lambda x: op.reshape(x, (x.size,), axes), [x])
    yield Comparison("reshape", lambda x: op.reshape(x, (1, *shape[::-1])), [x])
    yield Comparison("squeeze", lambda x: op.squeeze(op.expand_dims(x, (axis,)), (axis,)), [x])
    yield Comparison("broadcast_in_dim", lambda x: op.broadcast_in_dim(x, (2, *shape, 3), range(1, rank + 1)), [x])
    yield Comparison("broadcast_in_dim", lambda x: op.broadcast_in_dim(x, shape, ()), [draw.values(dtype, ())])
    yield Comparison("concatenate", lambda *xs: op.concatenate(xs, axis), [x, y, x])
    yield Comparison("rev", lambda x: op.rev(x, axes[:(rank + 1) // 2]), [x])
    yield Comparison("tile", lambda x, r=draw.integers(0, 2, rank): op.tile(x, r), [x])
    cut = draw.integer(0, shape[axis])
    yield Comparison("split", lambda x: op.split(x, (cut, shape[axis] - cut), axis), [x])
    config = tuple([(draw.integer(-1, 2), draw.integer(-1, 2), draw.integer(0, 2)) for _ in shape])
    config = tuple([(max(low, -size), high if size > 1 else max(high, 0), inner) for (low, high, inner), size in zip(config, shape)])
    config = tuple([(0 if low < 0 and high < 0 else low, high, inner) for low, high, inner in config])
    yield Comparison("pad", lambda x, v: op.pad(x, v, config), [x, draw.values(dtype, ())])
    if dtype not in BOOL:
        yield Comparison("iota", lambda: op.broadcasted_iota(dtype, shape, axis), [])
