"""Cotangents along the axes of devices that are checked (see `laminax_ir.manual_axes`).

Each device has a cotangent of its own for a value that varies. For a value that does not, all have the same one: the sum of what
they make of it. Such sums are linear, so they are left to the inputs of a linear program; where a sum over devices is transposed
before that, the cotangent's type tells whether it has been summed yet.
"""

from __future__ import annotations

from typing import Any

from laminax_ir.avals import ShapedArray, get_aval
from laminax_ir.manual_axes import checked_axes
from laminax_ir.ops.collectives import psum_p, vary
from laminax_transforms.zeros import ZERO


def varying_like(ct: Any, aval: ShapedArray | None) -> Any:
    """A cotangent of a value of this type, of a type that says so where the value varies."""
    return ct if ct is ZERO or aval is None else vary(ct, tuple(aval.named_shape))


def summed_like(ct: Any, aval: ShapedArray) -> Any:
    """The cotangent of an input, summed over the devices where the input is one value."""
    if ct is ZERO:
        return ct
    have, checked = get_aval(ct).named_shape, checked_axes()
    names = tuple(name for name in have if name in checked and name not in aval.named_shape)
    return psum_p.bind(ct, axes=names, axis_index_groups=None) if names else ct
