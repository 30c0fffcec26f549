"""Programs per device: Shardy's manual computation, inside of which collectives are between partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops.collectives import axis_index_p
from laminax_ir.ops.shard_map import shard_map_p
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, programs_within
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.explicit_axes import terms_kept
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.shardings import sharding_on_mesh
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.tokens import current_tokens, set_tokens, token_keys
from laminax_lowering.writing.types import string_text

if TYPE_CHECKING:
    from laminax_ir.types.abstract_meshes import AbstractMesh
    from laminax_lowering.writing.module_context import ModuleContext


@lowering_rule(shard_map_p)
def _lower_shard_map(ctx: FunctionWriter, *operands: Value, jaxpr: ClosedJaxpr, mesh: AbstractMesh, in_specs: tuple[PartitionSpec, ...],
                     out_specs: tuple, manual_axes: tuple, check_vma: bool, unchecked_axes: tuple = ()) -> list[Value]:
    """Writes a manual computation; an abstract mesh stands for the mesh of the program around this one."""
    module = ctx.module
    mesh = mesh if module.manual_mesh is None else module.manual_mesh
    if jaxpr.effects and all(size == 1 for size in mesh.shape.values()):
        # XLA does not take a manual computation with side effects apart that is on one device: what runs there is all there is.
        with _inside(module, mesh, tuple(mesh.axis_names)):
            return ctx.run(jaxpr, operands)
    names, positions, position_specs = _positions(ctx, mesh, manual_axes) if _asks_for_position(jaxpr) else ([], [], [])
    keys = token_keys(jaxpr.effects)  # of what is ordered on each device: tokens go in and come out, so that what follows waits
    tokens = current_tokens(ctx, keys)

    def write(*args: Value) -> Any:
        count = len(names)
        module.axis_positions = {name: ctx.emit("stablehlo.reshape", [x], results=[_POSITION]) for name, x in zip(names, args)}
        last = len(args) - len(keys)
        set_tokens(ctx, keys, args[last:])
        return [*ctx.run(jaxpr, args[count:last]), *current_tokens(ctx, keys)]

    with _inside(module, mesh, manual_axes):
        parts = [ShapedArray((1,), _POSITION.dtype)] * len(names)
        body = ctx.region([*parts, *(v.aval for v in jaxpr.jaxpr.invars), *(x.aval for x in tokens)], write, terminator="sdy.return",
                          isolated=True)
    operands = tuple([terms_kept(ctx, x) for x in operands])
    is_open = bool(left_to_compiler(module, mesh, manual_axes))  # over the other axes the compiler may split the parts
    of_tokens = _shardings(module, mesh, [PartitionSpec()] * len(tokens), tokens)
    avals_out = [*ctx.avals_out, *(x.aval for x in tokens)]
    result = ctx.emit("sdy.manual_computation", [*positions, *operands, *tokens], regions=[body], results=avals_out, attributes={
        "in_shardings": _per_value([*_shardings(module, mesh, position_specs, positions),
                                    *_shardings(module, mesh, in_specs, operands, is_open), *of_tokens]),
        "out_shardings": _per_value([*_shardings(module, mesh, out_specs, ctx.avals_out, is_open), *of_tokens]),
        "manual_axes": f"#sdy<manual_axes{{{', '.join(string_text(str(name)) for name in manual_axes)}}}>"})
    found = [result] if len(avals_out) == 1 else list(result)
    count = len(ctx.avals_out)
    set_tokens(ctx, keys, found[count:])
    return found[:count]


_POSITION = ShapedArray((), np.int32)


def left_to_compiler(module: ModuleContext, mesh: AbstractMesh | None = None, manual_axes: tuple = ()) -> tuple:
    """The mesh axes left to the compiler in a program per device along `manual_axes`; by default, in the program that is being written."""
    mesh = module.manual_mesh if mesh is None else mesh
    return () if mesh is None else tuple(name for name in mesh.axis_names if name not in module.manual_axes and name not in manual_axes)


def _asks_for_position(program: ClosedJaxpr | Jaxpr) -> bool:
    """Whether a program needs to know which device runs it: for `axis_index`, and to let one device call for several."""
    return bool(program.effects) or any(eqn.primitive is axis_index_p for jaxpr in programs_within(program) for eqn in jaxpr.eqns)


def _positions(ctx: FunctionWriter, mesh: AbstractMesh, manual_axes: tuple) -> tuple[list, list[Value], list[PartitionSpec]]:
    """Where the compiler splits over some axes of the mesh by itself, it does not tell a device its number.

    There the positions along the other axes go in as operands, each of which is split over its axis: names, values, specs.
    """
    module = ctx.module
    if not left_to_compiler(module, mesh, manual_axes):
        return [], [], []
    names, values, specs = [], [], []
    for name, position in module.axis_positions.items():
        names.append(name)
        values.append(ctx.emit("stablehlo.reshape", [position], results=[_POSITION.update(shape=(1,))]))
        specs.append(PartitionSpec())
    for name in manual_axes:
        names.append(name)
        numbers = _POSITION.update(shape=(mesh.shape[name],))
        values.append(ctx.emit("stablehlo.iota", [], attributes={"iota_dimension": "0 : i64"}, results=[numbers]))
        specs.append(PartitionSpec(name))
    return names, values, specs


@contextmanager
def _inside(module: ModuleContext, mesh: AbstractMesh, manual_axes: tuple) -> Iterator[None]:
    """Context manager: inside, named axes are those of the mesh, and functions that are called are written for this place."""
    outer = module.manual_mesh, module.manual_axes, module.axis_env, module.private_functions, module.axis_positions
    module.manual_mesh, module.manual_axes = mesh, module.manual_axes | set(manual_axes)
    module.axis_env, module.private_functions, module.axis_positions = dict(mesh.shape), {}, {}
    try:
        yield
    finally:
        module.manual_mesh, module.manual_axes, module.axis_env, module.private_functions, module.axis_positions = outer


def _shardings(module: ModuleContext, mesh: AbstractMesh, specs: Sequence[PartitionSpec], values: Sequence[Any],
               is_open: bool = False) -> list[str]:
    return [sharding_on_mesh(module.meshes, mesh, spec, getattr(x, "aval", x), is_open=is_open) for spec, x in zip(specs, values)]


def _per_value(shardings: Sequence[str]) -> str:
    return f"#sdy.sharding_per_value<[{', '.join(shardings)}]>"
