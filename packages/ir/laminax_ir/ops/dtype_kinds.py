"""Kinds of dtypes, and the check that an operand's dtype is of a kind that the operation takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.types import dtypes
from laminax_ir.types.errors import DTypeError

FLOATING = (dtypes.floating,)
INEXACT = (dtypes.floating, dtypes.complexfloating)
COMPLEX = (dtypes.complexfloating,)
NUMBER = (dtypes.number,)
NUMBER_BOOL = (dtypes.number, np.bool_)
INTEGER = (dtypes.integer,)
INTEGER_BOOL = (dtypes.integer, np.bool_)
REAL = (dtypes.integer, dtypes.floating)
REAL_BOOL = (dtypes.integer, dtypes.floating, np.bool_)
ANY = (dtypes.number, np.bool_, dtypes.extended)

COMPONENT_OF = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}
COMPLEX_OF = {component: whole for whole, component in COMPONENT_OF.items()}

accepted_dtypes: dict[tuple[Any, tuple], bool] = {}


def check_dtype(name: str, dtype: Any, kinds: tuple) -> None:
    """Checks that the dtype is a subtype of one of the kinds.

    Args:
      name: the operation, for the message.
      dtype: the dtype to check.
      kinds: abstract or concrete dtypes.

    Raises:
      DTypeError: if it is not.
    """
    accepted = accepted_dtypes.get((dtype, kinds))
    if accepted is None:
        accepted = accepted_dtypes[dtype, kinds] = any(dtypes.issubdtype(dtype, kind) for kind in kinds)
    if not accepted:
        wanted = ", ".join(kind.__name__.rstrip("_") for kind in kinds)
        raise DTypeError(f"{name} does not accept dtype {dtypes.dtype_name(dtype)}. "
                         f"Accepted dtypes are subtypes of {wanted}.")
