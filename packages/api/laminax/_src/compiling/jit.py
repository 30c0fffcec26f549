"""`jit`: compile a function on first call, run the executable from then on.

A call goes to jaxlib's C++ `PjitFunction` first. If C++ has no entry for it, `JitFunction.miss` traces the function (cached). Inside
of a trace it binds one call equation; outside it compiles the program (cached), runs it, and gives C++ the data to run the next such
call itself.
"""

from __future__ import annotations

from functools import WRAPPER_ASSIGNMENTS, partial, update_wrapper, wraps
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Sequence
from weakref import ref

import laminax_runtime as runtime
from laminax_ir.ops.calls import Inline, KeptCall, call_jaxpr
from laminax_ir.options import config
from laminax_ir.pytrees.pytree import tree_unflatten
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.type_lowering import has_hi_types
from laminax_ir.tracing.leaks import check_no_tracers
from laminax_ir.tracing.trace import eval_trace, state
from laminax_ir.tracing.tracebacks import api_boundary, shorten
from laminax_ir.types.arguments import check_callable
from laminax_ir.types.array_layouts import AUTO
from laminax_ir.types.array_layouts import in_use as layouts_in_use
from laminax_ir.types.avals import ShapedArray

from laminax._src.base.leaf_names import argument_names, result_names
from laminax._src.compiling.abstract_arguments import AvalHolder, as_abstract
from laminax._src.compiling.checking.checked_results import check_results, is_checking
from laminax._src.compiling.eager import forget_programs
from laminax._src.compiling.executables import (
    Program,
    compile_lowered,
    deleted_argument_error,
    execution_device,
    lower_program,
    lowering_platform,
    note_largest_buffers,
    note_repeated_arguments,
    overflow_error,
    raise_if_out_of_memory,
    report_unusable_donations,
)
from laminax._src.compiling.hi_calls import LoweredCall, run_with_hi_types
from laminax._src.compiling.host_programs import host_program
from laminax._src.compiling.jit_options import GivenOptions, JitOptions, jit_options
from laminax._src.compiling.key_uses import mark_results, use_keys
from laminax._src.compiling.recent_programs import Owner, recent_programs
from laminax._src.compiling.ref_calls import run_with_refs
from laminax._src.compiling.regions import compile_by_regions
from laminax._src.compiling.sized_functions import SizedFunction, at_call
from laminax._src.compiling.tracing import Call, TracedFunction, argument_avals, function_name, trace_cache
from laminax._src.placement.layouts import chosen_layouts, layout_of, sharding_of
from laminax._src.placement.partitioning import Partitioning, names_shardings, place
from laminax._src.placement.sharding_arguments import UNSPECIFIED, constrain, for_arguments, for_results

if TYPE_CHECKING:  # loaded when something is lowered
    from laminax_lowering import LoweredModule
    from laminax_runtime.running.dispatch import FastpathData

    from laminax._src.compiling.stages import Lowered, Traced


