"""Callbacks, evaluated by calling back at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops import callbacks as op
from laminax_ir.reference.evaluate import reference_rule

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.ops.callbacks import FlatCallback
    from laminax_ir.types.avals import ShapedArray


@reference_rule(op.pure_callback_p, op.io_callback_p)
def _callback(*operands: np.ndarray, callback: FlatCallback, result_avals: tuple[ShapedArray, ...], **_params: Any) -> list[np.ndarray]:
    return op.run_callback(callback, result_avals, operands)


@reference_rule(op.inspect_sharding_p)
def _inspect_sharding(_x: np.ndarray, **_params: Any) -> list[Any]:
    return []  # NumPy's arrays are on no devices, and have no sharding to look at


@reference_rule(op.debug_callback_p)
def _debug_callback(*operands: np.ndarray, callback: FlatCallback, **_params: Any) -> list[Any]:
    callback(*operands)
    return []
