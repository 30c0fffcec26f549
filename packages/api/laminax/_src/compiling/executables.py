"""From programs to executables: lowering and compiling with the layers below, and running on any values.

Key arrays are stored as arrays of words, and float0 arrays, which carry nothing, as booleans; this module is where
they are unwrapped on the way into an executable and wrapped again on the way out.
"""

from __future__ import annotations

import os
from copy import copy
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence
from weakref import ref

import numpy as np

import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import ExtendedArray, array_of_stored, stored_aval
from laminax_ir.options import config
from laminax_ir.programs.effects import has_ordered
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr, subjaxprs
from laminax_ir.pytrees.pytree import dispatch_registry
from laminax_ir.tracing.leaks import check_no_tracers
from laminax_ir.tracing.user_warnings import warn_at_user
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray

from laminax._src.base.phases import phase
from laminax._src.compiling.effects import execute as execute_with_effects
from laminax._src.placement.partitioning import Partitioning, layout_modes, memories, names_shardings, place, writable_shardings

if TYPE_CHECKING:  # loaded when something is lowered
    from laminax_lowering import LoweredModule


class Program:
    """A compiled program with its calling convention: constants first, key and float0 arrays as the arrays that store them."""

    __slots__ = ("executable", "const_args", "out_avals", "is_wrapping", "effects", "value_bytes", "_may_exceed_memory")

    def __init__(self, executable: runtime.Executable | runtime.ExecutableSequence, const_args: list[Any], out_avals: Sequence[ShapedArray],
                 is_wrapping: bool, effects: frozenset[Any], value_bytes: int | None = None) -> None:
        self.executable: Any = executable
        self.const_args: list[Any] = const_args
        self.out_avals: Sequence[ShapedArray] = out_avals
        self.is_wrapping: bool = is_wrapping
        self.effects: frozenset[Any] = effects
        self.value_bytes: int | None = value_bytes  # of all values that it computes, if that is known
        self._may_exceed_memory: bool | None = None

    def __reduce__(self) -> tuple[type[Any], tuple[Any, ...]]:
        return Program, (self.executable, self.const_args, self.out_avals, self.is_wrapping, self.effects, self.value_bytes)

    @property
    def may_exceed_memory(self) -> bool:
        """Whether it runs on a host and needs more than half of its memory."""
        if self._may_exceed_memory is None:
            self._may_exceed_memory = False
            if self.executable.devices[0].platform == "cpu" and (memory := _host_memory()) is not None:
                most = memory // (2 * len(self.executable.devices))
                self._may_exceed_memory = not self._is_small(most) and self._needed_bytes() > most
        return self._may_exceed_memory

    def _is_small(self, most: int) -> bool:
        """Whether its values could not take so many bytes even if each lay in memory of its own, and in four forms.

        The compiler's own statistics are read from a description of every buffer: 0.15 s for a ResNet-18 that trains.
        """
        return self.value_bytes is not None and 4 * self.value_bytes <= most

    def _needed_bytes(self) -> int:
        """The bytes of its results and of what lies between, on each device, as the compiler has laid them out."""
        stats = self.executable.memory_analysis()
        return stats.temp_size_in_bytes + stats.output_size_in_bytes

    def run(self, args: Sequence[Any]) -> list[Any]:
        """Runs the program on one value per argument; returns one array per result."""
        if not self.is_wrapping:
            return self._execute([*self.const_args, *args])
        outs = self._execute([*self.const_args, *map(_stored, args)])
        return [wrapped(out, aval) for out, aval in zip(outs, self.out_avals)]

    def _execute(self, args: Sequence[Any]) -> list[Any]:
        if not self.effects:
            return self.executable.execute(args)
        return execute_with_effects(self.executable, args, has_ordered(self.effects))

    def fastpath(self, out_tree: Any, outs: Sequence[Any], args: Sequence[Any]) -> runtime.FastpathData | None:
        """The data with which C++ runs the next call of this kind itself, or None if it must not."""
        if self.effects or isinstance(self.executable, runtime.ExecutableSequence):
            return None
        if self.is_wrapping:
            if dispatch_registry is None or any(isinstance(x, np.ndarray) and x.dtype == dtypes.float0 for x in (*outs, *args)):
                return None
            outs, out_tree = dispatch_registry.flatten(out_tree.unflatten(outs))  # to C++, keys are nodes that hold words
            args = [_stored(x) for x in args]
        return runtime.fastpath_data(self.executable, out_tree, outs, args, const_args=self.const_args)


