"""Collectives between replicas, or between the partitions that run a manual computation.

`ModuleContext.axis_env` orders the named axes; the replica with index i along the first axis, j along the second and so on
has the number that counts the last axis fastest. The replicas that communicate are listed as groups, in the order in which
the operation's names count them. Source: the StableHLO specification, "replica_groups", strategies cross_replica and
flattened_ids.
"""

from __future__ import annotations

import math
from typing import Any, Hashable, Sequence

import numpy as np

from laminax_ir.ops import collectives as op
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.avals import ShapedArray
from laminax_lowering.writing.context import FunctionWriter
from laminax_lowering.writing.registry import lowering_rule
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import i64_tensor

_UINT32 = ShapedArray((), np.uint32)


def _axis_position(ctx: FunctionWriter, name: Hashable) -> int:
    names = list(ctx.module.axis_env)
    if name not in names:
        raise NotImplementedError(
            f"a collective over the axis {name!r} cannot be lowered: the axes that devices are arranged along are "
            f"{', '.join(map(repr, names)) or 'none'}. Apply vmap or pmap with axis_name={name!r} around the function, or give "
            "its size in axis_env.")
    return names.index(name)


def replica_groups(ctx: FunctionWriter, names: Sequence, index_groups: Sequence[Sequence[int]] | None = None) -> list[list[int]]:
    """The numbers of the replicas that communicate: one list per group."""
    sizes = list(ctx.module.axis_env.values())
    positions = [_axis_position(ctx, name) for name in names]
    others = [i for i in range(len(sizes)) if i not in positions]
    numbers = np.arange(math.prod(sizes)).reshape(sizes).transpose([*others, *positions])
    groups = numbers.reshape(-1, math.prod(sizes[i] for i in positions))
    if index_groups is None:
        return groups.tolist()
    return [[int(row[i]) for i in group] for row in groups for group in index_groups]


def _groups_text(groups: list[list[int]]) -> str:
    """A rectangular tensor; shorter groups end in -1."""
    longest = max(map(len, groups))
    return i64_tensor([[*group, *[-1] * (longest - len(group))] for group in groups])


def _communication(ctx: FunctionWriter, groups: list[list[int]]) -> dict[str, str]:
    """The attributes of a collective: its replica groups and, inside of a manual computation, a channel and global device ids."""
    attributes = {"replica_groups": _groups_text(groups)}
    if ctx.module.manual_mesh is not None:
        attributes |= {**_channel(ctx), "use_global_device_ids": "unit"}
    return attributes


def _channel(ctx: FunctionWriter) -> dict[str, str]:
    return {} if ctx.module.manual_mesh is None else {"channel_handle": ctx.module.new_channel()}


def _region(ctx: FunctionWriter, element_op: str, dtype: np.dtype) -> str:
    scalar = ShapedArray((), dtype)
    return ctx.region([scalar, scalar], lambda a, b: ctx.emit(element_op, [a, b], results=[scalar]), isolated=True)


def _define_reduction(primitive: Primitive, element_op: str) -> None:
    @lowering_rule(primitive)
    def rule(ctx: FunctionWriter, x: Value, *, axes: tuple[str, ...], axis_index_groups: tuple[tuple[int, ...], ...] | None) -> Any:
        return all_reduce(ctx, element_op, x, axes, axis_index_groups)


def all_reduce(ctx: FunctionWriter, element_op: str, x: Value, axes: tuple, axis_index_groups: Any = None) -> Any:
    """The values of all devices along named axes, taken together by an operation of two elements."""
    return ctx.emit("stablehlo.all_reduce", [x], regions=[_region(ctx, element_op, x.dtype)],
                    attributes=_communication(ctx, replica_groups(ctx, axes, axis_index_groups)))


_define_reduction(op.psum_p, "stablehlo.add")
_define_reduction(op.pmax_p, "stablehlo.maximum")
_define_reduction(op.pmin_p, "stablehlo.minimum")


def _reshape(ctx: FunctionWriter, x: Value, shape: Sequence[int]) -> Value:
    return ctx.emit("stablehlo.reshape", [x], results=[x.aval.update(shape=tuple(shape))])


