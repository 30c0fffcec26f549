"""Array references: boxes for arrays that operations read and write.

A reference lives in one trace, where its value is known: an array outside of traces, a tracer of the transformation at
work. Reading and writing go from the current trace outwards to the one where the reference lives; a trace that is on
the way must not have a part in what is written. While a program is recorded, operations on references are equations
(`ops.state`), and a reference is a variable of the type `Ref{f32[3]}`; `discharge` turns such programs into pure ones
before they are transformed, compiled or evaluated. Nothing else knows of references: they are not operands.
"""

from __future__ import annotations

import inspect
import operator
from typing import TYPE_CHECKING, Any, Callable, Iterable, NoReturn, Sequence

from laminax_ir.pytrees.pytree import keystr, leaf_paths, register_pytree_node, tree_flatten_with_path
from laminax_ir.refs import ref_indexing
from laminax_ir.refs.ref_contents import array_operations, checked_value, own_copy, typed_as
from laminax_ir.refs.ref_indexing import Place, without_arrays
from laminax_ir.tracing.trace import Trace, Tracer, current_trace, eval_trace, state
from laminax_ir.types.avals import get_aval, register_reference_type
from laminax_ir.types.errors import UnexpectedTracerError
from laminax_ir.types.hi_types import HiType
from laminax_ir.types.ref_types import AbstractRef

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.types.annotations import Array, ArrayLike


class Ref:
    """A reference to an array, which can be read and written; `new_ref` makes them.

    Example:
      >>> r = new_ref(jnp.zeros(3))
      >>> r[1] = 5.
      >>> r[...]
      Array([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("_trace", "aval", "__weakref__")

    _trace: Trace  # where it lives
    aval: AbstractRef

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is Ref:
            raise TypeError("Ref: references are made by new_ref(value), not by calling their type")
        return object.__new__(cls)

    shape: property = property(operator.attrgetter("aval.inner_aval.shape"), doc="Sizes of the axes.")
    dtype: property = property(operator.attrgetter("aval.inner_aval.dtype"), doc="The dtype of the elements.")
    ndim: property = property(operator.attrgetter("aval.inner_aval.ndim"), doc="The number of axes.")
    size: property = property(operator.attrgetter("aval.inner_aval.size"), doc="The number of elements.")

    def load(self) -> Any:
        """The whole value, in the trace where the reference lives, which must be current."""
        raise NotImplementedError

    def store(self, value: Any) -> None:
        """Replaces the whole value, in the trace where the reference lives, which must be current."""
        raise NotImplementedError

    def origin(self) -> str:
        """Where the reference comes from, as the end of a sentence that begins with `it was`; empty where unknown."""
        return ""

    def __getitem__(self, index: Any) -> Array:
        return read(self, ref_indexing.places("ref_get", self, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        write("ref_set", self, ref_indexing.places("ref_set", self, index), value)

    def get(self, idx: Any = ()) -> Any:
        """The value, or its part at an index."""
        return read(self, ref_indexing.places("ref_get", self, idx))

    def set(self, value: Any, idx: Any = ()) -> None:
        """Replaces the value, or its part at an index."""
        write("ref_set", self, ref_indexing.places("ref_set", self, idx), value)

    def swap(self, value: Any, idx: Any = ()) -> Any:
        """Replaces the value, or its part at an index, and returns what was there."""
        return write("ref_swap", self, ref_indexing.places("ref_swap", self, idx), value, returns_old=True)

    def addupdate(self, x: Any, idx: Any = ()) -> None:
        """Adds to the array, or to its part at an index, in place."""
        write("ref_addupdate", self, ref_indexing.places("ref_addupdate", self, idx), x)

    @property
    def at(self) -> _At:
        """`ref.at[index]` is a view of a part of the array: its indices count within the part; reads and writes reach the reference."""
        return _At(self, ())

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    __iter__ = None  # with an index beyond the end refused, Python would make an endless error of it

    def __array__(self, *args: np.dtype[Any], **kwargs: Any) -> NoReturn:
        raise TypeError(f"a reference to an array, {self.aval}, is not an array: read it first, with ref[...]")

    def __repr__(self) -> str:
        if self._trace is not eval_trace:
            return f"RefTracer({self.aval})"
        text = repr(self.load())
        is_array = "(" in text and not isinstance(self.aval.inner_aval, HiType)
        return f"Ref{text[text.index('('):]}" if is_array else f"Ref({text})"

    def __copy__(self) -> Ref:
        return new_ref(self[...])

    def __deepcopy__(self, memo: dict[Any, Any]) -> Ref:
        return new_ref(self[...])

    def _array(self, attribute: str) -> Any:
        """The array in the reference, for attributes that only arrays with data have."""
        if self._trace is not eval_trace:
            raise AttributeError(f"a traced reference, {self.aval}, has no attribute {attribute!r}: "
                                 "ask the reference outside of the function")
        return self.load()

    @property
    def sharding(self) -> Any:
        """How the array is laid out over devices."""
        return self._array("sharding").sharding

    @property
    def committed(self) -> bool:
        """Whether the array stays on its devices."""
        return self._array("committed").committed

    @property
    def format(self) -> Any:
        """Layout and sharding of the array."""
        return self._array("format").format

    def unsafe_buffer_pointer(self) -> int:
        """The address of the array's data, until the next write."""
        return self._array("unsafe_buffer_pointer").unsafe_buffer_pointer()


