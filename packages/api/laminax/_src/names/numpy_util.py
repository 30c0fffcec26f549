"""How functions in NumPy's style bring their arguments together, by the names that JAX's private `numpy.util` gives it."""

from __future__ import annotations

from typing import Any

from laminax_ir.functions.promoted_operands import as_dtype, promote_shapes
from laminax_ir.types import dtypes

from laminax._src.numerics.numpy.arguments import (
    ensure_array,
    ensure_arrays,
    promote_arrays,
    promote_inexact,
    promote_numeric,
)
from laminax._src.numerics.numpy.arguments import promote_dtypes as _promote_dtypes

__all__ = ["check_arraylike", "ensure_arraylike", "promote_args", "promote_args_inexact", "promote_args_numeric", "promote_dtypes",
           "promote_dtypes_complex", "promote_dtypes_inexact", "promote_dtypes_numeric", "promote_shapes"]

promote_args = promote_arrays
promote_args_inexact = promote_inexact


def promote_dtypes(*args: Any) -> list[Any]:
    """The arguments in their common dtype; shapes are left alone."""
    return _promote_dtypes("promote_dtypes", *args)


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """The arguments in their common dtype, which is floating or complex."""
    dtype, weak = dtypes.result_type(*ensure_arrays("promote_dtypes_inexact", *args), return_weak_type_flag=True)
    return [as_dtype(x, dtypes.to_inexact_dtype(dtype), weak) for x in args]


def promote_dtypes_complex(*args: Any) -> list[Any]:
    """The arguments in one complex dtype, as precise as their common dtype."""
    dtype, weak = dtypes.result_type(*ensure_arrays("promote_dtypes_complex", *args), return_weak_type_flag=True)
    return [as_dtype(x, dtypes.to_complex_dtype(dtype), weak) for x in args]


def promote_dtypes_numeric(*args: Any) -> list[Any]:
    """The arguments in their common dtype; bools become integers."""
    return promote_dtypes(*promote_numeric("promote_dtypes_numeric", *args))


def promote_args_numeric(fun_name: str, *args: Any) -> list[Any]:
    """The arguments in one dtype and rank; bools become integers.

    Args:
      fun_name: the function, for messages.
    """
    return promote_arrays(fun_name, *promote_numeric(fun_name, *args))


def check_arraylike(fun_name: str, *args: Any) -> None:
    """Raises a TypeError for an argument that is neither an array nor a number.

    Args:
      fun_name: the function, for the message.
    """
    ensure_arrays(fun_name, *args)


def ensure_arraylike(fun_name: str, *args: Any) -> Any:
    """The arguments as arrays: one, or a tuple of several.

    Args:
      fun_name: the function, for the message.
    """
    return ensure_array(fun_name, args[0]) if len(args) == 1 else tuple(ensure_arrays(fun_name, *args))