@lowering_rule(op.all_gather_p)
def all_gather(ctx: FunctionWriter, x: Value, *, all_gather_dimension: int, axis_name: tuple, axis_index_groups: Any, axis_size: int,
               tiled: bool) -> Value:
    dim = all_gather_dimension
    if not tiled:
        x = _reshape(ctx, x, (*x.shape[:dim], 1, *x.shape[dim:]))
    return ctx.emit("stablehlo.all_gather", [x], attributes={
        "all_gather_dim": f"{dim} : i64", **_communication(ctx, replica_groups(ctx, axis_name, axis_index_groups))})


@lowering_rule(op.reduce_scatter_p)
def reduce_scatter(ctx: FunctionWriter, x: Value, *, scatter_dimension: int, axis_name: tuple, axis_index_groups: Any, axis_size: int,
                   tiled: bool) -> Value:
    dim, (out,) = scatter_dimension, ctx.avals_out
    part = (*x.shape[:dim], x.shape[dim] // axis_size, *x.shape[dim + 1:])
    result = ctx.emit("stablehlo.reduce_scatter", [x], regions=[_region(ctx, "stablehlo.add", x.dtype)],
                      results=[x.aval.update(shape=part)], attributes={
        **_communication(ctx, replica_groups(ctx, axis_name, axis_index_groups)), "scatter_dimension": f"{dim} : i64"})
    return result if tiled else _reshape(ctx, result, out.shape)


@lowering_rule(op.all_to_all_p)
def _all_to_all(ctx: FunctionWriter, x: Value, *, split_axis: int, concat_axis: int, axis_name: tuple, axis_index_groups: Any,
                tiled: bool) -> Value:
    (out,) = ctx.avals_out
    groups = replica_groups(ctx, op.axis_names(axis_name), axis_index_groups)
    count = len(groups[0])
    split, concat = split_axis, concat_axis
    if not tiled:  # the operation concatenates: give it an axis of size 1 to do so along
        concat += concat_axis > split_axis  # counted with the split axis still there
        x = _reshape(ctx, x, (*x.shape[:concat], 1, *x.shape[concat:]))
        split += concat <= split_axis
    traded = list(x.shape)
    traded[split] //= count
    traded[concat] *= count
    result = ctx.emit("stablehlo.all_to_all", [x], results=[x.aval.update(shape=tuple(traded))], attributes={
        "concat_dimension": f"{concat} : i64", "replica_groups": _groups_text(groups), "split_count": f"{count} : i64",
        "split_dimension": f"{split} : i64", **_channel(ctx)})
    return result if tiled else _reshape(ctx, result, out.shape)


@lowering_rule(op.ppermute_p)
def _ppermute(ctx: FunctionWriter, x: Value, *, axis_name: tuple, perm: tuple) -> Value:
    groups = replica_groups(ctx, axis_name)
    pairs = [[group[source], group[destination]] for group in groups for source, destination in perm]
    return ctx.emit("stablehlo.collective_permute", [x],
                    attributes={"source_target_pairs": i64_tensor(np.reshape(pairs, (-1, 2))), **_channel(ctx)})


@lowering_rule(op.axis_index_p)
def _axis_index(ctx: FunctionWriter, *, axis_name: tuple) -> Value:
    position = _axis_position(ctx, axis_name)
    sizes = list(ctx.module.axis_env.values())
    if axis_name in ctx.module.axis_positions:
        return ctx.module.axis_positions[axis_name]
    is_manual = ctx.module.manual_mesh is not None
    number = ctx.emit("stablehlo.partition_id" if is_manual else "stablehlo.replica_id", [], results=[_UINT32])
    stride = ctx.constant(math.prod(sizes[position + 1:]), np.uint32)
    index = ctx.emit("stablehlo.divide", [number, stride], results=[_UINT32])
    index = ctx.emit("stablehlo.remainder", [index, ctx.constant(sizes[position], np.uint32)], results=[_UINT32])
    return ctx.convert(index, np.dtype(np.int32))


@lowering_rule(op.psum_shared_p)
def _psum_shared(ctx: FunctionWriter, x: Value, like: Value, *, axes: tuple[str, ...]) -> Value:
    for name in axes:
        _axis_position(ctx, name)
    raise NotImplementedError(f"reduce_axes over the axes {axes} cannot be lowered: which values are shared along an axis is known "
                              "to the vmap that defines it. Use vmap, or psum the gradient.")


@lowering_rule(op.pvary_p)
def _pvary(ctx: FunctionWriter, x: Value, *, axes: tuple[str, ...]) -> Value:
    return x
