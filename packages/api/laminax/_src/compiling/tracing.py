"""Tracing functions on pytrees, with a cache.

The cache holds functions weakly. An entry's key is everything the trace depends on: the arguments' structure and
avals, the static values, the configuration, and the named axes in scope.
"""

from __future__ import annotations

import threading
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Callable, Hashable, NamedTuple, Protocol, Sequence
from weakref import WeakKeyDictionary, ref

from laminax_ir.options import ambient, config
from laminax_ir.programs.effects import has_refs
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.pytrees.pytree import flatten, keystr, tree_flatten_with_path
from laminax_ir.recording.staging import stage
from laminax_ir.recording.staging_trace import StagingTrace
from laminax_ir.refs.refs import Ref, check_returned
from laminax_ir.tracing.trace import Tracer, state
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

from laminax._src.base.leaf_names import argument_names
from laminax._src.base.phases import check_may_trace, phase
from laminax._src.base.program_names import ProgramName, function_code, source_info

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

    from laminax._src.compiling.host_programs import HostProgram


class TracedFunction:
    """A traced function: its program and the structure of its result.

    Args:
      closed: the program.
      out_tree: the structure.
      name: the function's name.
      key: under which it is kept, if it is.
    """

    def __init__(self, closed: ClosedJaxpr, out_tree: Any, name: str, key: TraceKey | None = None) -> None:
        self._closed = closed
        self.out_tree = out_tree
        self.name = name
        self.key = key
        self.programs: dict[tuple, Any] = {}  # compiled programs, by devices and options
        self.on_host: dict[Any, HostProgram | None] = {}  # programs of eager calls by device, till they are compiled
        self.sized: dict[tuple, Any] = {}  # the function at given sizes, if it was traced for all sizes

    @property
    def closed(self) -> ClosedJaxpr:
        return self._closed

    @property
    def general(self) -> ClosedJaxpr:
        """The program, or the one for all sizes that it was made of: the one to ask what does not depend on sizes."""
        return self.closed

    def is_valid(self) -> bool:
        """Whether the values that the function closed over can still be used."""
        return not any(isinstance(c, (Tracer, Ref)) and c._trace.ended for c in self.general.consts)

    @property
    def has_refs(self) -> bool:
        """Whether the program has references to arrays."""
        return bool(self.general.effects) and has_refs(self.general.effects)


def function_name(fun: Callable) -> str:
    """The name of a function for messages and modules; for a `partial` object, the name of the function in it."""
    while hasattr(fun, "func") and not hasattr(fun, "__name__"):
        fun = fun.func
    return getattr(fun, "__name__", None) or type(fun).__name__


class Call:
    """One call of a function, split into dynamic leaves and static values.

    `leaves` are the dynamic values, `in_tree` their structure as (args, kwargs), `static` a hashable description of
    the rest.
    """

    __slots__ = ("leaves", "in_tree", "static_args", "static_kwargs", "count")

    donated: tuple[bool, ...] = ()  # leaves that are, whatever the function was made with

    def __init__(self, args: tuple, kwargs: dict, static_argnums: Sequence[int], static_argnames: Sequence[str]) -> None:
        self.count = len(args)
        self.static_args: tuple[tuple[int, Static], ...] = ()
        self.static_kwargs: tuple[tuple[str, Static], ...] = ()
        if static_argnums:
            chosen = sorted({i % len(args) for i in static_argnums if -len(args) <= i < len(args)})
            self.static_args = tuple((i, Static(args[i])) for i in chosen)
            args = tuple(x for i, x in enumerate(args) if i not in chosen)
        if static_argnames and kwargs:
            self.static_kwargs = tuple((k, Static(v)) for k, v in sorted(kwargs.items()) if k in static_argnames)
            kwargs = {k: v for k, v in kwargs.items() if k not in static_argnames}
        self.leaves, self.in_tree = flatten((args, kwargs))

    @property
    def static(self) -> Hashable:
        return self.static_args, self.static_kwargs

    def invoke(self, fun: Callable, leaves: Sequence[Any]) -> Any:
        """Calls `fun` with the static values and the given dynamic leaves."""
        args, kwargs = self.in_tree.unflatten(leaves)
        if self.static_args:
            args = list(args)
            for i, static in self.static_args:
                args.insert(i, static.value)
        for name, static in self.static_kwargs:
            kwargs[name] = static.value
        return fun(*args, **kwargs)

    def namer(self, fun: Callable) -> Callable[[int], str]:
        """A function from the number of a leaf to its name, such as `x['w']`; it does not hold the values."""
        names = cache(partial(argument_names, fun, self.in_tree, tuple(i for i, _ in self.static_args)))
        return lambda index: names()[index]


