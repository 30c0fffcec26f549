"""The dtype that a layer computes in, found from its arguments and parameters or given by its user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import DTypeLike


def canonicalize_dtype(*args: Any, dtype: DTypeLike | None = None, inexact: bool = True) -> DTypeLike:
    """The dtype to compute in: `dtype` where it is given, otherwise the one that the arguments promote to.

    Args:
      *args: arrays or numbers of any shapes; None is passed over.
      dtype: the dtype asked for, or None.
      inexact: whether the dtype must be one of floating-point or complex numbers. Integers then promote to float32.

    Returns:
      A dtype.

    Raises:
      ValueError: if `dtype` is given, is one of integers or booleans, and `inexact` is set.

    Example:
      >>> from laminax import linen as nn, numpy as jnp
      >>> nn.canonicalize_dtype(jnp.array([1, 2]))
      dtype('float32')
      >>> nn.canonicalize_dtype(jnp.array([1, 2]), inexact=False)
      dtype('int32')
    """
    if dtype is None:
        dtype = jnp.result_type(*[jnp.asarray(x) for x in args if x is not None])
        if inexact and not jnp.issubdtype(dtype, jnp.inexact):
            dtype = jnp.promote_types(jnp.float32, dtype)
    if inexact and not jnp.issubdtype(dtype, jnp.inexact):
        raise ValueError(f"Dtype must be inexact: {dtype}. Give a floating-point or complex dtype, or inexact=False")
    return dtype


def promote_dtype(*args: Any, dtype: DTypeLike | None = None, inexact: bool = True) -> list[Any]:
    """The arguments as arrays of one dtype, that of `canonicalize_dtype`; None stays None.

    Args:
      *args: arrays or numbers of any shapes, or None.
      dtype: the dtype asked for; by default the one the arguments promote to.
      inexact: whether the dtype must be one of floating-point or complex numbers.

    Returns:
      A list as long as `args`.

    Example:
      >>> from laminax import linen as nn, numpy as jnp
      >>> x, bias = nn.promote_dtype(jnp.ones(3, "float16"), None)
      >>> x.dtype, bias
      (dtype('float16'), None)
    """
    dtype = canonicalize_dtype(*args, dtype=dtype, inexact=inexact)
    return [None if x is None else jnp.asarray(x, dtype) for x in args]
