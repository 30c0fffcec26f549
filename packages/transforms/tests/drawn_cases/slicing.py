"""Slices of the vector of all numbers."""

from __future__ import annotations

import numpy as np

from laminax_ir.ops import slicing as op
from laminax_ir.ops.elementwise import mul, sin

from .case import Case, flat

CASES = {
    "slice": Case(lambda x, y: mul(op.slice_in_dim(flat(x), 0, None, 2), op.slice_in_dim(flat(y), 0, None, 2))),
    "dynamic_slice": Case(lambda x, y: sin(mul(op.dynamic_index_in_dim(flat(x), np.int32(-1), keepdims=False), y))),
    "dynamic_update_slice": Case(lambda x, y: sin(op.dynamic_update_slice(flat(x), op.slice_in_dim(flat(y), 0, 1), (np.int32(7),)))),
}
