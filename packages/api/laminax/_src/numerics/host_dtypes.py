"""`canonicalize_dtype` of dtypes that only NumPy's arrays have."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.types import dtypes


def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any:
    """The dtype that arrays of this dtype get: 32-bit for 64-bit, unless `enable_x64` holds.

    Args:
      dtype: a NumPy dtype or what `np.dtype` accepts: a scalar type, a Python scalar type, a name.
      allow_extended_dtype: whether an extended dtype is returned as it is, instead of refused.

    Returns:
      A NumPy dtype. Objects, strings, dates and records, which arrays of devices cannot have, keep their own.

    Raises:
      TypeError: this is no dtype.
      ValueError: it is an extended dtype, and these are not allowed here.

    Example:
      >>> canonicalize_dtype(np.float64), canonicalize_dtype(object)
      (dtype('float32'), dtype('O'))
    """
    try:
        return dtypes.canonicalize_dtype(dtype, allow_extended_dtype)
    except TypeError:
        if dtypes.is_extended(dtype):
            raise
        try:
            found = np.dtype(dtype)
        except TypeError:
            found = None
        if found is None or found.kind not in "OSUMmV":
            raise
        return found
