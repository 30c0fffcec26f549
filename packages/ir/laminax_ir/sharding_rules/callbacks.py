"""Callbacks get whole values, and give whole ones."""

from __future__ import annotations

from laminax_ir.ops import callbacks as op
from laminax_ir.programs.result_types import sharding_rules


@sharding_rules(op.debug_callback_p, op.pure_callback_p, op.io_callback_p)
def _callback(outs, *avals, **_params):
    return [(None,) * out.ndim for out in outs]
