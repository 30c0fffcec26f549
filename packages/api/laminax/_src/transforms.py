"""The transformations of `laminax_transforms`, as the api offers them."""

from laminax_transforms import (
    closure_convert, custom_gradient, custom_jvp, custom_vjp, grad, hessian, jacfwd, jacobian, jacrev, jvp, linear_transpose,
    linearize, value_and_grad, vjp, vmap,
)

from laminax._src import setup  # noqa: F401

__all__ = [
    "closure_convert", "custom_gradient", "custom_jvp", "custom_vjp", "grad", "hessian", "jacfwd", "jacobian", "jacrev", "jvp",
    "linear_transpose", "linearize", "value_and_grad", "vjp", "vmap",
]
