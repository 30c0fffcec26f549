"""Batching: `vmap` as an interpreter.

A batch tracer holds an array with one extra axis and says which it is. Rules see plain values and the
positions of the batch axes. Unmapped values stay as they are.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Callable, Hashable, Sequence
from weakref import WeakKeyDictionary

from laminax_ir import config, source
from laminax_ir.avals import ShapedArray, get_aval, remove_axis
from laminax_ir.jaxpr import ClosedJaxpr, Jaxpr
from laminax_ir.ops.shape import broadcast_in_dim, expand_dims, transpose
from laminax_ir.trace import Trace, Tracer, check_for_leaks, current_trace, ended_afterwards, extend_axis_env, name_scope, state
from laminax_ir.type_shardings import in_use
from laminax_transforms.custom_rules import batch_custom_jvp, batch_custom_vjp
from laminax_transforms.explicit_batches import with_out_sharding
from laminax_transforms.mapped_refs import mapped_write_error
from laminax_transforms.registry import axis_primitives, batching_rules


@dataclass(frozen=True)
class Axis:
    """A mapped axis: its size, its name (None: nameless), and the mesh axes it is sharded over, if any."""
    size: int
    name: Hashable = None
    spmd_name: Hashable = None
    mesh_axes: Hashable = None  # the explicit mesh axes that it is split over, as an entry of a spec


class BatchTracer(Tracer):
    """A value with an extra axis; the aval it shows is that of one example."""

    __slots__ = ("value", "batch_axis", "_aval")

    def __init__(self, trace: BatchTrace, value: Any, batch_axis: int):
        self._trace = trace
        self.value = value
        self.batch_axis = batch_axis
        self._aval = None

    @property
    def aval(self) -> ShapedArray:  # type: ignore[override]
        aval = self._aval
        if aval is None:
            aval = self._aval = remove_axis(get_aval(self.value), self.batch_axis)
        return aval

    def origin(self) -> tuple[str, str]:
        return self.value.origin() if isinstance(self.value, Tracer) else ("", "")

    def __repr__(self):
        return f"VmapTracer(aval={self.aval}, batched={get_aval(self.value)})"


class BatchTrace(Trace):
    """Interprets operations over a batch.

    Args:
      parent: what interprets the operations on whole batches.
      axis: the mapped axis.
      name: what is being batched, for messages.
      mapping: what tracers of this trace have in common with those of others. A rule that the user gave to a function runs in a
        trace of its own, later and perhaps with another parent; what it closed over is mapped there as well.
    """

    __slots__ = ("parent", "axis", "mapping")

    is_recorded = True
    recording_key = property(operator.attrgetter("axis"))

    def __init__(self, parent: Trace, axis: Axis, name: str = "", mapping: object = None):
        super().__init__(name)
        self.parent = parent
        self.axis = axis
        self.mapping = object() if mapping is None else mapping

    def process(self, primitive, operands, params):
        values = []
        batch_axes = []
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
        if origin is None:  # the operations of the rule come from the line of this one; it is looked up once
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
        return [r if a is None else BatchTracer(self, r, a) for r, a in zip(result, axis)]

    def without_part(self, x: Any) -> Any | None:
        return None if type(x) is BatchTracer and x._trace.mapping is self.mapping else x

    def check_writes_ref(self, ref) -> None:
        raise self.ref_error(ref)

    def ref_error(self, ref):
        return mapped_write_error(ref)

    def split(self, x: Any) -> tuple[Any, int | None]:
        """Value and batch axis of anything."""
        if type(x) is BatchTracer and x._trace.mapping is self.mapping:
            return x.value, x.batch_axis
        return x, None

    def join(self, value: Any, batch_axis: int | None) -> Any:
        """A tracer for the value; the value itself when it is not mapped."""
        return value if batch_axis is None else BatchTracer(self, value, batch_axis)

    def process_custom_jvp(self, call):
        return self._process_custom(call, "process_custom_jvp")

    def process_custom_vjp(self, call):
        return self._process_custom(call, "process_custom_vjp")

    def _process_custom(self, call, method: str):
        pairs = [self.split(x) for x in call.operands]
        values, batch_axes = [v for v, _ in pairs], [b for _, b in pairs]
        batch_call = batch_custom_jvp if method == "process_custom_jvp" else batch_custom_vjp
        batched, results_batched = batch_call(call, self.axis, self.mapping, values, batch_axes)
        with current_trace(self.parent):
            results = getattr(self.parent, method)(batched)
        return [BatchTracer(self, r, 0) for r in results] if results_batched() else results


def names_axis(primitive, params: dict[str, Any]) -> bool:
    """Whether an operation depends on named axes: a collective, or a call of a program with one in it."""
    batching_rules.find(primitive)  # imports the family's rules, which say so
    if primitive in axis_primitives:
        return True
    return any(isinstance(item, (ClosedJaxpr, Jaxpr)) and _program_names_axis(item)
               for value in params.values() for item in (value if type(value) is tuple else (value,)))


def _program_names_axis(program: ClosedJaxpr | Jaxpr) -> bool:
    found = _naming_programs.get(program)
    if found is None:
        found = _naming_programs[program] = any(names_axis(eqn.primitive, eqn.params) for eqn in program.eqns)
    return found


_naming_programs: WeakKeyDictionary[ClosedJaxpr | Jaxpr, bool] = WeakKeyDictionary()


def batch_flat(fun: Callable[..., Sequence[Any]], axis: Axis, args: Sequence[Any], in_axes: Sequence[int | None],
               out_axes: Sequence[int | None] | None = None, name: str = "", mapping: object = None) -> tuple[list[Any], list[int | None]]:
    """Applies a flat function to a batch.

    Args:
      fun: the function of one example.
      axis: the mapped axis.
      args: values with the batch axis.
      in_axes: where it is in each, None for an argument shared by all examples.
      out_axes: where it must be in each result; as it comes by default.
      name: what is being batched, for messages: `vmap(f)`.
      mapping: that of the trace whose values the function may close over (see `BatchTrace`); a new one by default.

    Returns:
      The results and their batch axes.
    """
    trace = BatchTrace(state.trace, axis, name, mapping)
    with ended_afterwards(trace), extend_axis_env((axis.name, axis.size)), current_trace(trace), name_scope(source.VMAP):
        outputs = fun(*[trace.join(x, b) for x, b in zip(args, in_axes)])
        pairs = [trace.split(x) for x in outputs]
    if config.check_leaks.value:
        del outputs
        check_for_leaks(trace)
    if out_axes is None:
        return [v for v, _ in pairs], [b for _, b in pairs]
    return [move_batch_axis(v, b, want, axis.size, axis.mesh_axes) for (v, b), want in zip(pairs, out_axes)], list(out_axes)


def move_batch_axis(x: Any, batch_axis: int | None, target: int | None, size: int, mesh_axes: Hashable = None) -> Any:
    """Moves the batch axis to `target`, broadcasting a value that is not mapped; the new axis is split over the explicit mesh axes.

    Raises:
      ValueError: if a mapped value is to become unmapped.
    """
    if target is None:
        if batch_axis is not None:
            raise ValueError("a mapped value was to be returned unmapped")
        return x
    if batch_axis is None:
        x = broadcast_batch(x, size, target)
        if mesh_axes is not None:
            from laminax_transforms.explicit_batches import split_batch
            x = split_batch(x, target, mesh_axes)
        return x
    return move_axis(x, batch_axis, target)


def broadcast_batch(x: Any, size: int, axis: int) -> Any:
    """`x` repeated `size` times along a new axis."""
    shape = get_aval(x).shape
    axes = tuple(i for i in range(len(shape) + 1) if i != axis)
    return broadcast_in_dim(x, (*shape[:axis], size, *shape[axis:]), axes)


def move_axis(x: Any, source: int, target: int) -> Any:
    """`x` with one axis moved; itself when it is there already."""
    if source == target:
        return x
    order = [i for i in range(len(get_aval(x).shape)) if i != source]
    order.insert(target, source)
    return transpose(x, tuple(order))


def batch_axis_first(x: Any, batch_axis: int | None, size: int) -> Any:
    """`x` with the batch axis in front, broadcast if it has none: the normal form many rules start from."""
    return move_batch_axis(x, batch_axis, 0, size)


def batch_elementwise(primitive) -> Callable:
    """The batching rule of an elementwise operation on operands that broadcast against each other."""
    def rule(_axis, operands, batch_axes, params):
        if len(operands) == 1:
            return primitive.bind(operands[0], **params), batch_axes[0]
        first_shape = None
        aligned = True
        for x, b in zip(operands, batch_axes):  # the common case: all mapped alike, or scalars beside them
            if b is not None:
                if first_shape is None:
                    first_shape, axis = len(x.shape), b
                aligned = aligned and b == axis and len(x.shape) == first_shape
            else:
                aligned = aligned and not getattr(x, "shape", ())
        if aligned:
            return primitive.bind(*operands, **params), axis
        rank = max(len(get_aval(x).shape) - (b is not None) for x, b in zip(operands, batch_axes))
        return primitive.bind(*[align(x, b, rank) for x, b in zip(operands, batch_axes)], **params), 0
    return rule


def align(x: Any, batch_axis: int | None, rank: int) -> Any:
    """Batch axis in front and `rank` axes behind it; scalars that are not mapped stay scalars."""
    shape = get_aval(x).shape
    if batch_axis is None:
        return expand_dims(x, (0,)) if shape else x
    x = move_axis(x, batch_axis, 0)
    missing = rank - (len(shape) - 1)
    return expand_dims(x, tuple(range(1, 1 + missing))) if missing else x
