"""Explicit mesh axes: which mesh a program is traced for, and what types the results of its operations have.

The types of values say how they are split over these axes, and each operation has a rule (`laminax_ir.sharding_rules`) that says
it of its results. Shape rules know nothing of it: they are asked about types without shardings.
"""

from __future__ import annotations

import functools
from typing import Any, Sequence

from laminax_ir import config_options, source
from laminax_ir.abstract_meshes import AbstractMesh
from laminax_ir.avals import ShapedArray, aval_in, split_aval
from laminax_ir.errors import ShardingTypeError
from laminax_ir.jaxpr import ClosedJaxpr, Jaxpr, JaxprEqn, Var, no_effects
from laminax_ir.manual_axes import mesh_of_shard_map
from laminax_ir.memory_spaces import MemorySpace, result_space
from laminax_ir.partition_specs import PartitionSpec
from laminax_ir.primitive import Primitive, RuleTable
from laminax_ir.staging import StagedTracer, StagingTrace, set_explicit_trace_type
from laminax_ir.trace import state
from laminax_ir.type_shardings import TypeSharding, in_use, repeated_name, type_sharding


def _check(value: Any) -> Any:
    if value is None or isinstance(value, AbstractMesh):
        return None if value is None or value.empty else value
    raise ValueError


def _parse(text: str) -> Any:
    raise ValueError


abstract_mesh = config_options.define(
    "abstract_mesh", None, config_options.ValueType("None or an AbstractMesh, from the program and not from the environment", _check, _parse),
    "The mesh that functions are traced for, without its devices; set by set_mesh and use_abstract_mesh.", affects_tracing=True)

is_resolving = config_options.define(
    "is_resolving_shardings", False, config_options.boolean,
    "Whether operations whose operands leave open how the result is split have one that is whole there; set while cotangents are computed, "
    "which are split as their primals in the end.", affects_tracing=True)


sums_left_open = config_options.define(
    "sums_left_open", frozenset(), config_options.ValueType("a set of names of mesh axes, from the program and not from the environment", frozenset, _parse),
    "Along which mesh axes sums in products are left open while it is resolved how results are split: where the result is asked for as their terms.",
    affects_tracing=True)


def context_mesh() -> AbstractMesh | None:
    """The mesh that the function is traced for, if there is one; in a program per device the axes it runs along are manual."""
    mesh = mesh_of_shard_map()
    return abstract_mesh.value if mesh is None else mesh


def explicit_mesh() -> AbstractMesh | None:
    """`context_mesh`, if it has explicit axes."""
    mesh = context_mesh()
    return mesh if mesh is not None and mesh.explicit_axes else None


def out_sharding(name: str, sharding: Any, ndim: int) -> TypeSharding | None:
    """An `out_sharding` of the user's in the form that operations have as a parameter.

    Args:
      name: the function that it was given to.
      sharding: None, a partition spec of the mesh that is set, or a sharding over a mesh.
      ndim: the number of axes of the result.

    Raises:
      TypeError: if it is none of these.
      ValueError: if no mesh is set for a partition spec, it names axes that are not explicit, or it is longer than the result's shape.
    """
    if sharding is None:
        return None
    if isinstance(sharding, PartitionSpec):
        mesh, spec = context_mesh(), sharding
        if mesh is None:
            raise ValueError(f"{name}: Using PartitionSpec when you are not under a mesh context is not allowed, since it refers to the axes of the mesh that "
                             f"is set; got {sharding}. Please set a mesh via `jax.set_mesh` if a PartitionSpec is passed to {name}, or give a NamedSharding.")
    else:
        mesh, spec = getattr(sharding, "mesh", None), getattr(sharding, "spec", None)
        if mesh is None or not isinstance(spec, PartitionSpec):
            raise TypeError(f"{name}: out_sharding must be a PartitionSpec or a NamedSharding, got {sharding!r} of type {type(sharding).__name__}.")
        mesh = mesh.abstract_mesh
        if (context := context_mesh()) is not None and context != mesh:
            raise ValueError(f"{name}: Context mesh {context} should match the mesh of sharding {mesh} passed to {name}. Give a PartitionSpec of the mesh "
                             "that is set.")
    names = (*spec.names(), *spec.unreduced, *spec.reduced)
    if unknown := [n for n in names if n not in mesh.axis_names]:
        raise ValueError(f"{name}: the axis {unknown[0]!r} of {spec} is not an axis of the mesh {mesh}.")
    if others := [n for n in names if n not in mesh.explicit_axes]:
        raise ValueError(f"{name}: PartitionSpec passed to {name} cannot contain axis names that are of type Auto or Manual; got {spec} with "
                         f"{others[0]!r} for the mesh {mesh}. Use with_sharding_constraint for such axes.")
    if not mesh.explicit_axes:
        return None
    return type_sharding(TypeSharding(mesh, spec), (0,) * ndim, name)  # whether sizes divide is seen when they are known


