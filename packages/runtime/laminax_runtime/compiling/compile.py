"""Compilation: StableHLO text to an executable, and running it on arrays.

The text goes to the PJRT client as it is. What an executable must know beyond the machine code is the calling
convention: which of the caller's arguments are parameters, how each is laid out, and the avals of the results, which
carry what XLA has no notion of, such as weak types.
"""

from __future__ import annotations

import itertools
import os
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from laminax_ir.options import config
from laminax_ir.programs.calling_conventions import CallingConvention, HostTransfer, inspection_key
from laminax_ir.types.abstract_meshes import AxisType
from laminax_ir.types.array_layouts import in_use as layouts_in_use
from laminax_ir.types.avals import ShapedArray, aval_in, placed_aval
from laminax_ir.types.memory_spaces import HOST_KIND, MemorySpace, space_of_kind
from laminax_ir.types.type_shardings import names_of
from laminax_runtime import _jaxlib
from laminax_runtime.arrays import layouts, shardings, transfer
from laminax_runtime.arrays.arrays import ArrayImpl
from laminax_runtime.arrays.hlo_shardings import REPLICATED
from laminax_runtime.arrays.named_shardings import as_given
from laminax_runtime.backends import ffi, meshes, placement, processes, topologies
from laminax_runtime.base import options
from laminax_runtime.compiling import watched
from laminax_runtime.compiling.compile_options import options_for
from laminax_runtime.compiling.partitioned_calls import named_calls
from laminax_runtime.compiling.small_loops import without_library_for_reductions
from laminax_runtime.compiling.unloaded import UnloadedProgram

# A sharding over a program's devices, and the rank of the array that it is of, or None.
KnownSharding = tuple[shardings.Sharding, int | None]


def compile_module(
    text: str,
    convention: CallingConvention,
    *,
    name: str = "main",
    devices: Sequence[placement.Device] | None = None,
    in_shardings: Sequence[shardings.Sharding | None] | None = None,
    out_shardings: Sequence[shardings.Sharding | None] | None = None,
    known_shardings: Sequence[KnownSharding] = (),
    num_replicas: int = 1,
    num_partitions: int | None = None,
    compiler_options: Mapping[str, Any] | None = None,
    is_pinned: bool = False,
    is_part: bool = False,
) -> Executable:
    """Compiles a StableHLO module whose `main` takes and returns flat lists of arrays.

    Args:
        text: the module. Donation is expressed in it, by the arguments' attributes `tf.aliasing_output` and
            `jax.buffer_donor`; sharding by Shardy's or GSPMD's attributes.
        convention: how it is called.
        name: what the program is called in errors.
        devices: where it runs, `num_replicas * num_partitions` of them; by default one, the default device.
        in_shardings: one per parameter of `main`, as in the text, or None where XLA is to choose; by default on the
            only device, or else all XLA's choice.
        out_shardings: one per result, likewise.
        known_shardings: shardings over these devices, in terms of which XLA's choices are expressed, each with the rank of its array or
            None; those in `in_shardings` come first.
        num_replicas: how many copies of the program run, each on its own data.
        num_partitions: over how many devices XLA splits each copy; by default all that are left.
        compiler_options: XLA's debug options by name, such as {"xla_cpu_enable_fast_math": True}.
        is_pinned: whether the results are committed to the devices even if no argument is.
        is_part: whether it is a part of a larger program, which the cache on disk keeps however fast the part compiles.

    Returns:
        The executable, ready to run.

    Raises:
        ValueError: the counts of devices, shardings and arrays do not fit each other.
        XlaRuntimeError: the text is not a valid module, an option is unknown, or XLA cannot compile the program.
    """
    assignment = tuple(devices) if devices is not None else (placement.placement_device(),)
    num_partitions = _partitions(len(assignment), num_replicas, num_partitions)
    parameter_avals = [convention.in_avals[i] for i in convention.parameters]
    wanted_in = _one_each("in_shardings", in_shardings, parameter_avals)
    wanted_out = _one_each("out_shardings", out_shardings, convention.out_avals)
    if convention.has_short_reductions:
        compiler_options = without_library_for_reductions(compiler_options)
    compile_options = options_for(assignment, num_replicas, num_partitions, compiler_options, wanted_in, wanted_out)
    if convention.has_layouts:
        layouts_in_use.add("layouts")
    if processes.state.num_processes > 1:
        # Lazy: with the cache's module, which nobody needs before the first compilation.
        from laminax_runtime.compiling.program_agreement import check_agreement

        check_agreement(text, name, assignment)
    known = known_shardings_on(wanted_in, parameter_avals, known_shardings, assignment)
    text, called_back = _with_inspections(text, convention, assignment, known)
    with named_calls(text, convention, assignment, known) as text:
        loaded = _compile_as_called(text, convention, assignment, compile_options, name, is_part)
    del called_back  # which the compiler knew by their addresses
    found_in = _chosen_shardings(wanted_in, loaded.get_parameter_shardings, assignment, parameter_avals, known)
    found_out = _result_shardings(wanted_out, loaded, assignment, convention, known)
    typed = tuple([_typed_as(aval, s) for aval, s in zip(convention.out_avals, found_out, strict=True)])
    return Executable(loaded, name, assignment, replace(convention, out_avals=typed), found_in, found_out, is_pinned)