register_reference_type(Ref)


class ValueRef(Ref):
    """A reference that holds its value."""

    __slots__ = ("value", "is_own")

    def __init__(self, trace: Trace, aval: AbstractRef, value: ArrayLike, is_own: bool = False) -> None:
        self._trace = trace
        self.aval = aval
        self.value = value
        self.is_own = is_own  # whether nobody else has the value

    def load(self) -> Any:
        if self.value is _FROZEN:
            raise ValueError(f"a reference of type {self.aval} was used after it had been frozen. "
                             "Use the array that freeze returned, or make another reference with new_ref.")
        return self.value

    def store(self, value: Any) -> None:
        self.load()
        self.value = value
        self.is_own = False

    def store_own(self, value: Any) -> None:
        """Replaces the value by one that nobody else has."""
        self.store(value)
        self.is_own = True

    def load_to_donate(self) -> Any:
        """The value outside of traces, for a program that may overwrite it: a copy, unless the reference alone has the value."""
        return self.load() if self.is_own else own_copy(self.load(), self.aval.inner_aval)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._trace is not eval_trace:
            raise TypeError(f"cannot pickle {self!r}, which belongs to a trace of this process")
        return new_ref, (self.load(),)


class _Frozen:
    """Stands for the value of a reference that must not be used any more."""


_FROZEN = _Frozen()


class _At:
    """`ref.at`: an index after it makes a view."""

    __slots__ = ("ref", "before")

    def __init__(self, ref: Ref, before: tuple[Place, ...]) -> None:
        self.ref: Ref = ref
        self.before: tuple[Place, ...] = before

    def __getitem__(self, index: Any) -> RefView:
        view = RefView(self.ref, self.before)
        return RefView(self.ref, (*self.before, *ref_indexing.places("ref.at", view, index)))


class RefView:
    """A part of the array in a reference, made by `ref.at[index]`; reads and writes reach the reference."""

    __slots__ = ("ref", "places")

    def __init__(self, ref: Ref, places: tuple[Place, ...]) -> None:
        self.ref: Ref = ref
        self.places: tuple[Place, ...] = places

    @property
    def shape(self) -> tuple[int, ...]:
        return self.places[-1].shape if self.places else self.ref.shape

    @property
    def dtype(self) -> Any:
        return self.ref.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def at(self) -> _At:
        return _At(self.ref, self.places)

    def __getitem__(self, index: int) -> Array:
        return read(self.ref, (*self.places, *ref_indexing.places("ref_get", self, index)))

    def __setitem__(self, index: Any, value: ArrayLike) -> None:
        write("ref_set", self.ref, (*self.places, *ref_indexing.places("ref_set", self, index)), value)

    def __repr__(self) -> str:
        return f"RefView({self.ref!r}, shape={self.shape})"


