"""Types and operations of one's own: they can be defined, so that libraries that do can be imported, and not be used."""

from laminax_ir.refs.refs import RefView as TransformedRef
from laminax_ir.types.avals import AbstractValue, ShapedArray
from laminax_ir.types.ref_types import AbstractRef

from laminax._src.names.hijax import (
    AvalMutableQDD,
    AvalQDD,
    HiPrim,
    HiPrimitive,
    HiType,
    MutableHiType,
    VJPHiPrimitive,
    Zero,
    aval_method,
    aval_property,
    control_flow_allowed_effects,
    instantiate_zeros,
    is_undefined_primal,
    register_hitype,
)

__all__ = ["AbstractRef", "AbstractValue", "AvalMutableQDD", "AvalQDD", "HiPrim", "HiPrimitive", "HiType", "MutableHiType", "ShapedArray",
           "TransformedRef", "VJPHiPrimitive", "Zero", "aval_method", "aval_property", "control_flow_allowed_effects", "instantiate_zeros",
           "is_undefined_primal", "register_hitype"]
