"""NaNs and infinities in results, and the sentence that says so."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from laminax_ir.options import config
from laminax_ir.types import dtypes


def fault(outs: Sequence[Any]) -> str | None:
    """`nan` or `inf`, whichever of them a result holds and the settings trap; None if none does."""
    for out in outs:
        dtype = getattr(out, "dtype", None)
        if dtype is None or dtypes.is_extended(dtype) or not dtypes.issubdtype(dtype, dtypes.inexact):
            continue
        value = np.asarray(out)
        if config.debug_nans.value and np.isnan(value).any():
            return "nan"
        if config.debug_infs.value and np.isinf(value).any():
            return "inf"
    return None


def message(found: str, name: str, where: str = "", outer: str = "") -> str:
    """The error's text: what was found, in which operation, at which line, inside of which function."""
    place = f" at {where}" if where else ""
    inside = f", inside {outer}" if outer else ""
    of_devices = f" Invalid value ({found}) encountered in sharded computation." if name in ("shard_map", "pmap") else ""
    return f"invalid value ({found}) encountered in {name}{place}{inside}.{of_devices}"