# Rules: `rule(out, *avals, **params)` gives the entries of the spec of the result, or a list of them for several; `out` is what the shape rule says.
sharding_rules = RuleTable("sharding", "laminax_ir.sharding_rules", "Give the operands whole, with reshard(x, PartitionSpec()), or wrap the function "
                           "in auto_axes, which leaves it to the compiler.")


def typed_results(primitive: Primitive, avals: Sequence[ShapedArray], params: dict[str, Any]) -> list[ShapedArray]:
    """The types of the results of an operation, with their shardings and the memory that they are in.

    Raises:
      ShardingTypeError: if those of the operands do not fit, or leave open how the result is split.
      ValueError: if the operands are in several kinds of memory.
      NotImplementedError: if the operation has no rule.
    """
    if primitive.family in _TYPED_BY_THEMSELVES:
        result = primitive.shape_rule(*avals, **params)
        return list(result) if primitive.multiple_results else [result]
    if (space := result_space(primitive, avals)) is not MemorySpace.Device:
        outs = typed_results(primitive, [aval_in(aval, MemorySpace.Device) for aval in avals], params)
        return [aval_in(out, space) for out in outs]
    mesh = _common_mesh(primitive, avals)
    given = None
    for key in _OUT_SHARDING:
        if (value := params.get(key)) is not None:
            given, params = value, {**params, key: None}
    result = primitive.shape_rule(*[aval if aval._whole is None else aval._whole for aval in avals], **params)
    outs = list(result) if primitive.multiple_results else [result]
    has_sums = bool(sums_left_open.value) or given is not None and given.has_sums or any(
        aval._split is not None and aval._split.has_sums for aval in avals)
    if given is not None:
        if has_sums:
            given = _with_sums(given, *_result_sums(primitive, outs, avals, params, given)[0])
        return [split_aval(out, given) if out.ndim or given.has_sums else out for out in outs]
    if mesh is None:
        return outs
    splits = [TypeSharding(mesh, PartitionSpec(*e)) for e in _result_entries(primitive, outs, avals, params)]
    if has_sums:
        splits = [_with_sums(split, *sums) for split, sums in zip(splits, _result_sums(primitive, outs, avals, params, None), strict=True)]
    return [split_aval(out, split) for out, split in zip(outs, splits, strict=True)]


def _result_sums(primitive: Primitive, outs: list, avals: Sequence[ShapedArray], params: dict[str, Any], given: TypeSharding | None) -> list:
    from laminax_ir.sharding_rules.sums import sums_of_results
    return sums_of_results(primitive, outs, avals, params, given)


def _with_sums(split: TypeSharding, unreduced: frozenset, reduced: frozenset) -> TypeSharding:
    """The sharding with other sums left open; axes of the mesh that split it cannot be among them."""
    names = set(split.spec.names())
    return split.update(split.spec.update(unreduced=unreduced - names, reduced=reduced - names))


_OUT_SHARDING = ("out_sharding", "sharding")
# Operations that hold programs, whose results have types already, and those that say how values are split.
_TYPED_BY_THEMSELVES = frozenset(("calls", "control_flow", "linear_call", "linear_solve", "sharding", "shard_map", "composite", "state"))


