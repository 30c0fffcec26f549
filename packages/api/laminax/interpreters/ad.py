"""Differentiation rules in JAX's form. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"names.interpreters.ad": """
    JVPTrace JVPTracer UndefinedPrimal Zero add_jaxvals add_jaxvals_p add_tangents defbilinear defjvp defjvp2 deflinear
    deflinear2 get_primitive_transpose instantiate_zeros is_undefined_primal primitive_jvps primitive_transposes
    zeros_like_aval"""})