def jit(fun: Callable | None = None, *, in_shardings: Any = UNSPECIFIED, out_shardings: Any = UNSPECIFIED,
        static_argnums: int | Sequence[int] | None = None, static_argnames: str | Iterable[str] | None = None,
        donate_argnums: int | Sequence[int] | None = None, donate_argnames: str | Iterable[str] | None = None,
        keep_unused: bool = False, device: Any = None, backend: str | None = None, inline: bool | Inline = False,
        abstracted_axes: Any = None, compiler_options: Mapping[str, Any] | None = None) -> Any:
    """Sets up a function for just-in-time compilation.

    The function is traced on the first call with arguments of given shapes and dtypes, compiled, and the executable is
    kept for later calls. It should be pure: its side effects happen only when it is traced.

    Args:
      fun: function of arrays, scalars and containers of them. Held weakly by the caches. May be left out, to give
        options in a decorator: `@jit(static_argnames="n")`.
      in_shardings: how the positional arguments are split over devices: a `Sharding`, a `PartitionSpec` of the mesh that
        is set, None, a `Format`, which says their layout too, or a pytree of them that is a prefix of the tuple of arguments.
        Committed arguments must be laid out so. By default, and with None, arguments stay as they are; under `pjit` None means
        a copy on each device of the mesh that is entered.
      out_shardings: how the results are split, a prefix of the result; by default the compiler decides.
      static_argnums: positions of arguments that are compile-time constants: hashable values, part of the key.
      static_argnames: names of such arguments. With only one of the two given, the other is inferred from the
        signature; with both, they are taken as they are.
      donate_argnums: positions of arguments whose buffers the computation may overwrite; the arrays are deleted.
      donate_argnames: names of such arguments, inferred like static_argnames.
      keep_unused: whether arguments that the function does not use stay arguments of the executable.
      device: the device to run on; by default where the arguments are, else the default device.
      backend: the platform to run on: "cpu", "gpu" or "tpu".
      inline: where the function becomes part of a program that calls it, an `Inline`. True is `Inline.JAX_LATE`: the call is an equation
        of the caller's program, and not a function of the compiled one. False is `Inline.AUTO`.
      abstracted_axes: names for the sizes of axes of the positional arguments. The function is traced, differentiated and lowered once for
        all sizes of 1 or more that named axes have, and compiled for each; axes of the same name have the same size. A dict {axis: name}
        or a tuple of names, with None for axes of fixed size, that speaks for all arrays; or a tuple with one entry for each positional
        argument: None, a dict, a tuple, or a pytree of them that is a prefix of the argument. Names are strings, or hashable.
      compiler_options: options of XLA by name; for calls outside of other jitted functions.

    Returns:
      The jitted function, with `lower`, `trace`, `eval_shape` and `clear_cache`.

    Raises:
      TypeError: if `fun` is not callable, a generator or a `staticmethod`, or cannot be held weakly; or an option is of the wrong type.
      ValueError: if a static or donated argument does not exist, or both a device and shardings are given.

    Example:
      >>> @jit
      ... def selu(x, alpha=1.67, lmbda=1.05):
      ...     return lmbda * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)
      >>> mean = jit(lambda x: x.sum() / x.shape[0], abstracted_axes={0: "n"})
    """
    given = GivenOptions(in_shardings, out_shardings, static_argnums, static_argnames, donate_argnums, donate_argnames, keep_unused,
                         device, backend, inline, compiler_options or {}, abstracted_axes)
    return partial(_jitted, "jit", given) if fun is None else _jitted("jit", given, fun)


def _jitted(name: str, given: GivenOptions, fun: Callable) -> Any:
    check_callable(name, fun)
    fun = _weakly_referenceable(fun)
    options = jit_options(fun, given, runs_on_entered_mesh=name == "pjit")
    jit_function = JitFunction(fun, options)
    wrapped = runtime.make_jit_function(
        fun, jit_function.name, jit_function.miss, static_argnums=options.static_argnums,
        static_argnames=options.static_argnames, cache_key=options)
    update_wrapper(wrapped, fun)
    wrapped._laminax_jit = jit_function
    return wrapped


def pjit(fun: Callable, in_shardings: Any = UNSPECIFIED, out_shardings: Any = UNSPECIFIED,
         static_argnums: int | Sequence[int] | None = None, static_argnames: str | Iterable[str] | None = None,
         donate_argnums: int | Sequence[int] | None = None, donate_argnames: str | Iterable[str] | None = None, keep_unused: bool = False,
         device: Any = None, backend: str | None = None, inline: bool | Inline = False,
         compiler_options: Mapping[str, Any] | None = None) -> Any:
    """`jit`, which has the documentation, on the mesh that is entered with `with mesh:`.

    Args:
      fun, ...: as for `jit`. Partition specs refer to the mesh that is entered where the function is called, and calls run on its
        devices; a mesh that is set by `set_mesh` does not count.

    Example:
      >>> with Mesh(devices(), "x"):
      ...     pjit(f, in_shardings=PartitionSpec("x"))(x)
    """
    given = GivenOptions(in_shardings, out_shardings, static_argnums, static_argnames, donate_argnums, donate_argnames, keep_unused,
                         device, backend, inline, compiler_options or {})
    return _jitted("pjit", given, fun)


