"""The transformations of `laminax_transforms`, as the api offers them."""

from laminax_transforms import grad, jvp, linear_transpose, linearize, value_and_grad, vjp, vmap

from laminax._src import setup  # noqa: F401

__all__ = ["grad", "jvp", "linear_transpose", "linearize", "value_and_grad", "vjp", "vmap"]