def execution_device(args: Sequence[Any], device: runtime.Device | None = None,
                     mesh: runtime.Mesh | None = None) -> runtime.Device | None:
    """The device on which to run a computation on these arguments; a given device prevails. None: see `partitioning`.

    Raises:
      LeakedTracerError: if an argument is a tracer, whose trace must have ended.
    """
    check_no_tracers(args)
    return runtime.execution_device([_stored(x) for x in args], device, mesh)


def where_to_run(name: str, closed: ClosedJaxpr, args: Sequence[Any]) -> runtime.Device | Partitioning:
    """Where to run a program on these arguments: their device, or the devices that a mesh, a sharding or the program names."""
    mesh = runtime.current_mesh()
    device = execution_device(args, mesh=mesh)
    return place(name, closed, args, mesh=mesh) if device is None or names_shardings(closed) else device


def deleted_argument_error(error: runtime.DeletedArrayError, title: str, args: Sequence[Any],
                           namer: Callable[[int], str]) -> runtime.DeletedArrayError:
    """The error of a call with the names of the arguments that were deleted before it."""
    named = [f"{namer(i)}, {x.aval.str_short()}," for i, x in enumerate(args)
             if isinstance(stored := _stored(x), runtime.ArrayImpl) and stored.is_deleted()]
    if not named:  # a constant of the program
        return error
    return runtime.DeletedArrayError(f"{error} It is the argument {' '.join(named)} of {title}.")


def check_none_deleted(args: Sequence[Any]) -> None:
    """Raises DeletedArrayError for the first argument that was deleted or donated."""
    for x in args:
        if isinstance(stored := _stored(x), runtime.ArrayImpl):
            runtime.check_alive(stored)


def overflow_error(error: OverflowError, title: str, args: Sequence[Any], namer: Callable[[int], str]) -> OverflowError:
    """The error of a call with the name of the argument that its dtype does not hold."""
    for i, x in enumerate(args):
        if type(x) is int:
            try:
                dtypes.coerce_to_array(x)
            except OverflowError:
                return OverflowError(f"An overflow was encountered while parsing an argument to {title}, whose argument path is "
                                     f"{namer(i)}. {error}")
    return error


def note_repeated_arguments(error: Exception, title: str, args: Sequence[Any], donated: Sequence[bool],
                            namer: Callable[[int], str]) -> None:
    """Adds to XLA's error for a donated buffer that is used twice in one call: which arguments are the same array."""
    by_array: dict[int, list[int]] = {}
    for i, x in enumerate(args):
        if isinstance(stored := _stored(x), runtime.ArrayImpl):
            by_array.setdefault(id(stored), []).append(i)
    for places in by_array.values():
        if len(places) > 1 and any(donated[i] for i in places):
            error.add_note(f"{title}: the arguments {' and '.join(map(namer, places))} are the same array, and donated. Give copies, "
                           "x.copy(), or do not donate.")


def raise_if_out_of_memory(program: Program, outs: Sequence[Any]) -> None:
    """Raises the error of a call that has found too little memory; on the CPU it is left in the results, with nobody to say what it was."""
    if program.may_exceed_memory and outs and type(outs[0]) is runtime.ArrayImpl:
        try:
            outs[0].block_until_ready()
        except runtime.XlaRuntimeError as error:
            if runtime.is_out_of_memory(error):
                raise


def note_largest_buffers(error: Exception, title: str, program: Program, namer: Callable[[int], str], count: int) -> None:
    """Adds to the error of a call that found too little memory: what the program needs, its three largest buffers, and what to do."""
    if not runtime.is_out_of_memory(error):
        return
    from laminax._src.inspecting.memory import memory_note
    try:
        names = [*[f"constant {i}" for i in range(len(program.const_args))], *map(namer, range(count))]
        kept = program.executable.kept if isinstance(program.executable, runtime.Executable) else (True,) * len(names)
        error.add_note(memory_note(program.executable, title, [name for name, is_kept in zip(names, kept) if is_kept]))
    except (runtime.XlaRuntimeError, NotImplementedError, ValueError):
        pass  # the platform does not tell what its buffers are, or in a form that is not known here: the error stays as it is


def _stored(x: Any) -> Any:
    """The array that an executable takes for a value: the words of keys, booleans for float0."""
    if isinstance(x, ExtendedArray):
        return x.base
    if isinstance(x, np.ndarray) and x.dtype == dtypes.float0:
        return np.zeros(x.shape, bool)
    return x


def _constant(value: Any, aval: ShapedArray) -> runtime.ArrayImpl:
    """A constant on a device, of its dtype in the program, even if `enable_x64` has changed since."""
    value = _stored(value)
    if isinstance(value, np.ndarray):
        return runtime.put_exactly(value, stored_aval(aval))
    placed = runtime.in_default_layout(runtime.device_put(value))
    return _copy_of(value) if placed is value else placed