def _weakly_referenceable(fun: Callable) -> Callable:
    """The function itself, or one that calls it where the caches, which hold functions weakly, cannot hold it."""
    try:
        ref(fun)
    except TypeError:  # in jaxlib's cache it would crash the process
        @wraps(fun, assigned=[name for name in WRAPPER_ASSIGNMENTS if hasattr(fun, name)])
        def call(*args: Any, **kwargs: Any) -> Any:
            return fun(*args, **kwargs)

        return call
    return fun


# What calls say of it: False is not printed.
_OF_CALLS: dict[Inline | KeptCall, bool | Inline] = {Inline.AUTO: False, Inline.JAX_LATE: True}


_PROGRAM_KEY = ("the device", "the donated arguments", "keep_unused", "whether a device was given", "the compiler options")
_SIZES_KEY = ("the sizes of named axes",)


class JitFunction:
    """The Python half of a jitted function."""

    def __init__(self, fun: Callable, options: JitOptions) -> None:
        self.fun = fun
        self.options = options
        self.name = function_name(fun)
        self.title = f"{'pjit' if options.runs_on_entered_mesh else 'jit'}({self.name})"
        self.is_sharded = options.in_shardings is not None or options.out_shardings is not None
        self.has_layouts = any(layout_of(leaf) is not None for tree in (options.in_shardings, options.out_shardings) if tree
                               for leaf in tree.leaves)
        # Held here: a function that cannot be held weakly keeps its entries as long as its jitted form lives.
        self.entries = trace_cache.entries(fun)
        self.owner: Owner | None = None  # set for eager calls, whose programs are kept only as long as there is room

    def traced(self, args: tuple, kwargs: dict, to_aval: Callable | None = None) \
            -> tuple[Call, list[ShapedArray], TracedFunction]:
        """Flattens and traces one call."""
        options = self.options
        call = Call(args, kwargs, options.static_argnums, options.static_argnames)
        if to_aval is not None:
            call.leaves = [to_aval(x) for x in call.leaves]
        avals = argument_avals("jit", self.fun, call)
        is_inlined = options.inline is Inline.JAX_EARLY and state.trace is not eval_trace  # then it is traced as its caller is
        if options.abstracted_axes is not None and not is_inlined:
            named = options.abstracted_axes.of_call(self.title, self.fun, call, avals)
            if named is not None:
                template = trace_cache.lookup(self.fun, call, named.avals, "jit", self.entries)
                return call, avals, at_call(template, named.sizes)
        return call, avals, trace_cache.lookup(self.fun, call, avals, "jit", self.entries)

    def miss(self, *args: Any, **kwargs: Any) -> tuple[Any, FastpathData | None, bool]:
        """Answers a call that C++ has no entry for: (result, fast-path data or None, False)."""
        try:
            if (answer := self.answered_elsewhere(args, kwargs)) is not None:
                return answer
            call, avals, traced = self.traced(args, kwargs)
            if traced.has_refs:
                return run_with_refs(self, call, traced), None, False
            if state.trace is not eval_trace:
                return self.bind(call, traced), None, False
            marks = use_keys(traced.closed, call.leaves, f"jit({self.name})") if config.debug_key_reuse.value else ()
            outs, program = self.run(call, traced)
            if marks:
                mark_results(outs, marks)
            if is_checking():
                check_results(outs, f"jit({self.name})", traced.closed, call.leaves)
            is_kept = self.owner is None or recent_programs.note(self.owner, traced.key)
            fastpath = program.fastpath(traced.out_tree, outs, call.leaves) if is_kept and program is not None else None
            return traced.out_tree.unflatten(outs), fastpath, False
        except Exception as error:
            shorten(error)
            raise

    def answered_elsewhere(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, None, bool] | None:
        """The answer to a call that another function computes, as of `miss`; None where this one does."""
        return None

    def run(self, call: Call, traced: TracedFunction) -> tuple[list[Any], Program | None]:
        """The results of a call, and the compiled program that gave them; None if the host computed it."""
        if has_hi_types(traced.general):
            return run_with_hi_types(self, call, traced)
        where = self.place(traced, call)
        if self.owner is not None and (on_host := self._run_on_host(self.owner, call, traced, where)) is not None:
            return on_host, None
        program = self.program(traced, call, where)
        try:
            outs = program.run(call.leaves)
            raise_if_out_of_memory(program, outs)
            return outs, program
        except runtime.DeletedArrayError as error:
            raise deleted_argument_error(error, f"jit({self.name})", call.leaves, call.namer(self.fun)) from None
        except OverflowError as error:
            raise overflow_error(error, f"jit({self.name})", call.leaves, call.namer(self.fun)) from None
        except runtime.XlaRuntimeError as error:
            note_repeated_arguments(error, f"jit({self.name})", call.leaves, self.donated(call), call.namer(self.fun))
            note_largest_buffers(error, f"jit({self.name})", program, call.namer(self.fun), len(call.leaves))
            raise

    def _run_on_host(self, owner: Owner, call: Call, traced: TracedFunction,
                     where: runtime.Device | Partitioning) -> list[Any] | None:
        """The results of an eager call that is not worth compiling yet; None if it is."""
        if where not in traced.on_host:
            traced.on_host[where] = host_program(self.name, traced.closed, where)
        if (host := traced.on_host[where]) is None:
            return None
        outs = host.run(call.leaves)
        if outs is None:
            traced.on_host[where] = None
            owner.drop_entries()  # C++ has sent such calls to Python for good, since the first
        return outs

    def bind(self, call: Call, traced: TracedFunction) -> Any:
        """The result of a call in a trace: a call equation, or with `Inline.JAX_EARLY` the operations of the program.

        Raises:
          ValueError: if the function has compiler options, which are for whole programs.
        """
        closed, leaves = traced.closed, call.leaves
        if self.options.compiler_options:
            raise ValueError(f"{self.title}: `compiler_options` can only be passed to top-level `jax.jit`; got "
                             f"{dict(self.options.compiler_options)} for a function that another one calls while it is traced. Give them "
                             "to the outermost jit.")
        if self.is_sharded:
            in_shardings, out_shardings = self.formats(traced, call)
            leaves = constrain(leaves, in_shardings, f"jit({self.name})", call.namer(self.fun))
        inline = self.options.inline
        if inline is Inline.JAX_EARLY:
            outs = eval_jaxpr(closed.jaxpr, closed.consts, *leaves)
        else:
            outs = call_jaxpr(closed, *leaves, name=self.name, inline=_OF_CALLS.get(inline, inline))
        if self.is_sharded:
            outs = constrain(outs, out_shardings, f"jit({self.name})", "result {}".format)
        return tree_unflatten(traced.out_tree, outs)

    def place(self, traced: TracedFunction, call: Call, are_types: bool = False,
              may_lack_devices: bool = False) -> runtime.Device | Partitioning:
        """Where a call outside of traces runs.

        Args:
          traced: the traced function.
          call: the call.
          are_types: whether some arguments are known by type and sharding only.
          may_lack_devices: whether meshes without devices will do.
        """
        namer, mesh = call.namer(self.fun), self.mesh()
        given = self.formats(traced, call) if self.is_sharded else (None, None)
        layouts = self._layouts(traced, call, given, are_types)
        in_shardings, out_shardings = [side and [*map(sharding_of, side)] for side in given]
        if any(sharding is not None for side in (in_shardings, out_shardings) for sharding in side or ()):
            check_no_tracers(call.leaves)
            where = place(self.name, traced.closed, call.leaves, in_shardings, out_shardings, namer, mesh=mesh,
                          may_lack_devices=may_lack_devices)
        else:
            device = execution_device(call.leaves, self.options.device, mesh)
            is_bound = layouts is not None or names_shardings(traced.general) or are_types and any(
                type(x) is AvalHolder and x.committed_sharding is not None for x in call.leaves)
            if device is not None and not is_bound:
                return device
            where = place(self.name, traced.closed, call.leaves, namer=namer, device=self.options.device, mesh=mesh,
                          may_lack_devices=may_lack_devices)
        return where if layouts is None else where.replace(in_layouts=layouts[0], out_layouts=layouts[1])

    def _layouts(self, traced: TracedFunction, call: Call, given: tuple[list[Any] | None, list[Any] | None],
                 are_types: bool) -> tuple[tuple, tuple] | None:
        """The layouts of arguments and results; None if all are the platform's default."""
        if not (layouts_in_use or self.has_layouts or are_types):
            return None
        check_no_tracers(call.leaves)
        layouts = chosen_layouts(self.title, traced.closed, call.leaves, given, call.namer(self.fun))
        return layouts if any(layout is not None for side in layouts for layout in side) else None

    def mesh(self) -> runtime.Mesh | None:
        """The mesh that calls run on, and that partition specs refer to, if there is one."""
        if not self.options.runs_on_entered_mesh:
            return runtime.current_mesh()
        mesh = runtime.entered_mesh()
        if mesh is not None and self.options.device is not None:
            raise ValueError(f"{self.title}: Mesh context manager should not be used with jit when backend or device is also specified as "
                             f"an argument to jit. Call it outside of `with mesh:`, or leave device={self.options.device} out.")
        return mesh

    def formats(self, traced: TracedFunction, call: Call) -> tuple[list[Any] | None, list[Any] | None]:
        """The shardings that the caller of jit gave, some with layouts: one or None per argument and result."""
        given = for_arguments(self.options.in_shardings, self.title, call.in_tree, self.mesh(), self.options.runs_on_entered_mesh)
        if given is not None:
            given = [*given, *[None] * (len(call.leaves) - len(given))]  # references that the function closes over
        return given, self._result_formats(traced)

    def result_formats(self, traced: TracedFunction) -> list[Any] | None:
        """The shardings that the caller of jit gave for the results, with layouts where they are known: one or None per result; None if
        there are none."""
        given = self._result_formats(traced)
        return given and [leaf if layout_of(leaf) is not AUTO else sharding_of(leaf) for leaf in given]

    def _result_formats(self, traced: TracedFunction) -> list[Any] | None:
        given = for_results(self.options.out_shardings, self.title, traced.out_tree, self.mesh(), self.options.runs_on_entered_mesh)
        # the further results are the new values of references
        return given if given is None else [*given, *[None] * (len(traced.general.out_avals) - len(given))]

    def donated(self, call: Call) -> tuple[bool, ...]:
        """Which leaves of a call are donated."""
        options = self.options
        if type(call) is LoweredCall:
            return call.donated
        if not options.donate_argnums and not options.donate_argnames:
            return call.donated or (False,) * len(call.leaves)
        static = {i for i, _ in call.static_args}
        positions = [i for i in range(call.count) if i not in static]
        donated = {i % call.count for i in options.donate_argnums if -call.count <= i < call.count}
        args, kwargs = call.in_tree.children()
        flags = [i in donated for i, arg in zip(positions, args.children()) for _ in range(arg.num_leaves)]
        node = kwargs.node_data()
        names = () if node is None else node[1]
        flags += [k in options.donate_argnames for k, arg in zip(names, kwargs.children()) for _ in range(arg.num_leaves)]
        flags += [False] * (len(call.leaves) - len(flags))
        return tuple([a or b for a, b in zip(flags, call.donated)] if call.donated else flags)

    def program(self, traced: TracedFunction, call: Call, where: runtime.Device | Partitioning,
                lowered: LoweredModule | None = None, compiler_options: tuple[tuple[str, Any], ...] | None = None) -> Program:
        """The compiled program for a traced call and the devices `where`; compiled from `lowered`, if the call has been lowered."""
        options = self.options
        donated = self.donated(call)
        if compiler_options is None:
            compiler_options = options.compiler_options
        entries = traced.programs
        key = (where, donated, options.keep_unused, options.device is not None, compiler_options)
        found = entries.get(key)
        if found is None:
            if config.explain_cache_misses.value:
                from laminax._src.compiling.cache_misses import explain_recompilation
                explain_recompilation(f"jit({self.name})", _PROGRAM_KEY, key, entries, call.namer(self.fun))
                if isinstance(traced, SizedFunction):
                    explain_recompilation(f"jit({self.name})", _SIZES_KEY, (traced.sizes_text,), traced.compiled_sizes,
                                          call.namer(self.fun))
            how: dict[str, Any] = {"name": self.name, "is_pinned": options.device is not None, "compiler_options": dict(compiler_options)}
            is_sized = isinstance(traced, SizedFunction)
            found = None if options.keep_unused or is_sized else compile_by_regions(traced.closed, where, donated=donated, **how)
            if found is None:
                found = compile_lowered(lowered or self.lowered(traced, call, where), traced.general, where, **how)
            entries[key] = found
        return found

    def lowered(self, traced: TracedFunction, call: Call, where: runtime.Device | Partitioning,
                platform: str | Sequence[str] | None = None) -> LoweredModule:
        """A traced call as StableHLO, for the devices where it runs or for other platforms."""
        names, of_results = argument_names(self.fun, call.in_tree, [i for i, _ in call.static_args]), result_names(traced.out_tree)
        if (more := len(call.leaves) - len(names)) > 0 or len(of_results) < len(traced.general.out_avals):
            names = [*names, *[f"ref[{i}]" for i in range(more)]]
            of_results = [*of_results, *[f"ref[{i}]" for i in range(len(traced.general.out_avals) - len(of_results))]]
        donated = self.donated(call)
        write = partial(lower_program, where=where, platform=platform, name=self.name, donated=donated,
                        keep_unused=self.options.keep_unused, arg_names=names, result_names=of_results)
        lowered = None
        if isinstance(traced, SizedFunction) and isinstance(where, runtime.Device) and platform is None:
            lowered = traced.module((lowering_platform(where), donated, self.options.keep_unused), write)
        if lowered is None:
            lowered = write(traced.closed)
        report_unusable_donations(lowered.unusable_donations, lowered.name)
        return lowered