def _partitions(num_devices: int, num_replicas: int, given: int | None) -> int:
    """The number of partitions, by default of all devices.

    Raises:
        ValueError: the devices are more or fewer than replicas times partitions.
    """
    num_partitions = num_devices // num_replicas if given is None else given
    if num_replicas * num_partitions != num_devices:
        raise ValueError(
            f"compile_module: {num_replicas} replicas of {num_partitions} partitions need "
            f"{num_replicas * num_partitions} devices, got {num_devices}"
        )
    return num_partitions


def _result_shardings(given: tuple[shardings.Sharding | None, ...], loaded: _jaxlib.LoadedExecutable,
                      assignment: Sequence[placement.Device], convention: CallingConvention,
                      known: Sequence[KnownSharding]) -> tuple[shardings.Sharding, ...]:
    """The caller's shardings of the results, and XLA's choice where there is none, in the form that goes with the result's type."""
    avals = convention.out_avals
    found = _chosen_shardings(given, loaded.get_output_shardings, assignment, avals, known)
    has_explicit_axes = any(aval._split is not None for aval in convention.in_avals)
    return tuple([s if wanted is not None else
                  _as_long_as_its_type(with_automatic_axes(s, aval) if has_explicit_axes else s, aval)
                  for s, wanted, aval in zip(found, given, avals, strict=True)])


def _as_long_as_its_type(sharding: shardings.Sharding, aval: ShapedArray) -> shardings.Sharding:
    """The sharding that the compiler chose. If it is the type's, it has an entry for each axis again: XLA's form drops the last ones, and
    mesh axes of one device, which the type may name.
    """
    if aval._split is None or not any(aval._split.spec.partitions) or not isinstance(sharding, shardings.NamedSharding):
        return sharding
    missing = aval.ndim - len(sharding.spec)
    typed, found = aval._split.spec.partitions, (*sharding.spec, *(None,) * missing)
    entries = tuple([_with_axes_of_one(chosen, entry, sharding.mesh) for chosen, entry in zip(found, typed)])
    if missing <= 0 and entries == found or entries == found != typed:
        return sharding
    return sharding.update(spec=sharding.spec.update(partitions=entries))


def _with_axes_of_one(chosen: Any, typed: Any, mesh: meshes.Mesh) -> Any:
    """An entry that the compiler chose, and the mesh axes of one device that the type has there; in the type's order if they are all."""
    ones = [name for name in names_of(typed) if mesh.shape.get(name) == 1 and name not in names_of(chosen)]
    if not ones:
        return chosen
    if [name for name in names_of(typed) if name not in ones] == [*names_of(chosen)]:
        return typed
    return (*ones, *names_of(chosen))


