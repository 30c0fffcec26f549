"""Custom calls: operations whose code the compiler finds by name, most of them functions of XLA's typed FFI.

Linear algebra libraries keep matrices by columns, so their operands and results have the last two axes exchanged in memory,
which the layouts state. Source: the StableHLO specification, `custom_call`, and XLA's documentation of custom calls.
"""

from __future__ import annotations

from typing import Mapping, Sequence

import numpy as np

from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.comparisons import compare, select
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import bool_text, i64_array, string_text

_INT32, _BOOL = np.dtype(np.int32), np.dtype(bool)


def emit_ffi_call(ctx: FunctionWriter, target: str, operands: Sequence[Value], results: Sequence[ShapedArray], *,
                  config: Mapping[str, str] | None = None, batch_rank: int | None = None,
                  by_rows: bool = False, aliases: Mapping[int, int] | None = None, has_side_effect: bool = False,
                  device_number: int | None = None) -> list[Value]:
    """Calls a function of XLA's typed FFI.

    Args:
      target: the name it is registered under.
      operands: the function's.
      results: their avals.
      config: the function's attributes, as MLIR text by name.
      batch_rank: the number of axes in front of each vector and matrix, over which the function may be split; arrays with
        two axes more are kept by columns. None for functions of other things, which take all arrays by rows.
      by_rows: whether matrices are kept by rows too.
      aliases: which operand (key) a result (value) may overwrite.
      has_side_effect: whether it runs also where nobody reads the results.
      device_number: which of the devices that the compiler splits the module over makes the call; None for a module that is not split.

    Returns:
      The results, as a list.
    """
    listed = ", ".join(f"{name} = {value}" for name, value in (config or {}).items())
    attributes = {"api_version": "4 : i32", "backend_config": f"{{{listed}}}",
                  "has_side_effect": bool_text(has_side_effect)}
    if batch_rank is not None:
        attributes["mhlo.frontend_attributes"] = f'{{num_batch_dims = "{batch_rank}"}}'
        attributes["sdy.sharding_rule"] = _batch_rule([v.aval for v in operands], results, batch_rank)
    matrix_rank = None if by_rows or batch_rank is None else batch_rank + 2
    attributes["operand_layouts"] = _layouts([v.aval for v in operands], matrix_rank)
    attributes["result_layouts"] = _layouts(results, matrix_rank)
    if aliases:
        attributes["output_operand_aliases"] = _aliases(aliases, is_tuple=len(results) > 1)
    if device_number is not None:
        shardings = ", ".join([ctx.module.meshes.on_device(device_number)] * max(1, len(results)))
        attributes["sdy.sharding"] = f"#sdy.sharding_per_value<[{shardings}]>"
    out = ctx.custom_call(target, operands, attributes, list(results))
    return [out] if isinstance(out, Value) else out


_FACTORS = "ijklmnopqrstuvwxyz"


def _batch_rule(operands: Sequence[ShapedArray], results: Sequence[ShapedArray], batch_rank: int) -> str:
    """Shardy's rule for a function that runs on each matrix of a batch: the batch axes correspond, the others do not.

    Each axis has a factor: one for the same axis of the batch, in all arrays, and one for each other axis.
    Source: the Shardy documentation, "Sharding rule".
    """
    sizes: list[int] = list(next((aval.shape[:batch_rank] for aval in (*operands, *results) if aval.ndim >= batch_rank), ()))

    def factor(number: int) -> str:
        return _FACTORS[number] if number < len(_FACTORS) else f"z_{number - len(_FACTORS) + 1}"

    def axes(aval: ShapedArray) -> str:
        if aval.ndim < batch_rank:  # an array that is not computed
            return "[]"
        own = range(len(sizes), len(sizes) + aval.ndim - batch_rank)
        sizes.extend(aval.shape[batch_rank:])
        return f"[{', '.join(map(factor, (*range(batch_rank), *own)))}]"

    sides = [", ".join(map(axes, avals)) for avals in (operands, results)]
    listed = ", ".join(f"{factor(i)}={size}" for i, size in enumerate(sizes))
    return f"#sdy.op_sharding_rule<({sides[0]})->({sides[1]}) {{{listed}}}, custom>"


def _layouts(avals: Sequence[ShapedArray], matrix_rank: int | None) -> str:
    """The axes of each array, from the one that varies fastest in memory; arrays of rank `matrix_rank` are kept by columns."""
    texts = []
    for aval in avals:
        rank = len(aval.shape)
        order = list(reversed(range(rank)))
        if rank == matrix_rank:
            order[:2] = order[1], order[0]
        texts.append(f"dense<{order}> : tensor<{rank}xindex>" if rank else "dense<> : tensor<0xindex>")
    return f"[{', '.join(texts)}]"


def _aliases(aliases: Mapping[int, int], is_tuple: bool) -> str:
    texts = [f"#stablehlo.output_operand_alias<output_tuple_indices = [{result if is_tuple else ''}], "
             f"operand_index = {operand}, operand_tuple_indices = []>" for operand, result in aliases.items()]
    return f"[{', '.join(texts)}]"


def emit_builtin_call(ctx: FunctionWriter, target: str, operands: Sequence[Value], results: Sequence[ShapedArray], *,
                      backend_config: str = "", api_version: int = 1) -> list[Value]:
    """Calls a function that a platform's compiler has itself, without layouts.

    Args:
      target: its name.
      operands: the function's.
      results: their avals.
      backend_config: the function's configuration, in a form of its own.
      api_version: of StableHLO's custom calls: 1, or 2 where the compiler asks for it.

    Returns:
      The results, as a list.
    """
    out = ctx.custom_call(target, operands, results=list(results), attributes={
        "api_version": f"{api_version} : i32", "backend_config": string_text(backend_config)})
    return [out] if isinstance(out, Value) else out


def info_aval(x: Value) -> ShapedArray:
    """The aval of the info that a kernel reports for each matrix: 0, or a number for what has failed."""
    return ShapedArray(x.aval.shape[:-2], _INT32)


def nan_unless(ctx: FunctionWriter, info: Value, results: Sequence[Value], direction: str = "EQ") -> list[Value]:
    """The results, with NaN in those of the matrices whose info is not 0 (or, with direction "GE", negative)."""
    is_good = compare(ctx, info, ctx.constant(0, _INT32, info.aval.shape), direction)
    out = []
    for x in results:
        nan = complex(np.nan, np.nan) if dtypes.issubdtype(x.aval.dtype, dtypes.complexfloating) else np.nan
        mask = ctx.emit("stablehlo.broadcast_in_dim", [is_good], results=[ShapedArray(x.aval.shape, _BOOL)],
                        attributes={"broadcast_dimensions": i64_array(range(len(info.aval.shape)))})
        out.append(select(ctx, mask, x, ctx.constant(np.array(nan, x.aval.dtype), shape=x.aval.shape), x.aval))
    return out
