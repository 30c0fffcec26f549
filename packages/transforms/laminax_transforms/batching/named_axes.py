"""Which values vary along a named axis of devices, under `pmap`.

`reduce_axes` sums the cotangents of values that are shared along an axis (see `ops.collectives.psum_shared`). Under `vmap` a tracer
tells whether its value is shared. For an axis of devices the program is followed from its inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Hashable, Iterable, Sequence

from laminax_ir.ops import collectives as op
from laminax_ir.ops.calls import checkpoint_p, jit_p
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import Trace, Tracer, at_work, current_trace, state
from laminax_ir.types.arguments import check_hashable
from laminax_ir.types.avals import get_aval

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def checked_reduce_axes(transform: str, reduce_axes: Any) -> tuple[Hashable, ...]:
    """The names of axes that a user gave as `reduce_axes`.

    Raises:
      TypeError: if `reduce_axes` is no sequence of names, such as one name alone.
    """
    if isinstance(reduce_axes, str) or not isinstance(reduce_axes, Iterable):
        raise TypeError(f"{transform}: reduce_axes must be a sequence of axis names, such as ('batch',); got {reduce_axes!r} of type "
                        f"{type(reduce_axes).__name__}. Put a single name into a tuple.")
    check_hashable(transform, "a name in reduce_axes", *reduce_axes)
    return tuple(reduce_axes)


class _VaryingTracer(Tracer):
    """A value that is not the same for all participants."""

    __slots__ = ("value",)

    def __init__(self, trace: _VaryingTrace, value: ArrayLike) -> None:
        self._trace = trace
        self.value = value
        self.aval = get_aval(value)


class _VaryingTrace(Trace):
    """Follows which values vary along one axis."""

    __slots__ = ("parent", "axis_name")

    def __init__(self, parent: Trace, axis_name: Hashable) -> None:
        super().__init__()
        self.parent = parent
        self.axis_name = axis_name

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        varies = [type(x) is _VaryingTracer and x._trace is self for x in operands]
        values = [x.value if v else x for x, v in zip(operands, varies)]
        if primitive in (jit_p, checkpoint_p) and _contains_shared_sum(params["jaxpr"]):
            return eval_jaxpr(params["jaxpr"].jaxpr, params["jaxpr"].consts, *operands)
        if primitive is op.psum_shared_p and self.axis_name in params["axes"]:
            return self._shared_sum(values, varies, params["axes"])
        if _contains_any_shared_sum(params):
            raise NotImplementedError(f"reduce_axes={self.axis_name!r} inside of {primitive} is not supported for an axis of "
                                      "devices; apply grad outside of it, or psum the gradient")
        result = self._bind(primitive, values, params)
        if not self._result_varies(primitive, varies, params):
            return result
        return [_VaryingTracer(self, r) for r in result] if primitive.multiple_results else _VaryingTracer(self, result)

    def _bind(self, primitive: Primitive, values: Sequence[ArrayLike], params: dict[str, Any]) -> Array:
        with current_trace(self.parent):
            return primitive.bind(*values, **params)

    def _shared_sum(self, values: Sequence[ArrayLike], varies: Sequence[bool], axes: Sequence[int]) -> Array:
        x, like = values
        rest = tuple(name for name in axes if name != self.axis_name)
        x_varies, like_varies = varies
        if x_varies and not like_varies:
            x, x_varies = self._bind(op.psum_p, [x], {"axes": (self.axis_name,), "axis_index_groups": None}), False
        if rest:
            x = self._bind(op.psum_shared_p, [x, like], {"axes": rest})
        return _VaryingTracer(self, x) if x_varies else x

    def _result_varies(self, primitive: Primitive, varies: Sequence[bool], params: dict[str, Any]) -> bool:
        """Reductions and gathers over the whole axis give all participants the same result; the other collectives do not."""
        named = params.get("axes") if primitive in _REDUCTIONS else params.get("axis_name")
        is_over_axis = primitive in _COLLECTIVES and self.axis_name in op.axis_names(named)
        if not is_over_axis:
            return any(varies)
        return primitive not in (*_REDUCTIONS, op.all_gather_p) or params["axis_index_groups"] is not None

    def process_custom_jvp(self, call: Any) -> Any:
        return call.call_primal()

    def process_custom_vjp(self, call: Any) -> Any:
        return call.call_primal()


_REDUCTIONS = (op.psum_p, op.pmax_p, op.pmin_p)
_COLLECTIVES = (*_REDUCTIONS, op.all_gather_p, op.reduce_scatter_p, op.all_to_all_p, op.ppermute_p, op.axis_index_p)


def _contains_shared_sum(closed: ClosedJaxpr) -> bool:
    return any(eqn.primitive is op.psum_shared_p or _contains_any_shared_sum(eqn.params) for eqn in closed.eqns)


def _contains_any_shared_sum(params: dict[str, Any]) -> bool:
    return any(isinstance(item, ClosedJaxpr) and _contains_shared_sum(item)
               for value in params.values() for item in (value if type(value) is tuple else (value,)))


def resolve_shared_sums(closed: ClosedJaxpr, axis_name: Hashable, varies: Sequence[bool]) -> ClosedJaxpr:
    """The program with each sum over what is shared along an axis written as `psum`, or left out.

    Args:
      closed: the program of one participant; the axis must be bound (`extend_axis_env`).
      axis_name: the axis.
      varies: for each parameter, whether its value differs between participants.

    Returns:
      The same program if there is no such sum in it.

    Raises:
      NotImplementedError: if there is such a sum inside of a loop or branch.
    """
    if not _contains_shared_sum(closed):
        return closed

    def fun(*args: Any) -> list[Any]:
        trace = _VaryingTrace(state.trace, axis_name)
        with at_work(trace):
            inputs = [_VaryingTracer(trace, x) if v else x for x, v in zip(args, varies)]
            results = eval_jaxpr(closed.jaxpr, closed.consts, *inputs)
        return [x.value if type(x) is _VaryingTracer and x._trace is trace else x for x in results]

    return stage(fun, closed.in_avals, closed.jaxpr.debug_info)
