"""Batching: `vmap` as an interpreter.

A batch tracer holds an array with one extra axis, the batch axis, and its position. Rules see plain arrays and the positions of
their batch axes. Unmapped values stay as they are.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops.calls import CustomJVPCall, CustomVJPCall
from laminax_ir.options import config
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.tracing import source
from laminax_ir.tracing.leaks import check_for_leaks
from laminax_ir.tracing.name_stacks import VMAP
from laminax_ir.tracing.trace import Trace, Tracer, at_work, current_trace, state
from laminax_ir.types.avals import ShapedArray, get_aval, remove_axis
from laminax_ir.types.hi_types import HiType, types_in_use
from laminax_ir.types.type_shardings import in_use
from laminax_transforms.base.registry import batching_rules, is_asked_unmapped
from laminax_transforms.batching.batch_axes import Axis, move_batch_axis, with_specs
from laminax_transforms.batching.custom_batches import BatchFunction, batch_custom_jvp, batch_custom_vjp
from laminax_transforms.batching.explicit_batches import with_out_sharding
from laminax_transforms.batching.mapped_refs import mapped_write_error

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


class BatchTracer(Tracer):
    """A value with an extra axis; the aval it shows is that of one example."""

    __slots__ = ("value", "batch_axis", "_aval")
    _trace: BatchTrace

    def __init__(self, trace: BatchTrace, value: ArrayLike, batch_axis: int) -> None:
        self._trace = trace
        self.value: ArrayLike = value
        self.batch_axis: int = batch_axis
        self._aval: ShapedArray | None = None

    @property
    def aval(self) -> ShapedArray:  # type: ignore[override]
        aval = self._aval
        if aval is None:
            aval = get_aval(self.value)
            aval = self._aval = (aval.dec_rank(self._trace.axis.size, self.batch_axis) if isinstance(aval, HiType) else
                                 remove_axis(aval, self.batch_axis))
        return aval

    def origin(self) -> tuple[str, str]:
        return self.value.origin() if isinstance(self.value, Tracer) else ("", "")

    def __repr__(self) -> str:
        return f"VmapTracer(aval={self.aval}, batched={get_aval(self.value)})"


class BatchTrace(Trace):
    """Interprets operations over a batch.

    Args:
      parent: the trace that interprets the operations on whole batches.
      axis: the mapped axis.
      name: what is being batched, for messages.
      mapping: identifies the transformation, so that its traces know each other's tracers. A rule that the user gave to a function
        runs later, in a trace of its own and perhaps with another parent; the tracers it closed over are mapped there as well.
    """

    __slots__ = ("parent", "axis", "mapping")

    is_recorded = True
    recording_key: Any = property(operator.attrgetter("axis"))

    def __init__(self, parent: Trace, axis: Axis, name: str = "", mapping: object = None) -> None:
        super().__init__(name)
        self.parent: Trace = parent
        self.axis: Axis = axis
        self.mapping: object = object() if mapping is None else mapping

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        values = []
        batch_axes: list[int | None] = []
        mapped = False
        for x in operands:
            if type(x) is BatchTracer and (x._trace is self or x._trace.mapping is self.mapping):
                values.append(x.value)
                batch_axes.append(x.batch_axis)
                mapped = True
            else:
                values.append(x)
                batch_axes.append(None)
        if not mapped and (self.axis.name is None or not names_axis(primitive, params)):
            return self.parent.process(primitive, operands, params)
        rule = batching_rules[primitive]
        previous, origin = state.trace, state.source
        state.trace = self.parent
        if origin is None:  # the operations of the rule get the source line of this operation, which is looked up once
            state.source = source.current()
        try:
            if in_use:
                rule = with_out_sharding(rule)
            result, axis = rule(self.axis, values, batch_axes, params)
        finally:
            state.trace = previous
            state.source = origin
        if not primitive.multiple_results:
            return result if axis is None else BatchTracer(self, result, axis)
        if types_in_use():
            axis = with_specs(result, axis)
        return [r if a is None else BatchTracer(self, r, a) for r, a in zip(result, axis)]

    def without_part(self, x: Any) -> Any | None:
        return None if type(x) is BatchTracer and x._trace.mapping is self.mapping else x

    def check_writes_ref(self, ref: Any, adds: bool) -> None:
        raise self.ref_error(ref, adds)

    def ref_error(self, ref: Any, adds: bool) -> Any:
        return mapped_write_error(ref, adds)

    def split(self, x: Any) -> tuple[Any, int | None]:
        """The array and the batch axis of any value; the axis is None if the value is not mapped."""
        if type(x) is BatchTracer and x._trace.mapping is self.mapping:
            return x.value, x.batch_axis
        return x, None

    def join(self, value: Any, batch_axis: int | None) -> Any:
        """A tracer for the value; the value itself when it is not mapped."""
        return value if batch_axis is None else BatchTracer(self, value, batch_axis)

    def process_custom_jvp(self, call: CustomJVPCall) -> list[Any]:
        values, batch_axes = self._split_all(call.operands)
        batched, results_batched = batch_custom_jvp(call, over_axis(self.axis, self.mapping), self.axis.size, values, batch_axes)
        with current_trace(self.parent):
            results = self.parent.process_custom_jvp(batched)
        return self._join_all(results, results_batched())

    def process_custom_vjp(self, call: CustomVJPCall) -> list[Any]:
        if call.has_ref_of(self):
            return call.bind_without_refs()
        values, batch_axes = self._split_all(call.operands)
        batched, results_batched = batch_custom_vjp(call, over_axis(self.axis, self.mapping), self.axis.size, values, batch_axes)
        with current_trace(self.parent):
            results = self.parent.process_custom_vjp(batched)
        return self._join_all(results, results_batched())

    def _split_all(self, operands: Sequence[Any]) -> tuple[list[Any], list[int | None]]:
        pairs = [self.split(x) for x in operands]
        return [v for v, _ in pairs], [b for _, b in pairs]

    def _join_all(self, results: Sequence[Any], is_batched: bool) -> list[Any]:
        if not is_batched:
            return list(results)
        axes = [0] * len(results)
        return [*map(self.join, results, with_specs(results, axes) if types_in_use() else axes)]


def names_axis(primitive: Primitive, params: dict[str, Any]) -> bool:
    """Whether an operation depends on named axes: a collective, or a call of a program with one in it."""
    if is_asked_unmapped(primitive):
        return True
    return any(isinstance(item, (ClosedJaxpr, Jaxpr)) and _program_names_axis(item)
               for value in params.values() for item in (value if type(value) is tuple else (value,)))


def _program_names_axis(program: ClosedJaxpr | Jaxpr) -> bool:
    if isinstance(program, Jaxpr):  # only operations of users have open jaxprs as parameters
        return any(names_axis(eqn.primitive, eqn.params) for eqn in program.eqns)
    found = program.derived.get(_NAMES_AXIS)
    return program.remember(_NAMES_AXIS, _program_names_axis(program.jaxpr)) if found is None else found


_NAMES_AXIS = ("names an axis",)


def batch_flat(fun: Callable[..., Sequence[Any]], axis: Axis, args: Sequence[Any], in_axes: Sequence[int | None],
               out_axes: Sequence[int | None] | None = None, name: str = "", mapping: object = None) -> tuple[list[Any], list[int | None]]:
    """Applies a flat function to a batch.

    Args:
      fun: the function of one example.
      axis: the mapped axis.
      args: values with the batch axis.
      in_axes: the batch axis of each argument, None for an argument shared by all examples.
      out_axes: the batch axis that each result must have; by default the one that the rules give it.
      name: what is being batched, for messages: `vmap(f)`.
      mapping: the mapping of the trace whose values the function may close over (see `BatchTrace`); a new one by default.

    Returns:
      The results and their batch axes.
    """
    trace = BatchTrace(state.trace, axis, name, mapping)
    if types_in_use():
        in_axes = with_specs(args, in_axes)
    with at_work(trace, VMAP, ((axis.name, axis.size),)):
        outputs = fun(*[trace.join(x, b) for x, b in zip(args, in_axes)])
        pairs = [trace.split(x) for x in outputs]
    if config.check_leaks.value:
        del outputs
        check_for_leaks(trace)
    if out_axes is None:
        return [v for v, _ in pairs], [b for _, b in pairs]
    return [move_batch_axis(v, b, want, axis.size, axis.mesh_axes) for (v, b), want in zip(pairs, out_axes)], list(out_axes)


def over_axis(axis: Axis, mapping: object = None) -> BatchFunction:
    """A function that batches flat functions over one axis, by `batch_flat`; `mapping` as for `batch_flat`."""
    def batch(fun: Callable[..., Sequence[Any]], args: Sequence[Any], in_axes: Sequence[int | None]) -> tuple[list[Any], list[int | None]]:
        return batch_flat(fun, axis, args, in_axes, mapping=mapping)
    return batch