def _view_parts(view: RefView) -> tuple[tuple[Any, ...], tuple[Place, ...]]:
    return (view.ref, *[x for place in view.places for x in place.arrays]), without_arrays(view.places)


def _view_of_parts(places: tuple[Place, ...], parts: Sequence[Any]) -> RefView:
    ref, *arrays = parts
    if isinstance(ref, Ref) and places and ref.shape != places[0].of_shape:
        raise TypeError(f"TransformedRefs are not allowed here: ref.at[...] is a view of a reference of shape {places[0].of_shape}, "
                        f"and that reference would be one of shape {ref.shape}, sliced or mapped. "
                        "Pass the reference, and make the view in the function.")
    return RefView(ref, ref_indexing.with_arrays(places, arrays))


register_pytree_node(RefView, _view_parts, _view_of_parts)


# What happens to references, wherever they live


def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None, pin: bool = False) -> Ref:
    """Makes a reference to an array, which can be read and written.

    Args:
      init_val: an array or a scalar, what is in it at first; or a value of a type of users' own, which is read and written whole.
      memory_space: only None; other memories are not supported.
      kind: "no_grad_no_remat" for a reference to which differentiated functions may write: what is written has no derivative, and is
        written once by a checkpointed function. None otherwise.
      pin: only False; where the compiler keeps what is in a reference cannot be fixed.

    Returns:
      A `Ref` of init_val's shape and dtype, which is not weak. Jitted functions, loops and branches may close over it or take it as an
      argument; what they write is there after the call.

    Raises:
      TypeError: if init_val is not an array.
      ValueError: for another kind.
      NotImplementedError: for a memory space, or pin=True.

    Example:
      >>> counter = new_ref(0)
      >>> counter[...] += 1
      >>> counter
      Ref(1, dtype=int32)
    """
    if kind not in (None, "no_grad_no_remat"):
        raise ValueError(f"new_ref: kind must be None or 'no_grad_no_remat', got {kind!r}")
    for name, given in (("memory_space", memory_space), ("pin", pin or None)):
        if given is not None:
            raise NotImplementedError(f"new_ref: {name}={given!r} is not supported. Leave it out: the reference is in the device's memory, "
                                      "and is written once by each run of what writes it.")
    if isinstance(init_val, (Ref, RefView)):
        raise TypeError(f"new_ref: init_val must be an array, got a reference, {init_val!r}. Give its value, ref[...].")
    try:
        aval = get_aval(init_val)
    except TypeError:
        raise TypeError("Error interpreting argument to new_ref as a JAX value. The problematic value is of type "
                        f"{type(init_val)} and was passed to new_ref at position 0. Give an array or a scalar.") from None
    if aval.weak_type:  # what is written later is not
        init_val, aval = array_operations().converted(init_val, aval.dtype, False), aval.strip_weak_type()
    home = state.trace.home_of_ref(init_val)
    with current_trace(home):
        if home.records_refs:
            return home.record_new_ref(init_val, AbstractRef(aval, kind))
        is_constant = home is not eval_trace and isinstance(aval, HiType)  # of a program: one that consists of arrays that nobody writes to
        value = init_val if isinstance(init_val, Tracer) or is_constant else own_copy(init_val, aval)
        return ValueRef(home, AbstractRef(aval, kind), value, is_own=True)


def read(ref: Ref, places: tuple[Place, ...] = ()) -> Any:
    """The value of a part of a reference, by the current trace."""
    trace = state.trace
    if trace.records_refs:
        return trace.record_ref("get", ref, places)
    if ref._trace is trace:
        if not places and type(ref) is ValueRef:
            ref.is_own = False
        return array_operations().part(ref.load(), places)
    inner = [trace.without_part(x) for place in places for x in place.arrays]
    if any(x is None for x in inner):  # an index that only this trace knows
        with current_trace(_outer(trace, ref)):
            whole = read(ref)
        return array_operations().part(whole, places)
    with current_trace(_outer(trace, ref)):
        return read(ref, ref_indexing.with_arrays(places, inner))