_copies: dict[int, tuple[ref, ref]] = {}  # by the id of an array: the array, and its copy for programs that have it as a constant


def _copy_of(x: runtime.ArrayImpl) -> runtime.ArrayImpl:
    """A copy of an array that a function closes over, one for all programs.

    The array may be deleted or donated; programs that were compiled with the copy keep it.
    """
    known = _copies.get(id(x))
    if known is not None and known[0]() is x and (found := known[1]()) is not None and not found.is_deleted():
        return found
    runtime.check_alive(x)
    made = copy(x)
    _copies[id(x)] = ref(x, partial(_copies.pop, id(x))), ref(made)
    return made


def wrapped(out: Any, aval: ShapedArray) -> Any:
    """The value of this type that an executable's output stores; the inverse of `_stored`."""
    if dtypes.is_extended(aval.dtype):
        return array_of_stored(aval.dtype, out)
    return np.zeros(aval.shape, dtypes.float0) if aval.dtype == dtypes.float0 else out


def _is_wrapped(aval: ShapedArray) -> bool:
    return dtypes.is_extended(aval.dtype) or aval.dtype == dtypes.float0


def lowering_platform(device: runtime.Device) -> str:
    """The lowering's name for a device's platform."""
    if device.platform == "gpu":
        return "rocm" if runtime.is_rocm(device.client) else "cuda"
    return device.platform


def lower_program(closed: ClosedJaxpr, where: runtime.Device | Partitioning, *, platform: str | Sequence[str] | None = None,
                  **options: Any) -> LoweredModule:
    """Lowers a program for the device or devices `where`; for their platform, unless one or several platforms are given."""
    if platform is None:
        _check_values(closed, options["name"])
    with phase("Lowering", f"jit({options['name']})", closed.in_avals):
        return write_module(closed, where, platform, **options)


def write_module(closed: ClosedJaxpr, where: runtime.Device | Partitioning, platform: str | Sequence[str] | None = None,
                 **options: Any) -> LoweredModule:
    """A program as a module, as `lower_program` gives it, but without a check of sizes and without a report."""
    from laminax_lowering import lower
    cpu_kernels = platform is None and config.cpu_kernels.value
    if not isinstance(where, Partitioning):
        return lower(closed, platform=platform or lowering_platform(where), cpu_kernels=cpu_kernels,
                     has_new_cpu_compiler=runtime.has_new_cpu_compiler(), **options)
    return lower(closed, platform=platform or lowering_platform(where.devices[0]), num_partitions=where.num_devices,
                 devices=where.devices,
                 arg_shardings=writable_shardings(where.in_shardings, closed.in_avals),
                 result_shardings=writable_shardings(where.out_shardings, closed.out_avals),
                 arg_memories=memories(where.in_shardings, closed.in_avals),
                 result_memories=memories(where.out_shardings, closed.out_avals),
                 arg_layouts=layout_modes(where.in_layouts), result_layouts=layout_modes(where.out_layouts), **options)


def _check_values(closed: ClosedJaxpr, name: str) -> None:
    """Refuses programs with values that no memory holds, in the compiler's words: the compiler would crash on them.

    Raises:
      JaxRuntimeError: if a value has 2**63 bytes or more.
    """
    seen = {var.aval: eqn for eqn in closed.jaxpr.eqns for var in eqn.outvars}  # few types, of many values
    for aval, eqn in seen.items():
        if isinstance(aval, ShapedArray) and _byte_count([aval]) >= 2**63:
            raise _out_of_memory(_byte_count([aval]), f"jit({name}): the result {aval.str_short()} of {eqn.primitive}")


def _check_results(out_avals: Sequence[ShapedArray], where: runtime.Device | Partitioning, name: str) -> None:
    """Refuses to compile programs with results that the host's memory does not hold: the compiler would crash on some, or never return.

    Raises:
      JaxRuntimeError: if the results on a host have more than twice the bytes of its memory.
    """
    devices = where.devices if isinstance(where, Partitioning) else (where,)
    memory = _host_memory() if devices[0].platform == "cpu" else None
    if memory is not None and (total := _byte_count(out_avals)) > 2 * memory * len({d.process_index for d in devices}):
        raise _out_of_memory(total, f"jit({name}): the results are {', '.join(aval.str_short() for aval in out_avals)}, and the "
                                    f"host has {memory} bytes of memory")


def _byte_count(avals: Sequence[ShapedArray]) -> int:
    """The bytes of arrays of these types; arrays with symbolic sizes do not count."""
    return sum([aval.size * aval.dtype.itemsize for aval in avals if type(aval.size) is int])