def _with_inspections(text: str, convention: CallingConvention, assignment: tuple[placement.Device, ...],
                      known: Sequence[KnownSharding]) -> tuple[str, list[Callable[..., Any]]]:
    """The text with the compiler's names for the functions that want to know a value's sharding, and what it will call."""
    called_back: list[Callable[..., Any]] = []
    for index, (callback, ndim) in enumerate(convention.inspections):
        def say(chosen: _jaxlib.HloSharding, callback: Callable[[Any], Any] = callback, ndim: int = ndim) -> None:
            callback(as_given(chosen, ndim, assignment, known))

        if len(assignment) == 1:
            is_named = any(isinstance(s, shardings.NamedSharding) for s, _ in known)
            callback(as_given(REPLICATED, ndim, assignment, known) if is_named else shardings.on_device(assignment[0]))
            continue
        called_back.append(say)
        key = _jaxlib.encode_inspect_sharding_callback(say)
        text = text.replace(inspection_key(index), "".join(f"\\{byte:02X}" for byte in key))
    return text, called_back


def _compile_as_called(text: str, convention: CallingConvention, assignment: tuple[placement.Device, ...],
                       compile_options: _jaxlib.CompileOptions, name: str, is_part: bool) -> _jaxlib.LoadedExecutable:
    """The module as jaxlib's executable: from the compiler, or from the disk where its convention lets it be kept there."""
    ffi.ensure_kernels(convention.call_targets, assignment[0].client)
    is_dynamic = convention.has_dynamic_shapes
    if options.dump_ir_to.value is not None:
        _dump(_jaxlib.refined_text(text) if is_dynamic else text, name)
    try:
        if not convention.holds_addresses:
            return _load_or_compile(text, assignment, compile_options, name, is_part, is_dynamic, convention.host_callbacks)
        callbacks = [*convention.host_callbacks, *(_connected(transfer, assignment[0].client) for transfer in convention.host_transfers)]
        loaded = _compile_and_load(text, assignment, compile_options, callbacks, is_dynamic)
    except _jaxlib.XlaRuntimeError as error:
        error.add_note(f"This came from compiling {name} for {assignment[0]}, with jaxlib {_jaxlib.version}.")
        raise
    if config.explain_cache_misses.value and options.enable_compilation_cache.value:
        from laminax_runtime.compiling import compilation_cache  # as in `_load_or_compile`

        compilation_cache.log_not_stored(name, "because it holds addresses of this process")
    return loaded


def known_shardings_on(given: Sequence[shardings.Sharding | None], avals: Sequence[ShapedArray], known: Sequence[KnownSharding],
                       assignment: Sequence[placement.Device]) -> list[KnownSharding]:
    """The shardings over whose meshes the compiler's choices are expressed, all in the devices' default memory."""
    memory = placement.default_memory_kind(assignment[0])
    all_known = [(s, aval.ndim) for s, aval in zip(given, avals, strict=True) if s is not None] + [*known]
    return [(s if memory is None or s.memory_kind == memory else s.with_memory_kind(memory), ndim) for s, ndim in all_known]


def _connected(transfer: HostTransfer, client: _jaxlib.Client) -> Any:
    """A function of Python that a program sends to and receives from, as the client's object that is given to its compiler."""
    operands, results = ([_jaxlib.array_shape(aval.dtype, aval.shape) for aval in avals] for avals in (transfer.operands, transfer.results))
    return client.make_python_callback_from_host_send_and_recv(
        transfer.function, operands, results, transfer.send_channels, transfer.receive_channels, _pickled)


def _pickled(function: Any) -> bytes:
    """The function, pickled for clients of devices on another machine: they call it there."""
    import pickle

    return pickle.dumps(function)


def with_automatic_axes(sharding: shardings.Sharding, aval: ShapedArray) -> shardings.Sharding:
    """The compiler's sharding for a result whose type has none: over the same mesh, with automatic axes in place of explicit ones."""
    if aval._split is not None or not isinstance(sharding, shardings.NamedSharding) or not sharding.mesh.explicit_axes:
        return sharding
    return sharding.update(mesh=sharding.mesh.update(axis_types=(AxisType.Auto,) * len(sharding.mesh.axis_names)))


def _typed_as(aval: ShapedArray, sharding: shardings.Sharding) -> ShapedArray:
    """The type of a result as it is placed: with its actual sharding over explicit mesh axes, and its actual memory."""
    if isinstance(sharding, shardings.NamedSharding) and sharding.mesh.explicit_axes:
        return placed_aval(aval, sharding)
    return aval_in(aval, space_of_kind(sharding.memory_kind))


