"""The dtype a reference implementation computes in."""

from __future__ import annotations

import numpy as np

from laminax_ir.types import dtypes

_float32, _int32 = np.dtype(np.float32), np.dtype(np.int32)


def computation_dtype(dtype: np.dtype) -> np.dtype:
    """float32 for floats narrower than it, int32 for NumPy's foreign integers (int4), the dtype itself otherwise.

    Conversion back to a narrow integer keeps the low bits, so integer arithmetic wraps around as it should.
    """
    if dtype.type.__module__ == "ml_dtypes" or dtype == np.float16:
        return _float32 if dtypes.issubdtype(dtype, dtypes.floating) else _int32
    return dtype


def widened(x: np.ndarray) -> np.ndarray:
    """The array in its computation dtype."""
    return x.astype(computation_dtype(x.dtype), copy=False)
