"""Loops on one CPU device: sums of products that gradients make round by round are made after the loop."""

from __future__ import annotations

from typing import Any

from laminax_ir.ops.control_flow import scan_p
from laminax_lowering.planning.loop_sums import with_sums_after_loop
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import cpu_kernel
from laminax_lowering.writing.ssa_values import Value


@cpu_kernel(scan_p)
def _scan(ctx: FunctionWriter, *operands: Value, **_params: Any) -> list[Value] | None:
    """See `planning.loop_sums`."""
    program = with_sums_after_loop(ctx.eqn)
    return None if program is None else ctx.run(program, operands)