def _dump(text: str, name: str) -> None:
    """Writes a module to a file of its own; modules are numbered in the order of their compilation."""
    folder = options.dump_ir_to.value
    os.makedirs(folder, exist_ok=True)
    printable = re.sub(r"[^\w.-]", "_", name)[:100]
    with open(os.path.join(folder, f"{os.getpid()}-{next(_dumped):05d}-{printable}.mlir"), "w") as file:
        file.write(text)


_dumped = itertools.count()


def _one_each(name: str, given: Sequence[Any] | None, avals: Sequence[ShapedArray]) -> tuple:
    if given is not None and len(given) != len(avals):
        raise ValueError(f"compile_module: {len(given)} {name} were given for {len(avals)} arrays")
    return (None,) * len(avals) if given is None else tuple(given)


def _load_or_compile(text: str, assignment: tuple[placement.Device, ...], compile_options: _jaxlib.CompileOptions, name: str,
                     is_part: bool, is_dynamic: bool, host_callbacks: Sequence[Callable[..., Any]]) -> _jaxlib.LoadedExecutable:
    """The program from the disk, or else from the compiler, and then to the disk if that took long.

    A module with dynamic shapes is known by its text before the sizes are found, so that from the disk they need not be. The text names
    functions of Python by numbers, which say the same in every process: a program from the disk is given this process's functions.
    """
    # Lazy: with hashlib and zlib it takes 4 ms, and nobody needs it before the first compilation.
    from laminax_runtime.compiling import compilation_cache, transformations

    key = compilation_cache.make_key(text, assignment, compile_options)
    if key is None or transformations.any_registered():
        return _compile_and_load(text, assignment, compile_options, host_callbacks, is_dynamic)
    if (loaded := compilation_cache.load(key, assignment, compile_options, name, host_callbacks)) is not None:
        return loaded
    start = time.perf_counter()
    loaded = _compile_and_load(text, assignment, compile_options, host_callbacks, is_dynamic)
    compilation_cache.store(key, loaded, time.perf_counter() - start, name, assignment, is_part)
    return loaded


def _compile_and_load(text: str, assignment: Sequence[placement.Device], compile_options: _jaxlib.CompileOptions,
                      host_callbacks: Sequence[Callable[..., Any]], is_dynamic: bool) -> _jaxlib.LoadedExecutable:
    client = assignment[0].client
    device_list = _jaxlib.DeviceList(assignment)
    program = _jaxlib.refined_module(text) if is_dynamic else text
    if topologies.is_compile_only(assignment[0]):
        module, context = _jaxlib.mlir_module_from_text(program)
        with context:
            connected = [callback for callback in host_callbacks if not callable(callback)]  # the others would be called when it runs
            compiled = client.compile(module, device_list, compile_options, connected)
            return cast(_jaxlib.LoadedExecutable, UnloadedProgram(compiled, assignment[0]))
    if not host_callbacks:
        return client.compile_and_load(program, device_list, compile_options)
    module, context = _jaxlib.mlir_module_from_text(program)
    with context:
        return client.compile_and_load(module, device_list, compile_options, list(host_callbacks))


def _chosen_shardings(given: tuple[shardings.Sharding | None, ...], read_back: Callable[[], Any], assignment: Sequence[placement.Device],
                      avals: Sequence[ShapedArray], known: Sequence[KnownSharding]) -> tuple[shardings.Sharding, ...]:
    """The caller's shardings, and XLA's choice where there is none, in the memory of the type."""
    said = tuple([s for s in given if s is not None])
    if len(said) == len(given):
        return said
    found = _choices(given, read_back, assignment, avals, known)
    return tuple([s.with_memory_kind(HOST_KIND) if wanted is None and aval.memory_space is MemorySpace.Host else s
                  for wanted, s, aval in zip(given, found, avals, strict=True)])


