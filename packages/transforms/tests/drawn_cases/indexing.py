"""Gathers and scatters of the vector of all numbers."""

from __future__ import annotations

import numpy as np

from laminax_ir.ops import indexing as op
from laminax_ir.ops.elementwise import sin
from laminax_ir.ops.indexing import GatherDimensionNumbers, ScatterDimensionNumbers

from .case import REAL, Case, flat, of_one

POINTS = GatherDimensionNumbers((), (0,), (0,))
INTO = ScatterDimensionNumbers((), (0,), (0,))


def gathered(x):
    """Some numbers twice, one out of bounds."""
    n = flat(x).shape[0]
    return sin(op.gather(flat(x), np.array([[n - 1], [0], [n // 2], [0], [n]], np.int32), POINTS, (1,), mode="clip"))


def scattered(scatter, repeated: bool):
    """One number is not updated, one update is out of bounds; with `repeated` places get two."""
    def fun(x, y):
        n = flat(x).shape[0]
        where = (np.arange(n, dtype=np.int32) // 2 if repeated else np.arange(n, dtype=np.int32)[::-1]) + 1
        return sin(scatter(flat(x), where[:, None], flat(y), INTO, unique_indices=not repeated, mode="drop"))
    return fun


def rows(x, y):
    """Windows with a size, of a batch of operands."""
    picked = op.gather(x, np.zeros((3, 1), np.int32), GatherDimensionNumbers(tuple(range(1, len(x.shape))), (0,), (0,)),
                       (1, *x.shape[1:])) \
        if x.shape else x
    return sin(picked)


CASES = {
    "gather": of_one(gathered), "gather of rows": Case(rows),
    "scatter": Case(scattered(op.scatter, False)),
    "scatter-add": Case(scattered(op.scatter_add, True)), "scatter-sub": Case(scattered(op.scatter_sub, True)),
    "scatter-mul": Case(scattered(op.scatter_mul, False), rtol=20),
    "scatter-min": Case(scattered(op.scatter_min, True), dtypes=REAL), "scatter-max": Case(scattered(op.scatter_max, True), dtypes=REAL),
}
