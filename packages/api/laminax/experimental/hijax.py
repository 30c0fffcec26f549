"""Operations of one's own with all their rules; and types of one's own, which can be defined, so that libraries that do can be imported."""

from laminax_ir.refs.refs import RefView as TransformedRef
from laminax_ir.types.avals import AbstractValue, ShapedArray
from laminax_ir.types.ref_types import AbstractRef

from laminax._src.names.hijax import (
    AvalMutableQDD,
    AvalQDD,
    GradAccum,
    HiPrim,
    HiPrimitive,
    HiPspec,
    HiType,
    MappingSpec,
    MutableHiType,
    NullAccum,
    RefAccum,
    ValAccum,
    VJPHiPrimitive,
    Zero,
    aval_method,
    aval_property,
    bdims_at_front,
    control_flow_allowed_effects,
    instantiate_zeros,
    is_undefined_primal,
    jvp_from_lin,
    linearize_from_jvp,
    register_hitype,
    unmap_avals,
    vjp_from_jvp,
    vjp_from_lin,
    vmap_rule,
)

__all__ = ["AbstractRef", "AbstractValue", "AvalMutableQDD", "AvalQDD", "GradAccum", "HiPrim", "HiPrimitive", "HiPspec", "HiType",
           "MappingSpec", "MutableHiType", "NullAccum", "RefAccum", "ShapedArray", "TransformedRef", "VJPHiPrimitive", "ValAccum", "Zero",
           "aval_method", "aval_property", "bdims_at_front", "control_flow_allowed_effects", "instantiate_zeros", "is_undefined_primal",
           "jvp_from_lin", "linearize_from_jvp", "register_hitype", "unmap_avals", "vjp_from_jvp", "vjp_from_lin", "vmap_rule"]
