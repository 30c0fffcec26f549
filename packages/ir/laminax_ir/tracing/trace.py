"""Traces and tracers: who interprets an operation.

One trace is current in each thread. `Primitive.bind` hands its operands to it, and the trace decides
what the operation means: evaluate it, record it, differentiate it, batch it. Every transformation is a
trace with a parent; it does its part and binds what is left in the parent. The state of a thread (`_State`)
is the current trace, the sizes of the named axes, the name stack, and the source position that transposed
equations inherit; what programs depend on besides is in `laminax_ir.options.ambient`.
"""

from __future__ import annotations

import operator
import threading
from threading import get_ident
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Hashable, NoReturn, Sequence

from laminax_ir.options.composition import compose
from laminax_ir.options.restoring import Restoring
from laminax_ir.tracing.name_stacks import NameStack, no_names
from laminax_ir.tracing.trace_interface import TraceInterface
from laminax_ir.types.avals import ShapedArray, get_aval, register_value_type
from laminax_ir.types.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnboundAxisNameError,
)
from laminax_ir.types.hi_types import HiType, ValueAttribute
from laminax_ir.types.python_scalars import check_has_truth_value, check_is_index, check_is_scalar

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


class Trace(TraceInterface):
    """An interpreter of operations. Those of laminax define `process`, those of users `process_primitive` (see `trace_interface`).

    Args:
      name: what is being traced, for messages: `grad(loss)`.
      argument_names: what messages call the inputs, `["x['w']", ...]`, or a function from an index to that.
    """

    __slots__ = ("name", "argument_names", "__weakref__")

    records_tangents = False  # whether it passes operations without tangents on to its parent
    is_recorded = False  # whether equations can be copied through it (see `recordings`)
    recording_key: Any = None  # these equations depend on it; None: they are the parent's. With a key, it has `split` and `join`
    keeps_stashes = False  # whether operations that only stash references are interpreted by `process_stashes`
    records_refs = False  # whether operations on references are recorded, with `record_new_ref` and `record_ref`

    parent: Trace  # interprets the operations that this trace passes on; the bottom trace has none

    def __init__(self, name: str = "", argument_names: Sequence[str] | Callable[[int], str] | None = None) -> None:
        self.ended = False
        self.name: str = name
        self.argument_names: Sequence[str] | Callable[[int], str] | None = argument_names

    @property
    def main(self) -> Trace:
        """The object that is equal for all tracers of one transformation: the trace itself."""
        return self

    def argument_name(self, index: int) -> str:
        """The name of an argument, `x['w']`; empty where it is not known."""
        names = self.argument_names
        return "" if names is None else names(index) if callable(names) else names[index]

    def describe_argument(self, index: int) -> str:
        """`argument x['w'] of grad(loss)`, with as much of it as is known."""
        name = self.argument_name(index)
        return (f"argument {name}" if name else "an argument") + (f" of {self.name}" if self.name else "")

    @property
    def known_as(self) -> str:
        """The kind of the trace in messages about leaks."""
        return type(self).__name__

    @property
    def is_users(self) -> bool:
        """Whether a user wrote the trace, and so derived it from this class itself."""
        return type(self).process is Trace.process

    def process(self, primitive: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        """Interprets one operation; returns its result, or the list of them if it has several.

        This is what users' traces do. Meanwhile values are computed: an interpreter says itself which trace is to be current.
        """
        with current_trace(eval_trace):
            result = primitive.bind_with_trace(self, operands, [*map(get_aval, operands)], params)
            return list(result) if primitive.multiple_results else result

    def _under_itself(self, process: Callable[..., Any], *args: Any) -> Any:
        with current_trace(self):
            return process(*args)

    def constant(self, value: Any) -> Any:
        """An array as a value of the program that is recorded, if one is."""
        return self.stage_value(value) if self.is_users else self.parent.constant(value)

    def record_new_ref(self, value: Any, aval: Any) -> Any:
        """Records that a reference is made, and returns it: for traces that record references."""
        raise NotImplementedError

    def record_ref(self, operation: str, ref: Any, places: tuple[Any, ...], value: Any = None) -> Any:
        """Records `get`, `swap`, `addupdate` or `freeze` of a reference: for traces that record references."""
        raise NotImplementedError

    def home_of_ref(self, value: Any) -> Trace:
        """The trace where a reference lives that is made under this one, with `value` in it (see `refs`)."""
        return self

    def without_part(self, x: Any) -> Any | None:
        """The value as the parent trace has it; None if it belongs to this trace, which has more of it, such as a tangent."""
        return None if isinstance(x, Tracer) and x._trace is self else x

    def process_stashes(self, rule: Any, operands: Any, params: Any, places: Any) -> Any:
        """Applies a discharge rule to an operation that only stashes the references at some places; asked where `keeps_stashes`."""
        return rule(operands, params)

    def check_writes_ref(self, ref: Any, adds: bool) -> None:
        """Raises where a function under this trace must not write to a reference that lives outside of it."""

    def ref_error(self, ref: Any, adds: bool) -> Exception:
        """The error for a value of this trace that is written, or added, to a reference which lives outside of the trace."""
        return NotImplementedError(f"a value traced by {self.name or type(self).__name__} is written to a reference of type {ref.aval} "
                                   "that was made outside of it, which is not supported. Make the reference in the traced function.")

    def process_custom_jvp(self, call: Any) -> Any:
        """Interprets a call with a derivative rule of its own (see `ops.calls.CustomJVPCall`)."""
        with current_trace(eval_trace):
            return list(call.process_by(self))

    def process_custom_vjp(self, call: Any) -> Any:
        """Interprets a call with a reverse rule of its own (see `ops.calls.CustomVJPCall`)."""
        with current_trace(eval_trace):
            return list(call.process_by(self))


class EvalTrace(Trace):
    """The bottom of the stack: computes values.

    `laminax_ir.setup` installs the NumPy reference as the evaluator, and a runtime its own in its place.
    """

    __slots__ = ("evaluate",)

    def __init__(self) -> None:
        super().__init__()
        self.evaluate: Callable[..., Any] = _first_evaluation

    def process(self, primitive: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        return self.evaluate(primitive, operands, params)

    def constant(self, value: Any) -> Any:
        return value

    def process_custom_jvp(self, call: Any) -> Any:
        return call.call_primal()

    def process_custom_vjp(self, call: Any) -> Any:
        return call.call_primal()


class ConstantFoldingTrace(Trace):
    """Computes at once what depends on no tracer; all else is for the trace that was current before."""

    __slots__ = ("parent",)

    def __init__(self, parent: Trace) -> None:
        super().__init__()
        self.parent = parent

    def process(self, primitive: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        trace = self.parent if any(isinstance(x, Tracer) for x in operands) else eval_trace
        with current_trace(trace):
            return trace.process(primitive, operands, params)

    def constant(self, value: Any) -> Any:
        return value

    def home_of_ref(self, value: Any) -> Trace:
        return self.parent.home_of_ref(value) if isinstance(value, Tracer) else eval_trace

    def process_custom_jvp(self, call: Any) -> Any:
        return self._process_custom(call, "process_custom_jvp")

    def process_custom_vjp(self, call: Any) -> Any:
        return self._process_custom(call, "process_custom_vjp")

    def _process_custom(self, call: Any, method: str) -> Any:
        trace = self.parent if any(isinstance(x, Tracer) for x in call.operands) else eval_trace
        with current_trace(trace):
            return getattr(trace, method)(call)


def _first_evaluation(primitive: Any, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    compose()  # installs an evaluator in this one's place
    return eval_trace.evaluate(primitive, operands, params)


eval_trace = EvalTrace()


def set_evaluator(evaluate: Callable[[Any, Sequence[Any], dict[str, Any]], Any]) -> None:
    """Registers the function that computes one operation on values, `evaluate(primitive, operands, params)`, in place of an earlier one."""
    eval_trace.evaluate = evaluate


class _State(threading.local):
    trace: Trace = eval_trace
    axis_sizes: dict[Any, int] = {}
    source: Any = None  # a `SourceInfo` that overrides the user's frame, for equations made on behalf of an earlier one
    name_stack: NameStack = no_names


state = _State()

# The threads that are not evaluating. While it is empty nothing is traced anywhere: this is faster to test than `state`.
tracing_threads: set[int] = set()

_tracing_hook: Callable[[bool], None] | None = None


def set_tracing_hook(hook: Callable[[bool], None]) -> None:
    """Registers `hook(is_tracing)`, called when a thread starts and stops interpreting operations abstractly.

    The runtime uses it to keep its C++ dispatch, which knows nothing of traces, out of the way.
    """
    global _tracing_hook
    _tracing_hook = hook


def _note(is_tracing: bool) -> None:
    """Notes that this thread interprets operations from now on, or evaluates them again."""
    (tracing_threads.add if is_tracing else tracing_threads.discard)(get_ident())
    if _tracing_hook is not None:
        _tracing_hook(is_tracing)


class current_trace(Restoring):
    """Context manager: makes `trace` current in this thread."""

    __slots__ = ("trace",)

    def __init__(self, trace: Trace) -> None:
        self._saved = []
        self.trace: Trace = trace

    def _recreate_cm(self) -> current_trace:
        return current_trace(self.trace)

    def _present(self) -> Trace:
        return state.trace

    def _change(self) -> Trace | None:
        before, state.trace = state.trace, self.trace
        if (before is eval_trace) != (self.trace is eval_trace):
            _note(before is eval_trace)
        return self.trace

    def _put_back(self, before: Trace) -> None:
        state.trace = before
        if (before is eval_trace) != (self.trace is eval_trace):
            _note(before is not eval_trace)


class at_work(Restoring):
    """Context manager for the life of a trace: it is current inside, and has ended afterwards, also when the traced function raises.

    Args:
      trace: the trace.
      scope: a further name in the name stack of the operations made inside.
      axes: named axes of the collectives inside, and their sizes.
    """

    __slots__ = ("trace", "scope", "axes")

    def __init__(self, trace: Trace, scope: str | None = None, axes: Sequence[tuple[Any, int]] = ()) -> None:
        self._saved = []
        self.trace, self.scope, self.axes = trace, scope, axes

    def _recreate_cm(self) -> at_work:
        return at_work(self.trace, self.scope, self.axes)

    def __enter__(self) -> Trace:  # in one function, since every program that is staged comes here; `with` has its way back already
        before, names = state.trace, state.name_stack
        self._saved.append((before, names, state.axis_sizes if self.axes else None))
        if self.scope is not None:
            state.name_stack = NameStack((*names, self.scope))
        if self.axes:
            state.axis_sizes = _with_axes(self.axes)
        state.trace = self.trace
        if before is eval_trace:
            _note(True)
        return self.trace

    def _put_back(self, before: tuple[Trace, NameStack, dict[Any, int] | None]) -> None:
        self.trace.ended = True
        state.trace, state.name_stack, axis_sizes = before
        if axis_sizes is not None:
            state.axis_sizes = axis_sizes
        if before[0] is eval_trace:
            _note(False)


def is_tracing() -> bool:
    """Whether operations are being interpreted by anything but plain evaluation."""
    return state.trace is not eval_trace


class axis_env(Restoring):
    """Context manager: the named axes for the collectives inside are these alone, whichever there are around it."""

    __slots__ = ("_sizes",)

    def __init__(self, sizes: dict[Any, int]) -> None:
        self._saved = []
        self._sizes = sizes

    def _recreate_cm(self) -> axis_env:
        return axis_env(self._sizes)

    def _present(self) -> dict[Any, int]:
        return state.axis_sizes

    def _change(self) -> None:
        state.axis_sizes = self._sizes

    def _put_back(self, before: dict[Any, int]) -> None:
        state.axis_sizes = before


class extend_axis_env(axis_env):
    """Context manager: binds named axes to sizes for the collectives inside, beside those that there are."""

    __slots__ = ("_axes",)

    def __init__(self, *axes: tuple[Any, int]) -> None:
        super().__init__({})
        self._axes = axes

    def _recreate_cm(self) -> extend_axis_env:
        return extend_axis_env(*self._axes)

    def _change(self) -> None:
        state.axis_sizes = _with_axes(self._axes)


def _with_axes(axes: Sequence[tuple[Any, int]]) -> dict[Any, int]:
    return {**state.axis_sizes, **{name: size for name, size in axes if name is not None}}


def axis_size(name: Hashable, function: str = "it") -> int:
    """The size of a named axis.

    Args:
      name: the axis' name.
      function: what the user called along it, for the message.

    Raises:
      UnboundAxisNameError: if no enclosing transformation defines the name.
    """
    try:
        return state.axis_sizes[name]
    except KeyError:
        known = ", ".join(map(repr, state.axis_sizes)) or "none"
        raise UnboundAxisNameError(
            f"Found an unbound axis name: {name}. To fix this, please call {function} under `laminax.shard_map` along that axis, "
            f"or give vmap or pmap axis_name={name!r} around this call. The named axes here are: {known}.") from None


class name_scope(Restoring):
    """Context manager: adds a name to the operations made inside; it shows in the compiler's metadata."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._saved = []
        self._name = name

    def _recreate_cm(self) -> name_scope:
        return name_scope(self._name)

    def _present(self) -> NameStack:
        return state.name_stack

    def _change(self) -> None:
        state.name_stack = NameStack((*state.name_stack, self._name))

    def _put_back(self, before: NameStack) -> None:
        state.name_stack = before


class Tracer:
    """A value that a trace stands in for: it has an aval, and no data.

    The arithmetic operators are installed by `laminax_ir.functions.operators`, the rest of the array methods by the
    api package.
    """

    __slots__ = ("_trace", "aval", "__weakref__")
    __array_priority__ = 1000
    __hash__: ClassVar[None] = None  # type: ignore[assignment]
    carries_derivative: ClassVar[bool] = False  # whether the value alone is less than what is traced

    _trace: Trace  # `trace` is an array method
    aval: ShapedArray

    def __init__(self, trace: Trace, aval: ShapedArray) -> None:
        self._trace = trace
        self.aval = aval

    # Rules ask for these several times per operation; a property without Python code costs half as much.
    shape: property = property(operator.attrgetter("aval.shape"), doc="Sizes of the axes.")
    dtype: property = property(operator.attrgetter("aval.dtype"), doc="The dtype of the elements.")
    ndim: property = property(operator.attrgetter("aval.ndim"), doc="The number of axes.")
    size: property = property(operator.attrgetter("aval.size"), doc="The number of elements.")
    weak_type: property = property(operator.attrgetter("aval.weak_type"), doc="Whether the dtype yields to that of other operands.")
    mat: property = property(operator.attrgetter("aval.mat"), doc="How it differs from device to device inside of shard_map.")

    def __getattr__(self, name: str) -> Any:
        aval = object.__getattribute__(self, "aval")
        if not isinstance(aval, HiType):
            return object.__getattribute__(self, name)  # once more, for the error
        found = getattr(aval, name)
        return found.of(self) if isinstance(found, ValueAttribute) else found

    def concrete_value(self) -> Any:
        """The concrete array behind this tracer, or None when there is none yet."""
        return None

    def demanded_value(self) -> Any:
        """The concrete value for a caller that fails without one: a trace may compute it now (see `StagingTrace.demanded_value_of`)."""
        return self.concrete_value()

    def origin(self) -> tuple[str, str]:
        """The origin of the value, `made by sin` or `argument x of f`, and where it was made, for messages; empty where unknown."""
        return "", ""

    def why_unknown(self) -> str:
        """Why there is no concrete value, in a sentence for messages."""
        return "Its value is not known while the function is traced."

    def describe_origin(self) -> str:
        """`made by sin at model.py:12 in layer`, or as much of it as is known."""
        what, where = self.origin()
        return (what or "made") + f" at {where}" if where else what

    @property
    def sharding(self) -> Any:
        raise AttributeError(f"A traced value, of type {self.aval.str_short()}, has no attribute 'sharding': how it is split over devices "
                             "is known when the program runs. typeof(x).sharding says how it is split over explicit mesh axes.")

    def __len__(self) -> int:
        return len(self.aval)

    def __bool__(self) -> bool:
        check_has_truth_value(self.aval)
        return bool(self._concretize(TracerBoolConversionError, "Attempted boolean conversion of", _BOOL_HINT))

    def __int__(self) -> int:
        return self._python_scalar(int)

    def __float__(self) -> float:
        return self._python_scalar(float)

    def __complex__(self) -> complex:
        return self._python_scalar(complex)

    def _python_scalar(self, kind: type[Any]) -> Any:
        check_is_scalar(self.aval)
        expected = "Abstract tracer value encountered where concrete value is expected:"
        if self.carries_derivative and kind is not int:
            raise ConcretizationTypeError(
                f"{expected} {self._traced_array()} {kind.__name__}() of it would leave its derivative out. Use the functions of "
                "laminax.numpy where those of math or of Python are used, or lax.stop_gradient(x) where the derivative shall be left out.")
        return kind(self._concretize(ConcretizationTypeError, expected,
                                     _STATIC_HINT + f" To change the dtype of an array, try using `x.astype({kind.__name__})`."))

    def __index__(self) -> int:
        check_is_index(self.aval)
        return operator.index(self._concretize(TracerIntegerConversionError, "The __index__() method was called on", _STATIC_HINT))

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TracerArrayConversionError(
            f"The numpy.ndarray conversion method __array__() was called on {self._traced_array()} {self.why_unknown()} "
            "Use the laminax.numpy function of the same name inside traced code, or move the NumPy call outside.")

    def _concretize(self, error: type[Exception], what: str, hint: str) -> Array:
        value = self.demanded_value()
        if value is None:
            raise error(f"{what} {self._traced_array()} {self.why_unknown()} {hint}")
        return value

    def _traced_array(self) -> str:
        """The traced array and its origin: two sentences of a message."""
        origin = self.describe_origin()
        return f"traced array with shape {self.aval.str_short()}." + (f"\nIt is {origin}." if origin else "")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval})"

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __deepcopy__(self, memo: dict[int, list[Any]]) -> Tracer:
        return self

    def __copy__(self) -> Tracer:
        return self

    def __reduce__(self) -> NoReturn:
        self._concretize(ConcretizationTypeError,
                         "Abstract tracer value encountered where concrete value is expected: pickling was asked of",
                         "Pickle the array that the transformed function returns.")
        raise TypeError(f"cannot pickle {self!r}, which belongs to a trace of this process; pickle the array that the function returns")


_BOOL_HINT = ("Use where, lax.cond or lax.select instead of Python control flow, or mark the argument that decides as static "
              "(static_argnums).")
_STATIC_HINT = "Mark the argument it comes from as static (static_argnums), or keep the computation in array operations."

register_value_type(Tracer, operator.attrgetter("aval"))
