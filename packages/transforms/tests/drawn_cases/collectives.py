"""Collectives over the axis of a `vmap` inside of the function: the two arguments are the two participants."""

from __future__ import annotations

import numpy as np

from laminax_ir.ops import collectives as op
from laminax_ir.ops.elementwise import convert_element_type, mul, neg, square
from laminax_ir.ops.shape import concatenate, expand_dims
from laminax_transforms import vmap

from .case import REAL, Case, typed


def over(collective):
    """`collective(x * x)`, squared, of both participants, whose arrays get a leading axis of size 2 for those that split one."""
    def fun(x, y):
        def participant(row):
            row = mul(row, row)
            return square(collective(concatenate([expand_dims(row, (0,)), expand_dims(neg(row), (0,))], 0)))
        return vmap(participant, axis_name="i")(concatenate([expand_dims(x, (0,)), expand_dims(y, (0,))], 0))
    return fun


def scaled_by_place(row):
    return mul(row, convert_element_type(op.axis_index("i"), np.asarray(typed(0, row)).dtype))


CASES = {
    "psum": Case(over(lambda row: op.psum(row, "i"))), "pmean": Case(over(lambda row: op.pmean(row, "i"))),
    "pmax": Case(over(lambda row: op.pmax(row, "i")), dtypes=REAL), "pmin": Case(over(lambda row: op.pmin(row, "i")), dtypes=REAL),
    "all_gather": Case(over(lambda row: op.all_gather(row, "i"))),
    "tiled all_gather": Case(over(lambda row: op.all_gather(row, "i", tiled=True))),
    "reduce_scatter": Case(over(lambda row: op.psum_scatter(row, "i"))),
    "all_to_all": Case(over(lambda row: op.all_to_all(row, "i", 0, 0))),
    "tiled all_to_all": Case(over(lambda row: op.all_to_all(row, "i", 0, 0, tiled=True))),
    "ppermute": Case(over(lambda row: op.ppermute(row, "i", [(0, 1), (1, 0)]))),
    "one-sided ppermute": Case(over(lambda row: op.ppermute(row, "i", [(0, 1)]))),
    "axis_index": Case(over(scaled_by_place)),
    "pvary": Case(lambda x, y: op.pvary_p.bind(square(mul(x, y)), axes=("i",))),
    "psum_shared": Case(over(lambda row: op.psum_shared(row, np.float32(0), ("i",)))),
}