def _value_bytes(jaxpr: Jaxpr, known: dict[int, int | None]) -> int | None:
    """The bytes of a program's arguments and of all that it computes, in the programs of its equations too; None with symbolic sizes.

    `known` has what was found of programs by their ids, since a program may be called many times.
    """
    if id(jaxpr) in known:
        return known[id(jaxpr)]
    total: int | None = 0
    for var in (*jaxpr.all_invars, *[var for eqn in jaxpr.eqns for var in eqn.outvars]):
        if isinstance(aval := var.aval, ShapedArray):
            stored = stored_aval(aval)
            total = None if total is None or type(stored.size) is not int else total + stored.size * stored.dtype.itemsize
    for inner in [inner for eqn in jaxpr.eqns for inner in subjaxprs(eqn)]:
        found = _value_bytes(inner, known)
        total = None if total is None or found is None else total + found
    known[id(jaxpr)] = total
    return total


@cache
def _host_memory() -> int | None:
    """The bytes of physical memory, if the system tells them."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _out_of_memory(count: int, what: str) -> Exception:
    return runtime.XlaRuntimeError(f"RESOURCE_EXHAUSTED: Out of memory allocating {count} bytes. {what}.")


def compile_lowered(lowered: LoweredModule, closed: ClosedJaxpr, where: runtime.Device | Partitioning, *, name: str,
                    is_pinned: bool = False, is_part: bool = False, compiler_options: Mapping[str, Any] | None = None) -> Program:
    """Compiles a lowered program, or a part of one, for where it runs; arguments as for `regions.compile_program`.

    `closed` has its constants and effects, and may be the program for all sizes where `lowered` is for some.
    """
    _check_results(lowered.out_avals, where, name)
    const_args = constants_of(closed, name)
    layout: dict[str, Any] = {"devices": [where], "is_pinned": is_pinned, "is_part": is_part}
    if isinstance(where, Partitioning):
        layout = {"devices": where.devices, "is_pinned": where.is_pinned, "out_shardings": where.out_shardings,
                  "in_shardings": [*[None] * len(const_args), *(where.in_shardings[i] for i in lowered.kept)],
                  "known_shardings": [(s, None) for s in where.meshes]}
    with phase("Compiling", f"jit({name})", lowered.in_avals):
        executable = runtime.compile_module(lowered.text, lowered.convention, name=lowered.name, compiler_options=compiler_options,
                                            **layout)
    if not runtime.is_compile_only(executable.devices[0]):
        with runtime.unguarded_transfers():
            const_args = [runtime.place_constant(c, sharding) for c, sharding in zip(const_args, executable.in_shardings)]
    is_wrapping = any(map(_is_wrapped, (*lowered.in_avals, *lowered.out_avals)))
    return Program(executable, const_args, lowered.out_avals, is_wrapping, closed.effects, _value_bytes(closed.jaxpr, {}))


def program_of(closed: ClosedJaxpr, executable: runtime.Executable | runtime.ExecutableSequence, const_args: list[Any]) -> Program:
    """A program with what runs it."""
    is_wrapping = any(map(_is_wrapped, (*closed.in_avals, *closed.out_avals)))
    return Program(executable, const_args, closed.out_avals, is_wrapping, closed.effects, _value_bytes(closed.jaxpr, {}))


def constants_of(closed: ClosedJaxpr, name: str) -> list[runtime.ArrayImpl]:
    """The constants of a program on a device, for `place_constant`."""
    check_no_tracers(closed.consts)
    _warn_of_large_constants(closed.consts, name)
    with runtime.unguarded_transfers():
        return [_constant(c, v.aval) for c, v in zip(closed.consts, closed.jaxpr.constvars, strict=True)]


def _warn_of_large_constants(consts: Sequence[Any], name: str) -> None:
    """Warns of constants that reach the bytes of the option `captured_constants_warn_bytes`."""
    limit, total = config.captured_constants_warn_bytes.value, sum(getattr(c, "nbytes", 0) for c in consts)
    if total >= limit >= 0 and consts:
        warn_at_user(
            f"A large amount of constants were captured during lowering of jit({name}) ({total / 1e9:.2f}GB total). If this is intended, "
            "set captured_constants_warn_bytes to -1; otherwise pass them as arguments, so that programs share them.")


def report_unusable_donations(avals: Sequence[ShapedArray], name: str) -> None:
    """Warns, at the user's line, that no result can take over the buffers of donated arguments of these types."""
    if not avals:
        return
    listed = ", ".join(aval.str_short(short_dtypes=False) for aval in avals)
    warn_at_user(
        f"Some donated buffers were not usable: {listed}.\nA donated buffer is reused for a result of the same shape and "
        f"dtype, of which {name} has none left. Do not donate these arguments.")
