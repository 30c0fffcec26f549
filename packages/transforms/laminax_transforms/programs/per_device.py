"""What is saved of a program per device: one value for each device, which gets a new first axis outside of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops.shape import reshape
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.manual_axes import running_along
from laminax_ir.tracing.trace import state
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.type_shardings import names_of
from laminax_transforms.base.derived_programs import cached_by_jaxpr
from laminax_transforms.batching.batching import BatchTrace

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


def axes_of(params: dict[str, Any]) -> Any:
    """A context in which the named axes of the program are bound."""
    return running_along([(name, params["mesh"].shape[name]) for name in params["manual_axes"]], params["check_vma"], params["mesh"],
                         params.get("unchecked_axes", ()))


def _unchecked(params: dict[str, Any]) -> tuple:
    """The axes along which the types in the program do not record whether values vary."""
    return params.get("unchecked_axes", ()) if params["check_vma"] else params["manual_axes"]


def unchecked_here(params: dict[str, Any]) -> tuple:
    """The axes along which values may vary without a record of it in their types.

    A `vmap` around this may share its batch among the devices along some axes. Values vary along these because of the `vmap` alone (see
    `rules.shard_map`): the program here is that of one example, which all of these devices have.
    """
    shared: set[Any] = set()
    trace: Any = state.trace
    while trace is not None:
        if isinstance(trace, BatchTrace):
            shared.update(names_of(trace.axis.spmd_name))
        trace = getattr(trace, "parent", None)
    return tuple(name for name in _unchecked(params) if name not in shared)


def residual_spec(aval: ShapedArray, manual_axes: Sequence[Any], unchecked: Sequence[Any]) -> PartitionSpec:
    """How a residual, with its new first axis, is split: along the axes along which it may vary; sums that are open stay so."""
    unreduced, reduced = aval.mat.unreduced, aval.mat.reduced
    own = frozenset(manual_axes)
    return PartitionSpec(tuple(name for name in manual_axes if name in unchecked or name in aval.named_shape),
                         unreduced=unreduced & own, reduced=reduced & own)


@cached_by_jaxpr
def with_axis_on_results(closed: ClosedJaxpr, first: int) -> ClosedJaxpr:
    """The program with an axis of size 1 in front of the results from number `first` on."""
    def fun(*args: ArrayLike) -> list[Any]:
        results = eval_jaxpr(closed.jaxpr, closed.consts, *args)
        return [*results[:first], *(reshape(r, (1, *get_aval(r).shape)) for r in results[first:])]

    return stage(fun, closed.in_avals, closed.jaxpr.debug_info)


@cached_by_jaxpr
def without_axis_on_operands(closed: ClosedJaxpr, which: tuple[bool, ...]) -> ClosedJaxpr:
    """The program whose marked operands (flags for the first operands) have an axis of size 1 in front."""
    def fun(*args: ArrayLike) -> Any:
        plain = [reshape(x, get_aval(x).shape[1:]) if has_axis else x for x, has_axis in zip(args, which)]
        return eval_jaxpr(closed.jaxpr, closed.consts, *plain, *args[len(which):])

    avals = [aval.update(shape=(1, *aval.shape)) if has_axis else aval for aval, has_axis in zip(closed.in_avals, which)]
    return stage(fun, [*avals, *closed.in_avals[len(which):]], closed.jaxpr.debug_info)