def _choices(given: Sequence[shardings.Sharding | None], read_back: Callable[[], Any], assignment: Sequence[placement.Device],
             avals: Sequence[ShapedArray], known: Sequence[KnownSharding]) -> tuple[shardings.Sharding, ...]:
    if len(assignment) == 1:
        if not any(isinstance(s, shardings.NamedSharding) for s, _ in known):
            return tuple(shardings.on_device(assignment[0]) if s is None else s for s in given)
        chosen = [REPLICATED] * len(avals)
    else:
        protos = read_back()
        if protos is not None and len(protos) == 1 and len(avals) != 1 and (elements := protos[0].tuple_shardings):
            protos = elements
        chosen = [REPLICATED] * len(avals) if protos is None else [*map(_jaxlib.HloSharding.from_proto, protos)]
    return tuple(
        as_given(hlo, aval.ndim, assignment, known) if s is None else s
        for s, hlo, aval in zip(given, chosen, avals, strict=True)
    )


class Executable:
    """A compiled program with its calling convention.

    `in_avals` and `kept` are one per argument of the caller; `in_shardings` one per parameter of the program. The result types in its
    convention have the results' actual shardings and memories.
    """

    def __init__(
        self,
        loaded: _jaxlib.LoadedExecutable,
        name: str,
        devices: tuple[placement.Device, ...],
        convention: CallingConvention,
        in_shardings: tuple[shardings.Sharding, ...],
        out_shardings: tuple[shardings.Sharding, ...],
        is_pinned: bool,
    ) -> None:
        self.loaded = loaded
        self.name = name
        self.devices = devices
        self.convention = convention
        self.in_avals = convention.in_avals
        self.out_avals = convention.out_avals
        self.kept = convention.kept
        self.in_shardings = in_shardings
        self.out_shardings = out_shardings
        self.is_pinned = is_pinned
        self._are_all_kept = all(convention.kept)
        self._handlers: dict[bool, list[Any]] = {}
        self._parameter_layouts: list[Any] | None = None
        self._lock = threading.Lock()

    # running

    def execute(self, args: Sequence[Any]) -> list[ArrayImpl]:
        """Runs the program.

        Args:
            args: one array or scalar per element of `in_avals`, of that aval. Those not on the program's devices are
                brought there.

        Returns:
            One array per element of `out_avals`, committed if an argument is or the executable is pinned. They may not
            be ready yet.

        Raises:
            DeletedArrayError: an argument was deleted or donated.
            XlaRuntimeError: the program failed, as far as that is known at once.
        """
        if len(args) != len(self.in_avals):
            raise TypeError(f"{self.name} takes {len(self.in_avals)} arrays, got {len(args)}")
        placed, handlers = self._prepare(args)
        if processes.state.watch is not None:
            return watched.execute(self.loaded, placed, handlers, self.devices)[0]
        return self.loaded.execute_sharded(placed).consume_with_handlers(handlers)

    __call__ = execute

    def execute_with_token(self, args: Sequence[Any]) -> tuple[list[ArrayImpl], Any]:
        """Runs the program, and returns besides its results a token to wait on with `block_until_ready()`."""
        placed, handlers = self._prepare(args)
        if processes.state.watch is not None:
            return watched.execute(self.loaded, placed, handlers, self.devices)
        results = self.loaded.execute_sharded(placed, with_tokens=True)
        return results.consume_with_handlers(handlers), results.consume_token()

    def _prepare(self, args: Sequence[Any]) -> tuple[list[ArrayImpl], list[Any]]:
        """The program's parameters where it expects them, and the handlers that make arrays of its results."""
        if options.no_execution.value:
            raise RuntimeError(f"{self.name} was to be run, but the option no_execution is set. Run it outside of that.")
        if type(self.loaded) is UnloadedProgram:
            self.loaded.execute_sharded(args)
        is_committed = self.is_pinned or any(type(x) is ArrayImpl and x._committed for x in args)
        used = args if self._are_all_kept else [x for x, is_kept in zip(args, self.kept, strict=True) if is_kept]
        placed = [transfer.place_argument(x, sharding) for x, sharding in zip(used, self.in_shardings, strict=True)]
        if layouts_in_use:
            placed = [layouts.with_layout(x, layout) for x, layout in zip(placed, self.parameter_layouts, strict=True)]
        return placed, self.result_handlers(is_committed)

    def result_handlers(self, is_committed: bool) -> list[Any]:
        """The handlers that make arrays of the program's results, committed or not."""
        handlers = self._handlers.get(is_committed)
        if handlers is None:
            handlers = self._handlers[is_committed] = [
                _jaxlib.result_handler(aval, sharding, is_committed)
                for aval, sharding in zip(self.out_avals, self.out_shardings, strict=True)
            ]
        return handlers

    # looking inside

    @property
    def parameter_layouts(self) -> list[Any]:
        """The layout of each parameter of the program, as jaxlib has it."""
        if self._parameter_layouts is None:
            self._parameter_layouts = self.loaded.get_parameter_layouts()
        return self._parameter_layouts

    @property
    def result_layouts(self) -> list[Any]:
        """The layout of each result, as jaxlib has it."""
        return self.loaded.get_output_layouts()

    def as_text(self) -> str:
        """The optimised HLO."""
        return self.loaded.get_hlo_text()

    def hlo_modules(self) -> list[Any]:
        """The optimised HLO as jaxlib's module objects."""
        return self.loaded.hlo_modules()

    def cost_analysis(self) -> dict[str, Any]:
        """XLA's estimate of the operations and memory traffic of one run, by XLA's names such as 'flops'."""
        return self.loaded.cost_analysis()

    def memory_analysis(self) -> Any:
        """The bytes of arguments, results, temporaries and code, as XLA's statistics object."""
        return self.loaded.get_compiled_memory_stats()

    @property
    def fingerprint(self) -> bytes | None:
        """Equal for equal machine code, where the platform can say."""
        return self.loaded.fingerprint

    def serialize(self) -> bytes:
        """The compiled program as bytes, for the same version of jaxlib on the same kind of machine."""
        if isinstance(self.loaded, UnloadedProgram):
            return self.loaded.serialize()
        return self.devices[0].client.serialize_executable(self.loaded)

    def __reduce__(self) -> tuple[Any, Any]:
        if self.convention.needs_this_process:
            raise TypeError(f"{self.name} cannot be pickled: it calls functions of this process. Leave the callbacks out.")
        device_ids = [device.id for device in self.devices]
        return _load_executable, (
            self.serialize(), self.name, self.devices[0].platform, device_ids, self.convention, self.in_shardings, self.out_shardings,
            self.is_pinned,
        )

    def __repr__(self) -> str:
        return f"<Executable {self.name} on {', '.join(map(str, self.devices))}>"


