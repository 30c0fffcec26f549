"""Arguments known by their types alone, which `lower`, `trace`, `make_jaxpr` and `eval_shape` take in the place of arrays."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from laminax_ir.tracing.trace import Tracer, axis_size
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, aval_in, placed_aval, register_value_type
from laminax_ir.types.ref_types import AbstractRef
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct


def as_abstract(x: Any) -> Any:
    """An argument of `lower`, `trace` and the like, which may be a struct instead of an array; a tracer counts as its type."""
    if isinstance(x, Tracer):
        return AvalHolder(x.aval)
    if isinstance(x, AbstractRef):
        return AvalHolder(x)
    if isinstance(x, ShapeDtypeStruct) or (hasattr(x, "shape") and hasattr(x, "dtype") and not hasattr(x, "aval")
                                           and not hasattr(x, "__array__")):
        dtype = x.dtype if dtypes.is_extended(x.dtype) else dtypes.requested_dtype(x.dtype, fun_name="ShapeDtypeStruct")
        sharding = getattr(x, "sharding", None)
        mat = getattr(x, "manual_axis_type", None)
        named = {name: axis_size(name) for name in mat.varying} if mat is not None else None
        aval = placed_aval(ShapedArray(x.shape, dtype, getattr(x, "weak_type", False), named_shape=named), sharding)
        if getattr(x, "is_ref", False):
            return AvalHolder(AbstractRef(aval))
        if isinstance(x, ShapedArray):  # a type says nothing of devices
            return AvalHolder(aval_in(aval, x.memory_space))
        return AvalHolder(aval, sharding, getattr(x, "_layout", None))
    return x


class AvalHolder:
    """An argument of which only the aval is known, and possibly its sharding and layout."""

    __slots__ = ("aval", "committed_sharding", "layout")

    def __init__(self, aval: ShapedArray | AbstractRef, committed_sharding: Any = None, layout: Any = None) -> None:
        self.aval = aval
        self.committed_sharding = committed_sharding
        self.layout = layout


register_value_type(AvalHolder, attrgetter("aval"))
