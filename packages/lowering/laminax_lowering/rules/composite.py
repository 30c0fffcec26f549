"""Composites in StableHLO: the operation of that name, and the decomposition as a function beside it."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from laminax_ir.ops.composite import ArrayAttribute, composite_p
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import bool_text, dense, element_type, scalar_text, string_text


@lowering_rule(composite_p)
def _composite(ctx: FunctionWriter, *operands: Value, jaxpr: ClosedJaxpr, name: str, attributes: tuple, version: int) -> list[Value]:
    return emit_composite(ctx, name, jaxpr, operands, attributes, version)


def emit_composite(ctx: FunctionWriter, name: str, decomposition: ClosedJaxpr, operands: Sequence[Value],
                   attributes: Sequence[tuple[str, Any]], version: int = 0) -> list[Value]:
    """Writes a composite of the current equation's results.

    Args:
      name: the name by which compilers know it.
      decomposition: the program that it stands for, without constants.
      operands: the decomposition's.
      attributes: names and values, in the form of `laminax_ir.ops.composite.attribute`; dtypes too.
      version: of the operation.
    """
    if len(ctx.platforms) > 1:  # functions take the platform's number then, which the operation has no place for
        return ctx.run(decomposition, operands)
    function = ctx.private_function(decomposition, name)
    listed = ", ".join(f"{string_text(key)} = {_text(value)}" for key, value in attributes)
    written = {"name": string_text(name), "composite_attributes": f"{{{listed}}}", "decomposition": f"@{function}"}
    if version:
        written["version"] = f"{int(version)} : i32"
    out = ctx.emit("stablehlo.composite", operands, attributes=written, results=ctx.avals_out)
    return out if isinstance(out, list) else [out]


def _text(value: Any) -> str:
    """An attribute's value as MLIR writes it."""
    if isinstance(value, bool):
        return bool_text(value)
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, float):
        return f"{scalar_text(np.asarray(value, np.float64))} : f64"
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, np.dtype):
        return element_type(value)
    if isinstance(value, ArrayAttribute):
        array = value.array()
        if array.ndim or array.dtype.kind == "c":
            return dense(array)
        return bool_text(array) if array.dtype == bool else f"{scalar_text(array)} : {element_type(array.dtype)}"
    if isinstance(value, frozenset):
        return f"{{{', '.join(f'{string_text(key)} = {_text(item)}' for key, item in sorted(value))}}}"
    return f"[{', '.join(map(_text, value))}]"
