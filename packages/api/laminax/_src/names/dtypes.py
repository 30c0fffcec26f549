"""Names that libraries import from here; they are defined in `laminax.dtypes` and `laminax_ir.types.dtypes`."""

import numpy as np

from laminax_ir.types.dtypes import (
    ExtendedDType,
    PrimalTangentDType,
    TypePromotionError,
    primal_tangent_dtype,
    to_complex_dtype,
    to_floating_dtype,
    to_inexact_dtype,
)

from laminax.dtypes import *  # noqa: F403
from laminax.dtypes import issubdtype

DType = np.dtype


def supports_inf(dtype: np.dtype) -> bool:
    """Whether arrays of a dtype can hold infinities: some floating dtypes of eight bits and fewer cannot.

    Example:
      >>> supports_inf("float16"), supports_inf("float8_e4m3fn"), supports_inf("int32")
      (True, False, False)
    """
    made = np.dtype(dtype)
    return bool(issubdtype(made, np.inexact) and np.isinf(np.asarray(np.inf).astype(made)))


__all__ = ["DType", "ExtendedDType", "PrimalTangentDType", "TypePromotionError", "primal_tangent_dtype", "supports_inf",
           "to_complex_dtype", "to_floating_dtype", "to_inexact_dtype"]
