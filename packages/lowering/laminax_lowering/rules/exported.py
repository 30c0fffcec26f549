"""Exported programs: their functions become private functions of the module that calls them."""

from __future__ import annotations

import re
from typing import Any, Sequence

import numpy as np

from laminax_ir.ops.exported import StableHLOProgram, call_exported_p
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import ShardingTypeError
from laminax_lowering.rules.sharding import constrained
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.dynamic_shapes import retyped
from laminax_lowering.writing.module_context import ModuleContext
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value

_DEFINITION = re.compile(r"func\.func (?:public |private )?@([\w$.-]+)\(")
_PUBLIC = re.compile(r"func\.func (?:public |private )?@")
_MESH = re.compile(r'^ *sdy\.mesh @([\w$.-]+) = <\[(.*?)\]>.*\n', re.MULTILINE)
_MESH_AXIS = re.compile(r'"([^"]*)"=(\d+)')
_CALL_TARGET = re.compile(r'call_target_name = "([^"]*)"|custom_call @"?([\w$.-]+)"?\(')  # in the generic and in the short form
_STRING_OR_SYMBOL = re.compile(r'"(?:[^"\\]|\\.)*"|@([\w$.-]+)')


@lowering_rule(call_exported_p)
def _call_exported(ctx: FunctionWriter, *operands: Value, program: StableHLOProgram) -> list[Value]:
    numbers = {platform: program.number_of(platform) for platform in ctx.platforms}
    program.check_devices(ctx.module.num_partitions)
    function = _imported_function(ctx.module, program)
    if program.nr_devices == 1 < ctx.module.num_partitions:  # what it says of its one device is nothing about the others
        in_shardings, out_shardings = (None,) * len(operands), (None,) * len(program.out_avals)
    else:
        in_shardings, out_shardings = program.in_shardings, program.out_shardings
    values = _split(ctx, operands, in_shardings)
    if program.has_dynamic_shapes:
        ctx.module.has_dynamic_shapes = True
    if program.specification is not None:
        values = [retyped(ctx, x, aval) for x, aval in zip(values, program.in_avals, strict=True)]
    if len(program.platforms) > 1:
        if ctx.platforms == program.platforms and ctx.platform_index is not None:
            number = ctx.platform_index
        else:
            number = ctx.by_platform(lambda: ctx.constant(numbers[ctx.platform], np.int32), [ShapedArray((), np.int32)])
        values = [number, *values]
    results = ctx.call(function, values, program.out_avals)
    for aval, sharding in zip(ctx.avals_out, out_shardings, strict=True):
        if sharding is not None and sharding.spec.unreduced - (aval._split.spec.unreduced if aval._split is not None else frozenset()):
            raise ShardingTypeError(f"Function {program.name!r} leaves sums open over mesh axes, {sharding.spec}, that are not explicit "
                                    "axes of the mesh where it is called. Set a mesh whose axes of these names are AxisType.Explicit.")
    return _split(ctx, [retyped(ctx, x, aval) for x, aval in zip(results, ctx.avals_out, strict=True)], out_shardings)


def _split(ctx: FunctionWriter, values: Sequence[Value], shardings: Sequence[Any]) -> list:
    """The values, split as the exported function's arguments and results are: what its `main` says of them ends with the call."""
    return [x if sharding is None else constrained(ctx, x, sharding) for x, sharding in zip(values, shardings, strict=True)]


def _imported_function(module: ModuleContext, program: StableHLOProgram) -> str:
    """The name that the program's `main` has in this module, which takes its functions in on the first call."""
    known = module.imported
    if program not in known:
        body, names = renamed_functions(program.text, program.name, module)
        module.call_targets.update({long or short: None for long, short in _CALL_TARGET.findall(body)})
        module.functions.append(body)
        known[program] = names["main"]
    return known[program]


def renamed_functions(text: str, name: str, module: ModuleContext) -> tuple[str, dict[str, str]]:
    """The functions of a module as text, private and under names that are free in another, and those names; its meshes are the other's.

    Args:
      text: a module as MLIR prints it: a line that opens it, functions, a line that closes it.
      name: what its `main` is to be called.
      module: the other module.
    """
    body = text.strip().partition("{\n")[2].rpartition("}")[0]
    meshes = {found: module.meshes.name_of_axes(tuple((axis, int(size)) for axis, size in _MESH_AXIS.findall(axes)))
              for found, axes in _MESH.findall(body)}
    body = _MESH.sub("", body)
    names = {found: module.unique_name(name if found == "main" else found) for found in _DEFINITION.findall(body)}

    def rename(match: re.Match) -> str:
        symbol = match.group(1)
        if symbol in meshes:
            return meshes[symbol]
        return f"@{names[symbol]}" if symbol in names else match.group(0)  # strings stay, and symbols from elsewhere

    return _STRING_OR_SYMBOL.sub(rename, _PUBLIC.sub("func.func private @", body)).rstrip(), names