def write(name: str, ref: Ref, places: tuple[Place, ...], value: Any, returns_old: bool = False) -> Any:
    """Writes a part of a reference, by the current trace.

    Args:
      name: the function, for messages: "ref_set", "ref_swap"; "ref_addupdate" adds to what is there.
      value: of exactly the shape of the part and its dtype.
      returns_old: whether to return what was there.
    """
    if isinstance(value, Ref):
        raise ValueError(f"Cannot store a Ref into another Ref: {name} was given {value.aval} to write to {ref.aval}. Read it first, with "
                         "value[...].")
    value = checked_value(name, ref.aval.inner_aval, places, value)
    if ref.aval.kind is not None and isinstance(value, Tracer):
        value = array_operations().without_gradient(value)
    return _write(name == "ref_addupdate", ref, places, value, returns_old)


def _write(adds: bool, ref: Ref, places: tuple[Place, ...], value: ArrayLike, returns_old: bool) -> Any:
    trace = state.trace
    if trace.records_refs:
        return trace.record_ref("addupdate" if adds else "swap", ref, places, value)
    if ref._trace is trace:
        old = ref.load()
        part = array_operations().part(old, places) if returns_old else None  # the part that is replaced, read before the write
        ref.store(array_operations().with_part(old, places, typed_as(ref.aval.inner_aval, value), adds))
        return part
    outer = _outer(trace, ref)
    trace.check_writes_ref(ref, adds)
    arrays = [trace.without_part(x) for x in (value, *[x for place in places for x in place.arrays])]
    if any(x is None for x in arrays):
        raise trace.ref_error(ref, adds)
    with current_trace(outer):
        return _write(adds, ref, ref_indexing.with_arrays(places, arrays[1:]), arrays[0], returns_old)


def values_in(operands: Sequence[Any]) -> list[Any]:
    """The operands, each reference among them replaced by the array in it."""
    return [read(x) if isinstance(x, Ref) else x for x in operands]


def write_back(operands: Sequence[Any], written: Sequence[bool], values: Sequence[Any]) -> None:
    """Writes one value to each of the operands, references, that are marked in `written`."""
    for ref, value in zip([x for x, is_written in zip(operands, written) if is_written], values):
        write("ref_set", ref, (), value)


def _outer(trace: Trace, ref: Ref) -> Trace:
    """The trace around `trace`, in which the reference does not live."""
    if trace is eval_trace or ref._trace.ended:
        raise lost_ref_error(ref)
    return trace.parent


def lost_ref_error(ref: Ref) -> Exception:
    """The error for a reference that is used where the trace that it lives in is not at work."""
    name = ref._trace.name or "a transformation"
    made = f", which was {ref.origin()}," if ref.origin() else ""
    return UnexpectedTracerError(f"a reference of type {ref.aval}{made} was used outside of {name}, the traced function it belongs to. "
                                 "Make references that live longer outside of it, and let it close over them or take them as arguments.")


def freeze(ref: Ref) -> Any:
    """The array in a reference, which must not be used afterwards.

    Args:
      ref: a `Ref`, made by the function that freezes it.

    Returns:
      Its last value.

    Raises:
      ValueError: if it is not a reference, or was frozen before, or is the caller's.

    Example:
      >>> freeze(new_ref(3.))
      Array(3., dtype=float32, weak_type=True)
    """
    check_is_ref("freeze", ref)
    trace = state.trace
    if trace.records_refs:
        return trace.record_ref("freeze", ref, ())
    if ref._trace is not trace:
        _outer(trace, ref)
        raise not_owned_error("freeze", ref)
    value = ref.load()
    if not isinstance(ref, ValueRef):
        raise not_owned_error("freeze", ref)
    ref.value = _FROZEN
    return value


