"""The types of the results of operations, where types have shardings over explicit mesh axes or memory spaces.

Each operation has a rule (`laminax_ir.sharding_rules`) for the shardings of its results. Shape rules know nothing of shardings: they get
types without them.
"""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.options.config import auto_pcast, no_collectives
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr
from laminax_ir.programs.primitive import Primitive, RuleTable, Trait
from laminax_ir.tracing.explicit_axes import context_mesh, is_resolving, sums_left_open
from laminax_ir.tracing.forbidden_collectives import check_contracted, check_kept_places, check_types
from laminax_ir.tracing.manual_axes import checked_axes
from laminax_ir.types import dtypes
from laminax_ir.types.abstract_meshes import AbstractMesh
from laminax_ir.types.avals import ShapedArray, aval_in, split_aval
from laminax_ir.types.errors import ShardingTypeError
from laminax_ir.types.memory_spaces import MemorySpace
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.type_shardings import TypeSharding, in_use, repeated_name

# Rules: `rule(out, *avals, **params)` gives the entries of the result's spec, or a list of them for several results; `out` is the aval, or
# the avals, from the shape rule.
sharding_rules = RuleTable("sharding", "laminax_ir.sharding_rules",
                           "Give the operands whole, with reshard(x, PartitionSpec()), or wrap the function "
                           "in auto_axes, which leaves it to the compiler.")


def typed_results(primitive: Primitive, avals: Sequence[ShapedArray], params: dict[str, Any]) -> list[ShapedArray]:
    """The types of the results of an operation, with their shardings and the memory that they are in.

    Raises:
      ShardingTypeError: if the shardings of the operands do not fit, or leave open how the result is split.
      ValueError: if the operands are in several kinds of memory.
      NotImplementedError: if the operation has no rule.
    """
    if Trait.TYPES_ITS_RESULTS in primitive.traits:
        result = primitive.shape_rule(*avals, **params)
        return list(result) if primitive.multiple_results else [result]
    if not auto_pcast.value:
        _check_varying_alike(primitive, avals)
    outs = _typed_results(primitive, avals, params)
    if no_collectives.value:
        _check_collectives(primitive, avals, params, outs)
    return outs


def _check_varying_alike(primitive: Primitive, avals: Sequence[ShapedArray]) -> None:
    """Without `auto_pcast`: inexact operands vary along the same checked axes; scalars beside arrays go with all.

    Raises:
      ValueError: if they do not.
    """
    rank = max((aval.ndim for aval in avals), default=0)
    checked = checked_axes()
    found = [{name for name in checked if name in aval.named_shape} for aval in avals
             if dtypes.issubdtype(aval.dtype, dtypes.inexact) and (aval.ndim or not rank)]
    if any(names != found[0] for names in found):
        raise ValueError(f"Primitive {primitive} requires varying manual axes to match, but got {found}, of "
                         f"{', '.join(aval.str_short() for aval in avals)}, with the option auto_pcast off. Use lax.pcast(x, ..., "
                         "to='varying') on the operands that vary along fewer axes, or switch auto_pcast on.")


def _check_collectives(primitive: Primitive, avals: Sequence[ShapedArray], params: dict[str, Any], outs: Sequence[ShapedArray]) -> None:
    name, given = primitive.name, params.get("out_sharding", params.get("sharding"))
    if given is not None:
        for aval, axes in zip(avals, _summed_axes(params)):
            if aval._split is not None:
                entries = aval._split.spec.partitions
                check_contracted(name, [entries[axis] for axis in axes], given.spec)
                if "axes" in params:
                    check_kept_places(name, [entry for axis, entry in enumerate(entries) if axis not in axes], given.spec.partitions)
    check_types(name, avals, outs)


def _summed_axes(params: dict[str, Any]) -> Sequence[Sequence[int]]:
    """For each operand, the axes that a reduction or a product sums over."""
    if "axes" in params:
        return [params["axes"]]
    return params["dimension_numbers"][0] if isinstance(params.get("dimension_numbers"), tuple) else ()


