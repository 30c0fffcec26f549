"""Orders of numbers that NumPy has no comparison for."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.types import dtypes


def in_numpy_type(x: np.ndarray) -> Any:
    """x in a type that NumPy can compare; each narrow type of ml_dtypes fits one exactly."""
    if x.dtype.isbuiltin == 1:  # the kind does not tell: that of float8_e5m2 is "f"
        return x
    return x.astype(np.float32 if dtypes.issubdtype(x.dtype, dtypes.floating) else np.int32)


def total_order(x: np.ndarray) -> np.ndarray:
    """Signed integers in the order of totalOrder (IEEE 754-2019, 5.10): the bits of x, with inverted magnitudes for negative numbers."""
    x = in_numpy_type(x)
    if x.dtype.kind == "u":
        return (x ^ np.array(1 << (8 * x.itemsize - 1), x.dtype)).view(f"i{x.itemsize}")
    if x.dtype.kind != "f":
        return x.astype(np.int8) if x.dtype == bool else x
    bits = x.view(f"i{x.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)