def _common_mesh(primitive: Primitive, avals: Sequence[ShapedArray]) -> AbstractMesh | None:
    context = context_mesh()
    mesh = None
    for aval in avals:
        if aval._split is not None:
            found = aval._split.mesh
            if context is not None and found != context and not is_resolving.value:
                raise ValueError(f"For primitive {primitive}, context mesh {context} should match the aval mesh {found}: the operands are "
                                 f"{', '.join(aval.str_short() for aval in avals)}. Use reshard to bring them to the mesh that is set.")
            if mesh is None:
                mesh = found
            elif found != mesh:
                raise ValueError(f"For primitive {primitive}: Mesh for all inputs should be equal. Got one mesh: {mesh} and another mesh: {found}. Use reshard "
                                 "to bring the operands to one mesh.")
    return mesh if mesh is not None else context if context is not None and context.explicit_axes else None


def _result_entries(primitive: Primitive, outs: Sequence[ShapedArray], avals: Sequence[ShapedArray], params: dict[str, Any]) -> list:
    if not any(aval._split is not None and any(aval._split.spec.partitions) for aval in avals):
        return [()] * len(outs)  # whole operands have whole results
    rule = sharding_rules[primitive]
    entries = rule(outs, *avals, **params) if primitive.multiple_results else [rule(outs[0], *avals, **params)]
    for i, e in enumerate(entries):
        if (name := repeated_name(e)) is not None:
            if not is_resolving.value:
                raise ShardingTypeError(f"{primitive} operation with inputs: {', '.join(aval.str_short() for aval in avals)} produces an illegally sharded result: "
                                        f"{PartitionSpec(*e)}, in which {name!r} splits two axes. Use reshard on an operand, or say how the result is split "
                                        "with out_sharding=, where the function has it.")
            entries[i] = _without_repetition(e)
    return entries


def _without_repetition(entries: Sequence[Any]) -> tuple:
    kept: list[Any] = []
    for entry in entries:
        kept.append(None if repeated_name([*kept, entry]) is not None else entry)
    return tuple(kept)


class ExplicitStagingTrace(StagingTrace):
    """Records operations on values whose types say how they are split over explicit mesh axes."""

    __slots__ = ()

    def new_input(self, aval):
        mesh = explicit_mesh()
        if mesh is not None and type(aval) is ShapedArray and aval._split is None:
            aval = split_aval(aval, TypeSharding(mesh, PartitionSpec()))
        return super().new_input(aval)

    def process(self, primitive, operands, params):
        atoms = [x.variable if type(x) is StagedTracer and x._trace is self else self.lift(x) for x in operands]
        avals = [atom.aval for atom in atoms]
        rule = primitive.effects_rule
        effects = no_effects if rule is None else frozenset(rule(*avals, **params))
        outvars = [Var(aval) for aval in typed_results(primitive, avals, params)]
        eqn = JaxprEqn(atoms, outvars, primitive, params, effects, state.source or source.current())
        self.eqns.append(eqn)
        results = [StagedTracer(self, var.aval, var, eqn) for var in outvars]
        return results if primitive.multiple_results else results[0]


@functools.cache
def _explicit_form(trace_type: type[StagingTrace]) -> type[StagingTrace]:
    if trace_type is StagingTrace:
        return ExplicitStagingTrace
    if issubclass(trace_type, ExplicitStagingTrace):
        return trace_type
    return type(f"Explicit{trace_type.__name__}", (trace_type, ExplicitStagingTrace), {"__slots__": ()})


def _choose_trace_type(trace_type: type[StagingTrace], in_avals: Sequence[ShapedArray]) -> type[StagingTrace]:
    if explicit_mesh() is None and not any(aval._whole is not None for aval in in_avals):
        return trace_type
    return _explicit_form(trace_type)


set_explicit_trace_type(_choose_trace_type)


def record_explicitly() -> None:
    """Has the traces at work record where values are from now on: the mesh has explicit axes, or a value is moved to other memory, as none was when they began."""
    trace = state.trace
    while trace is not None:
        if isinstance(trace, StagingTrace) and not isinstance(trace, ExplicitStagingTrace):
            trace.__class__ = _explicit_form(type(trace))
        trace = getattr(trace, "parent", None)


def is_explicit(program: ClosedJaxpr | Jaxpr) -> bool:
    """Whether types in a program say how values are split, or that they are in other memory than the devices' own."""
    if not in_use:
        return False
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    atoms = (*jaxpr.constvars, *jaxpr.invars, *jaxpr.outvars, *(var for eqn in jaxpr.eqns for var in eqn.outvars))
    return any(atom.aval._whole is not None for atom in atoms)
