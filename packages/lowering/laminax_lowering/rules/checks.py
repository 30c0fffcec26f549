"""Checks have no StableHLO: `checkify` makes values of the checks of compiled programs before they are lowered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops.checks import Site, check_p
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule

if TYPE_CHECKING:
    from laminax_lowering.writing.ssa_values import Value


@lowering_rule(check_p)
def _check(ctx: FunctionWriter, *_operands: Value, site: Site, debug: bool) -> list[Any]:
    if debug:
        return []
    raise ValueError(f"Cannot abstractly evaluate a checkify.check which was not functionalized: {site.message!r} in {ctx.module.name}. "
                     "Wrap the function in checkify.checkify inside of jit, scan and so on.")
