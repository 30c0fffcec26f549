"""The transformations of `laminax_transforms`, as the api offers them."""

from laminax_transforms import (
    checkpoint,
    checkpoint_policies,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    remat,
    value_and_grad,
    vjp,
    vmap,
)

__all__ = [
    "checkpoint", "checkpoint_policies", "closure_convert", "custom_gradient", "custom_jvp", "custom_vjp", "grad", "hessian",
    "jacfwd", "jacobian", "jacrev", "jvp", "linear_transpose", "linearize", "remat", "value_and_grad", "vjp", "vmap",
]