def _load_executable(serialized: bytes, name: str, platform: str, device_ids: Sequence[int], convention: CallingConvention,
                     in_shardings: tuple[shardings.Sharding, ...], out_shardings: tuple[shardings.Sharding, ...],
                     is_pinned: bool) -> Executable:
    """A pickled executable, on devices of the same ids."""
    by_id = {device.id: device for device in placement.devices(platform)}
    if missing := [i for i in device_ids if i not in by_id]:
        raise ValueError(f"the pickled executable {name} runs on {platform} devices {missing}, which this process does not have")
    devices = tuple(by_id[i] for i in device_ids)
    ffi.ensure_kernels(convention.call_targets, devices[0].client)
    compile_options = options_for(devices, 1, len(devices), None, in_shardings, out_shardings)
    try:
        loaded = devices[0].client.deserialize_executable(serialized, _jaxlib.DeviceList(devices), compile_options)
    except _jaxlib.XlaRuntimeError as error:
        error.add_note(f"This came from loading the pickled executable {name} with jaxlib {_jaxlib.version}; it runs with the "
                       "version and on the kind of machine that compiled it.")
        raise
    return Executable(loaded, name, devices, convention, in_shardings, out_shardings, is_pinned)


def place_constant(x: ArrayImpl, sharding: shardings.Sharding) -> ArrayImpl:
    """Puts a program's constant where the program expects it, once instead of in every call; constants do not commit results."""
    try:
        placed = transfer.place_argument(x, sharding)
    except NotImplementedError:
        if x._sharding.is_fully_addressable:
            raise
        raise RuntimeError(
            "Closing over jax.Array that spans non-addressable (non process local) devices is not allowed in a program that does not run "
            f"on them. Please pass such arrays as arguments to the function, or set the mesh of the array. Got {x.aval.str_short()} on "
            f"{x._sharding}; the program runs on {sharding}.") from None
    if placed._sharding is sharding:
        return transfer.as_uncommitted(placed)
    return transfer.with_metadata(placed, placed.aval, sharding, False)