class Static:
    """A static value as part of a key: equal values of different types, such as 1 and True, stay apart."""

    __slots__ = ("value", "_hash")

    def __init__(self, value: Any) -> None:
        self.value = value
        try:
            self._hash = hash(value)
        except TypeError as error:
            raise ValueError(f"Non-hashable static arguments are used in a jit function: {value!r} of type "
                             f"{type(value).__name__} ({error}). Static arguments must be hashable, with __hash__ and "
                             "__eq__ defined, and should be immutable: pass a tuple instead of a list, or make the "
                             "argument dynamic.") from None

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: Any) -> Any:
        return type(self.value) is type(other.value) and self.value == other.value


def argument_avals(transform: str, fun: Callable, call: Call) -> list[ShapedArray]:
    """The avals of a call's dynamic leaves.

    Raises:
      TypeError: if one is not an array; the message names it.
    """
    avals = []
    for index, leaf in enumerate(call.leaves):
        try:
            avals.append(get_aval(leaf))
        except TypeError:
            raise TypeError(
                f"{transform}({function_name(fun)}): Error interpreting argument to {function_name(fun)} as an abstract array. The "
                f"problematic value is of type {type(leaf)} and was passed to the function at path {call.namer(fun)(index)}.\n"
                f"  value: {_short(leaf)}\n{_of_struct_argument(leaf, call.namer(fun)(index))}Arguments must be arrays, scalars or "
                "containers of them. Mark others as static with static_argnums or static_argnames.") from None
    return avals


def _of_struct_argument(x: Any, name: str) -> str:
    if not isinstance(x, ShapeDtypeStruct):
        return ""
    shape = f"{getattr(x.dtype, 'name', x.dtype)}[{','.join(map(str, x.shape))}]"
    return (f"Argument '{name}' of shape {shape} of type {type(x)} is not a valid JAX type. {_of_structs(x)}Use lower, trace or eval_shape "
            "with it.\n")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def trace_call(fun: Callable, call: Call, avals: Sequence[ShapedArray], transform: str = "jit", keeps_refs: bool = True,
               trace_type: Callable[..., StagingTrace] = StagingTrace) -> TracedFunction:
    """Traces a function for a call, without a cache.

    Args:
      fun: the function.
      call: its arguments, flat.
      avals: the types of the arguments that are traced.
      transform: the transformation that traces the function, for messages.
      keeps_refs: whether the program may have references of its caller.
      trace_type: the class of the trace that records, or what makes one.
    """
    name = function_name(fun)
    trees: list[Any] = []

    def flat_fun(*leaves: ArrayLike) -> list[ArrayLike]:
        result = call.invoke(fun, leaves)
        out, out_tree = flatten(result)
        for leaf in out:
            if not is_array_like(leaf):
                check_returned(name, "jit" if transform == "make_jaxpr" else transform, result)
                _report_bad_result(transform, fun, name, result)
        trees.append(out_tree)
        return out

    closed = stage(flat_fun, avals, f"{transform}({name})", call.namer(fun), keeps_refs, trace_type)
    closed.jaxpr.debug_info = ProgramName(transform, name, fun, call.in_tree, tuple([i for i, _ in call.static_args]), trees[0])
    return TracedFunction(closed, trees[0], name)