def not_owned_error(name: str, ref: Ref) -> ValueError:
    """The error for a function that freezes a reference of its caller."""
    return ValueError(f"{name}: the reference, {ref.aval}, was not made by this function, but by one that called it, "
                      "which may still use it. Freeze it where it was made; read it here with ref[...].")


def is_traced(x: Any) -> bool:
    """Whether a value belongs to a trace: a program that has it as a constant can be used only while that trace lasts."""
    return isinstance(x, Tracer) or isinstance(x, Ref) and x._trace is not eval_trace


def check_is_ref(name: str, ref: Any) -> None:
    """Raises a ValueError if the value is no reference."""
    if not isinstance(ref, Ref):
        text = repr(ref)
        raise ValueError(f"Can only call `{name}` on a `Ref`: {text if len(text) <= 80 else text[:77] + '...'} is of type "
                         f"{type(ref).__name__}. Make one with new_ref(value).")


def refuse_in_operation(ref: Ref, name: str = "") -> ValueError:
    """The error for a reference that is given to an operation on arrays."""
    return ValueError(f"Attempting to pass a Ref {ref.aval} to a primitive{': ' + name if name else ''} -- did you forget to unpack "
                      "([...]) the ref?")


# Functions that take references


def aliasing_error(ref: Ref, title: str, what: str, names: tuple[str, str]) -> ValueError:
    """The error for a function that gets one reference in two places."""
    return ValueError("only one reference to a mutable array may be passed as an argument to a function, "
                      f"but when tracing {title} for {what} the mutable array reference of type {ref.aval} appeared at both {names[0]} and "
                      f"{names[1]}. Pass it once.")


def closed_over_error(ref: Ref, title: str, what: str, name: str) -> ValueError:
    """The error for a function that closes over a reference and gets it as an argument too."""
    return ValueError(f"when tracing {title} for {what}, a mutable array reference of type {ref.aval} was both closed over and passed as "
                      f"the argument {name}. Use the argument.")


def check_aliases(title: str, what: str, values: Iterable[Any], closed_over: Iterable[Any], name: Callable[[int], str]) -> None:
    """Refuses a reference that a function gets twice.

    Args:
      title, what: the function, and what it is traced for: "jit".
      values: its flat arguments.
      closed_over: what it closes over.
      name: from the number of an argument to its name.
    """
    places: dict[int, int] = {}
    for i, x in enumerate(values):
        if isinstance(x, Ref):
            if id(x) in places:
                raise aliasing_error(x, title, what, (name(places[id(x)]), name(i)))
            places[id(x)] = i
    for x in closed_over:
        if id(x) in places:
            raise closed_over_error(x, title, what, name(places[id(x)]))


def check_returned(title: str, what: str, result: Any) -> None:
    """Refuses a reference in the result, a pytree, of a traced function.

    Args:
      title, what: the function, and what it was traced for: "jit".
    """
    for path, leaf in tree_flatten_with_path(result)[0]:
        if isinstance(leaf, Ref):
            where = f" at output tree path result{keystr(path)}" if path else ""
            origin = leaf.origin()
            raise ValueError(f"function {title} traced for {what} returned a mutable array reference of type {leaf.aval}{where}, "
                             "but mutable array references cannot be returned."
                             + (f"\n\nThe returned mutable array was {origin}." if origin else "")
                             + "\nReturn what is in it, ref[...]; writes are seen through the reference.")


def argument_namer(fun: Callable[..., Any], in_tree: Any) -> Callable[[int], str]:
    """A function from the number of a flat argument to its name, `x['w']`; `in_tree` is the structure of the positional ones."""
    def name(index: int) -> str:
        path = leaf_paths(in_tree)[index]
        try:
            names = list(inspect.signature(fun).parameters)
        except (TypeError, ValueError):
            names = []
        first = path[0].idx
        return (names[first] if first < len(names) else f"args[{first}]") + keystr(path[1:])
    return name