def _typed_results(primitive: Primitive, avals: Sequence[ShapedArray], params: dict[str, Any]) -> list[ShapedArray]:
    if (space := _result_space(primitive, avals)) is not MemorySpace.Device:
        outs = _typed_results(primitive, [aval_in(aval, MemorySpace.Device) for aval in avals], params)
        return [aval_in(out, space) for out in outs]
    mesh = _common_mesh(primitive, avals)
    given = None
    for key in _OUT_SHARDING:
        if (value := params.get(key)) is not None:
            given, params = value, {**params, key: None}
    result = primitive.shape_rule(*[aval if aval._plain is None else aval._plain for aval in avals], **params)
    outs = list(result) if primitive.multiple_results else [result]
    has_sums = bool(sums_left_open.value) or given is not None and given.has_sums or Trait.LEAVES_SUMS_OPEN in primitive.traits or any(
        aval._split is not None and aval._split.has_sums for aval in avals)
    if given is not None:
        if has_sums:
            given = _with_sums(primitive, outs[0], given, *_result_sums(primitive, outs, avals, params, given)[0])
        return [split_aval(out, given) if out.ndim or given.has_sums else out for out in outs]
    if mesh is None:
        return outs
    splits = [TypeSharding(mesh, PartitionSpec(*e)) for e in _result_entries(primitive, outs, avals, params)]
    if has_sums:
        splits = [_with_sums(primitive, out, split, *sums)
                  for out, split, sums in zip(outs, splits, _result_sums(primitive, outs, avals, params, None), strict=True)]
    return [split_aval(out, split) for out, split in zip(outs, splits, strict=True)]


def _result_space(primitive: Primitive, avals: Sequence[ShapedArray]) -> MemorySpace:
    """The memory space of an operation's results: the space that its operands are in.

    Operations with the trait HAS_OWN_MEMORIES give `Device`, which changes nothing in the types that their shape rules return.

    Raises:
      ValueError: if operands that are no scalars lie in several kinds of memory.
    """
    if Trait.FOLLOWS_FIRST_OPERAND in primitive.traits:
        return avals[0].memory_space
    if Trait.HAS_OWN_MEMORIES in primitive.traits:
        return MemorySpace.Device
    if avals and all(aval.memory_space is MemorySpace.Any for aval in avals):
        return MemorySpace.Any
    first = None
    for aval in avals:
        if aval.ndim:
            if first is None:
                first = aval
            elif aval.memory_space is not first.memory_space:
                raise ValueError(
                    f"memory_space of all inputs passed to `{primitive.name}` must be the same. Got one operand with type: "
                    f"{first.str_short(short_dtypes=False)} and another operand with type: {aval.str_short(short_dtypes=False)}. "
                    "Move one of them with device_put(x, memory.Space.Device) or device_put(x, memory.Space.Host).")
    return MemorySpace.Device if first is None else first.memory_space


Sums = tuple[frozenset, frozenset]  # the axes of `unreduced`, and those of `reduced`

# Rules: `rule(avals, given, params)` gives the sums that are left open in the results, or a list of them for each result; `given` is the
# sharding that the user asks for.
sum_rules = RuleTable("unreduced", "laminax_ir.sharding_rules")


def _result_sums(primitive: Primitive, outs: Sequence[ShapedArray], avals: Sequence[ShapedArray], params: dict[str, Any],
                 given: TypeSharding | None) -> list[Sums]:
    """The sums over mesh axes that are left open in each result of an operation.

    Raises:
      ShardingTypeError: if the operands do not go together.
      NotImplementedError: if the operation takes no such operands.
    """
    rule = sum_rules.find(primitive)
    if rule is not None:
        found = rule(avals, given, params)
        return found if isinstance(found, list) else [found] * len(outs)
    if any(map(has_sums, avals)) or given is not None and given.has_sums:
        raise NotImplementedError(f"unreduced/reduced rule for {primitive} is not implemented: "
                                  "the operation takes no sums over mesh axes that have not been made, nor values whose cotangents are "
                                  f"such sums; got {', '.join(aval.str_short() for aval in avals)}. Use reshard on the operands first.")
    return [(frozenset(), frozenset())] * len(outs)


