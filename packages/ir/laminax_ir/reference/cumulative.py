"""NumPy meaning of the cumulative reductions: ufuncs that accumulate."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import cumulative as ops
from laminax_ir.reference.evaluate import reference_rule
from laminax_ir.reference.widening import widened
from laminax_ir.types import dtypes

if TYPE_CHECKING:
    from laminax_ir.programs.primitive import Primitive


def _accumulating(primitive: Primitive, accumulate: Callable) -> None:
    @reference_rule(primitive)
    def rule(x: np.ndarray, *, axis: int, reverse: bool) -> Any:
        x = widened(x)
        x = np.flip(x, axis) if reverse else x
        result = accumulate(x, axis)
        return np.flip(result, axis) if reverse else result


def _cumlogsumexp(x: np.ndarray, axis: int) -> np.ndarray:
    # NumPy's logaddexp takes no complex numbers; a shift by the real part's running maximum needs exp and log only.
    if not dtypes.issubdtype(x.dtype, dtypes.complexfloating):
        return np.logaddexp.accumulate(x, axis=axis)
    result = np.empty_like(x)
    rows, out = np.moveaxis(x, axis, 0), np.moveaxis(result, axis, 0)
    for i in range(len(rows)):
        top = np.max(rows[:i + 1].real, axis=0)
        top = np.where(np.isfinite(top), top, 0).astype(top.dtype)
        out[i] = np.log(np.sum(np.exp(rows[:i + 1] - top), axis=0)) + top
    return result


_accumulating(ops.cumsum_p, lambda x, axis: np.cumsum(x, axis=axis, dtype=x.dtype))
_accumulating(ops.cumprod_p, lambda x, axis: np.cumprod(x, axis=axis, dtype=x.dtype))
_accumulating(ops.cummax_p, lambda x, axis: np.maximum.accumulate(x, axis=axis))
_accumulating(ops.cummin_p, lambda x, axis: np.minimum.accumulate(x, axis=axis))
_accumulating(ops.cumlogsumexp_p, _cumlogsumexp)
