"""Foreign functions get whole values, and give whole ones: nothing is known of what they do."""

from __future__ import annotations

from laminax_ir.ops.ffi import ffi_call_p
from laminax_ir.programs.result_types import sharding_rules


@sharding_rules(ffi_call_p)
def _ffi_call(outs, *avals, **_params):
    return [(None,) * out.ndim for out in outs]
