"""Callbacks, evaluated by calling back at once."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops import callbacks as op
from laminax_ir.reference.evaluate import reference_rule


@reference_rule(op.pure_callback_p, op.io_callback_p)
def _callback(*operands: Any, callback: Any, result_avals: Any, **_params: Any) -> Any:
    return op.run_callback(callback, result_avals, operands)


@reference_rule(op.debug_callback_p)
def _debug_callback(*operands: Any, callback: Any, **_params: Any) -> Any:
    callback(*operands)
    return []