def _report_bad_result(transform: str, fun: Callable, name: str, result: Any) -> None:
    for path, leaf in tree_flatten_with_path(result)[0]:
        if not is_array_like(leaf):
            where = f" at output component {keystr(path)}" if path else ""
            raise TypeError(f"{transform}({name}): function {source_info(name, function_code(fun))} returned a value of type "
                            f"{type(leaf)}{where}, which is not a valid JAX type: {_short(leaf)}. {_of_structs(leaf)}Return arrays, "
                            "scalars or containers of them.")


def _of_structs(x: Any) -> str:
    return "A ShapeDtypeStruct does not have a value. " if isinstance(x, ShapeDtypeStruct) else ""


class TraceKey(NamedTuple):
    """The key of a trace: all that it depends on, besides the function."""
    in_tree: Any
    avals: tuple[ShapedArray, ...]
    static_args: tuple[tuple[int, Static], ...]
    static_kwargs: tuple[tuple[str, Static], ...]
    num_args: int
    config: ambient.TraceKey
    axes: tuple[tuple[Any, int], ...]


class Entries(dict):
    """The traced forms of one function, by key."""

    __slots__ = ("__weakref__",)


class _Mapped:
    """Stands for a function together with a mapping of it, as a key of the cache."""


class Recorder(Protocol):
    """Makes a trace that records; if operations have run meanwhile, the program holds for this call alone."""

    has_run: bool

    def __call__(self, name: str, argument_names: Sequence[str] | Callable[[int], str] | None = None) -> StagingTrace: ...


class TraceCache:
    """Traced functions by function (weakly) and key. Counts hits and misses."""

    def __init__(self) -> None:
        self._by_function: WeakKeyDictionary[Callable | _Mapped, Entries] = WeakKeyDictionary()
        self._mapped: WeakKeyDictionary[Callable, dict[Hashable, _Mapped]] = WeakKeyDictionary()
        self._others: list[ref] = []  # the entries of functions that cannot be held weakly or hashed
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def entries(self, fun: Callable | _Mapped) -> Entries:
        """The entries of one function; fresh ones for a function that cannot be held weakly or hashed."""
        try:
            with self._lock:
                found = self._by_function.get(fun)
                if found is None:
                    found = self._by_function[fun] = Entries()
            return found
        except TypeError:
            found = Entries()
            self._others.append(ref(found, self._others.remove))
            return found

    def entries_of_mapped(self, fun: Callable, mapping: Hashable) -> Entries:
        """The entries of a function under a mapping, shared by all calls: those of a `_Mapped`, which lives as long as the function."""
        try:
            return self.entries(self._mapped.setdefault(fun, {}).setdefault(mapping, _Mapped()))
        except TypeError:
            return Entries()

    def clear(self) -> None:
        """Forgets every traced function."""
        with self._lock:
            for entries in [*self._by_function.values(), *(r() for r in self._others)]:
                if entries is not None:
                    entries.clear()

    def lookup(self, fun: Callable, call: Call, avals: Sequence[ShapedArray], transform: str,
               entries: Entries, recorder: Recorder | None = None) -> TracedFunction:
        """The traced function for a call, traced now if it has not been, by a recorder if there is one."""
        axes = state.axis_sizes
        key = TraceKey(call.in_tree, tuple(avals), call.static_args, call.static_kwargs, call.count, ambient.trace_key(),
                       tuple(axes.items()) if axes else ())
        found = entries.get(key)
        if found is not None and found.is_valid():
            self.hits += 1
            return found
        self.misses += 1
        title = f"{transform}({function_name(fun)})"
        check_may_trace(title)
        if config.explain_cache_misses.value:
            from laminax._src.compiling.cache_misses import explain_retrace
            explain_retrace(title, fun, call.namer(fun), key, entries)
        with phase("Tracing", title, avals):
            found = trace_call(fun, call, avals, transform, trace_type=recorder or StagingTrace)
        found.key = key
        if recorder is None or not recorder.has_run:
            entries[key] = found
        return found


trace_cache = TraceCache()
