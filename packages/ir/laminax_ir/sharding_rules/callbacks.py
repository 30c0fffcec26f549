"""Callbacks get whole values; those with results must be given them."""

from __future__ import annotations

from laminax_ir.explicit_axes import sharding_rules
from laminax_ir.ops import callbacks as op


@sharding_rules(op.debug_callback_p)
def _debug_callback(outs, *avals, **_params):
    return [()] * len(outs)