def clear_caches() -> None:
    """Forgets every traced function and compiled program.

    Example:
      >>> clear_caches()
    """
    trace_cache.clear()
    forget_programs()
    runtime.clear_dispatch_caches()
    from laminax_ir.ops.control_tracing import forget_traced_functions
    forget_traced_functions()


# Methods of jitted functions


@api_boundary
def _trace(self: Any, *args: Any, **kwargs: Any) -> Traced:
    """Traces the function for arguments (arrays, or anything with shape and dtype) without running it."""
    from laminax._src.compiling.stages import Traced
    jit_function: JitFunction = self._laminax_jit
    call, avals, traced = jit_function.traced(args, kwargs, as_abstract)
    return Traced(jit_function, call, avals, traced)


@api_boundary
def _lower(self: Any, *args: Any, **kwargs: Any) -> Lowered:
    """Traces and lowers the function for arguments (arrays, or anything with shape and dtype) without running it."""
    return _trace(self, *args, **kwargs).lower()


@api_boundary
def _eval_shape(self: Any, *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of the result, without computing it."""
    return _trace(self, *args, **kwargs).out_info


def _clear_cache(self: Any) -> None:
    """Forgets what was traced and compiled for this function."""
    self._laminax_jit.entries.clear()
    self._clear_cache()


_METHODS: dict[str, Callable] = {"trace": _trace, "lower": _lower, "eval_shape": _eval_shape, "clear_cache": _clear_cache}
runtime.install_jit_methods(_METHODS)
