"""Programs, their parts and traces, for libraries that work on them. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"names.extend.core": """
    ClosedJaxpr DropVar Effect Effects InconclusiveDimensionOperation Jaxpr JaxprEqn JaxprTypeError Literal Primitive Var
    array_types check_jaxpr find_top_trace gensym get_opaque_trace_state jaxpr_as_fun jaxprs_in_params mapped_aval new_jaxpr_eqn no_effects
    nonempty_axis_env_DO_NOT_USE primal_dtype_to_tangent_dtype set_current_trace subjaxprs take_current_trace unmapped_aval
    unsafe_am_i_under_a_jit_DO_NOT_USE unsafe_am_i_under_a_vmap_DO_NOT_USE unsafe_get_axis_names_DO_NOT_USE
    valid_jaxtype""", "names.extend.debug_info": "DebugInfo", "numerics.numpy.arguments": "concrete_or_error",
    "names.refused": "AbstractToken",
    "laminax_ir.ops.tokens": "Token"}, ("primitives",))