def has_sums(aval: ShapedArray) -> bool:
    """Whether a type has unreduced mesh axes (their sum is not made), or reduced ones (their sum is not made in the cotangent)."""
    return aval._split is not None and aval._split.has_sums


def _with_sums(primitive: Primitive, out: ShapedArray, split: TypeSharding, unreduced: frozenset, reduced: frozenset) -> TypeSharding:
    """The sharding with other sums left open; axes of the mesh that split it, or along which it varies, cannot be among them.

    Raises:
      ShardingTypeError: if along an axis some operands are terms of a sum, and others vary.
    """
    varying = {name for name, _ in out._named}
    if mixed := sorted(unreduced & varying, key=str):
        name = mixed[0]
        raise ShardingTypeError(f"{primitive}: operands that are unreduced along {name!r}, of which each device has a term of a sum, and "
                                f"operands that vary along it cannot be taken together. Use lax.psum(x, {name!r}) on the former, or "
                                f"lax.pcast(x, {name!r}, to='unreduced') on the latter.")
    names = varying.union(split.spec.names())
    return split.update(split.spec.update(unreduced=unreduced - names, reduced=reduced - names))


_OUT_SHARDING = ("out_sharding", "sharding")


def _common_mesh(primitive: Primitive, avals: Sequence[ShapedArray]) -> AbstractMesh | None:
    context = context_mesh()
    mesh = None
    for aval in avals:
        if aval._split is not None:
            found = aval._split.mesh
            if context is not None and found != context and not is_resolving.value:
                if aval._split.is_whole and found.shape_tuple == context.shape_tuple:
                    continue  # closed over by a function in which the axes are the compiler's: each device has all of it in either
                raise ValueError(f"For primitive {primitive}, context mesh {context} should match the aval mesh {found}: the operands are "
                                 f"{', '.join(aval.str_short() for aval in avals)}. Use reshard to bring them to the mesh that is set.")
            if mesh is None:
                mesh = found
            elif found != mesh:
                raise ValueError(f"For primitive {primitive}: Mesh for all inputs should be equal. "
                                 f"Got one mesh: {mesh} and another mesh: {found}. Use reshard to bring the operands to one mesh.")
    return mesh if mesh is not None else context if context is not None and context.explicit_axes else None


def _result_entries(primitive: Primitive, outs: Sequence[ShapedArray], avals: Sequence[ShapedArray], params: dict[str, Any]) -> list:
    if not any(aval._split is not None and any(aval._split.spec.partitions) for aval in avals):
        return [()] * len(outs)  # whole operands have whole results
    rule = sharding_rules[primitive]
    entries = rule(outs, *avals, **params) if primitive.multiple_results else [rule(outs[0], *avals, **params)]
    for i, e in enumerate(entries):
        if (name := repeated_name(e)) is not None:
            if not is_resolving.value:
                raise ShardingTypeError(f"{primitive} operation with inputs: {', '.join(aval.str_short() for aval in avals)} produces an "
                                        f"illegally sharded result: {PartitionSpec(*e)}, in which {name!r} splits two axes. Use reshard on "
                                        "an operand, or say how the result is split with out_sharding=, where the function has it.")
            entries[i] = _without_repetition(e)
    return entries


def _without_repetition(entries: Sequence[Any]) -> tuple:
    kept: list[Any] = []
    for entry in entries:
        kept.append(None if repeated_name([*kept, entry]) is not None else entry)
    return tuple(kept)


def is_explicit(program: ClosedJaxpr | Jaxpr) -> bool:
    """Whether types in a program have shardings, or a memory space other than the devices' own."""
    if not in_use:
        return False
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    atoms = (*jaxpr.constvars, *jaxpr.invars, *jaxpr.outvars, *(var for eqn in jaxpr.eqns for var in eqn.outvars))
    return any(atom.aval._plain is not None for atom in atoms)
