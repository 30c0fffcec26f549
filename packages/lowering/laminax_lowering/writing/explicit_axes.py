"""Programs whose types have shardings: each result of an operation is constrained to the sharding of its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from laminax_ir.programs.primitive import Primitive, Trait
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.type_shardings import TypeSharding
from laminax_lowering.writing.shardings import sharding_on_mesh
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import type_text

if TYPE_CHECKING:  # the writer's module imports this one
    from laminax_lowering.writing.context import FunctionWriter


def constrained(primitive: Primitive, rule: Callable) -> Callable:
    """The lowering rule, with its results constrained to the shardings of their types; those of programs that it calls are already."""
    if Trait.PASSES_RESULTS_ON in primitive.traits:
        return rule
    is_elementwise = Trait.ELEMENTWISE in primitive.traits

    def constrained_rule(ctx: FunctionWriter, *operands: Any, **params: Any) -> Any:
        avals = ctx.avals_out
        if is_elementwise and len(operands) > 1 and len(avals) == 1:
            operands = tuple([_split_as(ctx, x, avals[0]) for x in operands])
        result = rule(ctx, *operands, **params)
        if not primitive.multiple_results:
            return constrain(ctx, result, avals[0])
        return [constrain(ctx, x, aval) for x, aval in zip(result, avals)]

    return constrained_rule


def constrain(ctx: Any, x: Value, aval: ShapedArray) -> Value:
    """The value, constrained to be split over explicit axes as the aval says; over the compiler's axes it may be split further."""
    split = None if aval._split is None else aval._split.along_explicit_axes()
    if split is None:
        return x
    mesh, spec = split
    used = (*spec.names(), *spec.unreduced)
    free = [name for name in mesh.explicit_axes if name not in used] if mesh.auto_axes else ()
    text = sharding_on_mesh(ctx.module.meshes, mesh, spec, aval, is_open=bool(mesh.auto_axes), replicated=free)
    return constrained_so(ctx, Value(x.name, aval), text)


def constrained_so(ctx: Any, x: Value, text: str) -> Value:
    """The value, constrained to a sharding that is given as text."""
    name = ctx.new_name()
    ctx.lines.append(f"{name} = sdy.sharding_constraint {x.name} {text} : {type_text(x.aval)}{ctx.loc}")
    return Value(name, x.aval)


def with_sums_made(ctx: Any, x: Value, result: ShapedArray) -> Value:
    """An operand, with the sums made that are open in it and not in the result."""
    split = getattr(x.aval, "_split", None)
    if split is None or not split.spec.unreduced:
        return x
    left = frozenset() if result._split is None else result._split.spec.unreduced
    if split.spec.unreduced <= left:
        return x
    return constrain(ctx, x, x.aval.update(sharding=split.update(split.spec.update(unreduced=split.spec.unreduced & left))))


def terms_kept(ctx: Any, x: Value) -> Value:
    """The value; if its type is unreduced, constrained to stay the terms of a sum, so that the compiler does not make the sum here."""
    split = getattr(x.aval, "_split", None)
    return x if split is None or not split.spec.unreduced else constrain(ctx, x, x.aval)


def laid_out_as_typed(ctx: Any, x: Value, mesh: Any, names: frozenset) -> Value:
    """A value that is no sum, constrained to be laid out as its type says before it becomes the terms of a sum along mesh axes.

    Where nothing says so of a parameter, such as an array that the program closes over, the compiler takes what each device has for its
    term, and the sum would be a multiple of the value.
    """
    if x.aval._split is not None:
        return constrain(ctx, x, x.aval)
    return constrained_so(ctx, x, sharding_on_mesh(ctx.module.meshes, mesh, PartitionSpec(), x.aval, is_open=True, replicated=names))


def _split_as(ctx: Any, x: Value, aval: ShapedArray) -> Value:
    """An operand of an elementwise operation, split as the result; a scalar beside an array is repeated."""
    if aval._split is None or x.aval.ndim and (x.aval.shape != aval.shape or x.aval._split in (None, aval._split)):
        return x
    if not aval.ndim:
        return x
    if x.aval.ndim:
        return constrain(ctx, x, x.aval.update(sharding=_split_beside(x.aval._split, aval._split)))
    return constrain(ctx, ctx.broadcast_to(x, aval.shape),
                     x.aval.update(shape=aval.shape, sharding=_split_beside(x.aval._split, aval._split)))


def _split_beside(split: TypeSharding | None, result: TypeSharding) -> TypeSharding:
    """The sharding of an operand beside a result of the given sharding; beside the terms of a sum, factors are whole."""
    if not result.spec.unreduced or split is not None and split.spec.unreduced:
        return result
    return result.update(result.spec.update(unreduced=frozenset()))
