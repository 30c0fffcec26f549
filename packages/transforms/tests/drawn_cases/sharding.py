"""Placement on one device, which changes nothing."""

from __future__ import annotations

from laminax_ir.ops import sharding as op
from laminax_ir.ops.elementwise import mul, sin
from laminax_ir.types.array_layouts import Layout
from laminax_ir.types.avals import get_aval

from .case import Case


class OneDevice:
    """All that the operations ask of a sharding without a mesh."""

    num_devices = 1


def placed(primitive, **params):
    return Case(lambda x, y: mul(primitive.bind(sin(x), **params), y))


CASES = {"device_put": placed(op.device_put_p, sharding=OneDevice()),
         "sharding_constraint": placed(op.sharding_constraint_p, sharding=OneDevice()),
         "layout_constraint": Case(lambda x, y: mul(op.layout_constraint_p.bind(sin(x), layout=Layout(range(get_aval(x).ndim)[::-1])), y)),
         "reshard": placed(op.reshard_p, dst=None)}
