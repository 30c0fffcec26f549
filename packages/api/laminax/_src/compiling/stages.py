"""The stages of a jitted function ahead of time: traced, lowered, compiled."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Callable, NoReturn, Protocol, Sequence, cast, runtime_checkable

import laminax_runtime as runtime
from laminax_ir.key_arrays.keys import physical_aval
from laminax_ir.options.records import Record
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.pytrees.pytree import structure_errors, tree_flatten, tree_structure, tree_unflatten
from laminax_ir.recording.type_lowering import has_hi_types
from laminax_ir.refs.refs import Ref, check_aliases
from laminax_ir.symbolic.sized_programs import value_at_sizes
from laminax_ir.symbolic.symbolic_dims import is_constant_shape
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types.arguments import check_hashable
from laminax_ir.types.array_layouts import Format
from laminax_ir.types.array_layouts import in_use as layouts_in_use
from laminax_ir.types.avals import ShapedArray, ShapeDtypeStruct, get_aval, is_array_like
from laminax_ir.types.hi_types import HiType

from laminax._src.compiling.abstract_arguments import AvalHolder
from laminax._src.compiling.checked_results import check_results, is_checking
from laminax._src.compiling.executables import (
    Program,
    check_none_deleted,
    deleted_argument_error,
    lowering_platform,
    note_largest_buffers,
    raise_if_out_of_memory,
)
from laminax._src.compiling.hi_calls import HiTypeUse, call_on_arrays
from laminax._src.compiling.ref_calls import RefUse, pure_call
from laminax._src.compiling.sized_functions import at_call
from laminax._src.placement.partitioning import Partitioning, committed_sharding

if TYPE_CHECKING:  # loaded when something is lowered
    from laminax_lowering import LoweredModule
    from laminax_runtime.running.dispatch import FastpathData

    from laminax._src.compiling.tracing import TracedFunction


def _struct(aval: ShapedArray, sharding: runtime.Sharding | None = None) -> ShapeDtypeStruct:
    if isinstance(aval, HiType):
        return aval
    return ShapeDtypeStruct(aval.shape, aval.dtype, sharding=sharding, weak_type=aval.weak_type)


CompilerOptions = dict[str, str | bool]


class ArgInfo(Record):
    """The type of an argument, and whether its buffer may be overwritten."""

    _aval: ShapedArray
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        return self._aval.dtype


@runtime_checkable
class Wrapped(Protocol):
    """A function that can be traced and lowered ahead of time: what `jit` returns."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def trace(self, *args: Any, **kwargs: Any) -> Traced: ...

    def lower(self, *args: Any, **kwargs: Any) -> Lowered: ...

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any: ...


class Signature(Record):
    """The signature of a traced function: for each leaf of the arguments its type, donation and name; and the types of the results."""

    name: str
    in_tree: Any
    out_tree: Any
    in_avals: tuple[ShapedArray, ...]
    out_structs: tuple[ShapeDtypeStruct, ...]
    donated: tuple[bool, ...]
    namer: Callable[[int], str]


class _Stage:
    """The base class of the stages: the arguments and results of the function.

    `in_tree` is the arguments' structure as (args, kwargs), `out_info` the shapes and dtypes of the result.
    """

    def __init__(self, signature: Signature) -> None:
        self._signature = signature

    @property
    def in_tree(self) -> Any:
        return self._signature.in_tree

    @property
    def out_tree(self) -> Any:
        return self._signature.out_tree

    @property
    def in_avals(self) -> Any:
        """The types of the arguments: a pair of a tuple for positional arguments and a dict for keyword arguments."""
        return tree_unflatten(self.in_tree, self._signature.in_avals)

    @property
    def args_info(self) -> Any:
        """The arguments' types, and whether they are donated, in the structure of `in_avals`."""
        signature = self._signature
        return tree_unflatten(self.in_tree, [ArgInfo(aval, bool(d)) for aval, d in zip(signature.in_avals, signature.donated)])

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """The numbers of the donated arguments, counting leaves."""
        return tuple(i for i, is_donated in enumerate(self._signature.donated) if is_donated)

    @property
    def out_info(self) -> Any:
        return tree_unflatten(self.out_tree, self._signature.out_structs)


def _sharding_of_type(aval: ShapedArray) -> runtime.NamedSharding | None:
    """The sharding in a type over explicit mesh axes, over a mesh without devices."""
    return None if (split := getattr(aval, "_split", None)) is None else runtime.NamedSharding(split.mesh, split.spec)


class Traced(_Stage):
    """A function traced for given argument types; `jaxpr` is the program, with names for the sizes that `abstracted_axes` names."""

    def __init__(self, jit_function: Any, call: Any, avals: Sequence[ShapedArray], traced: Any) -> None:
        out_avals = traced.closed.out_avals
        shardings = [_sharding_of_type(aval) if given is None else given
                     for given, aval in zip(jit_function.result_shardings(traced) or [None] * len(out_avals), out_avals)]
        super().__init__(Signature(jit_function.name, call.in_tree, traced.out_tree, tuple(avals),
                                   tuple(map(_struct, out_avals, shardings)), jit_function.donated(call),
                                   call.namer(jit_function.fun)))
        self._jit_function = jit_function
        self._call = call
        self._traced = traced

    @property
    def jaxpr(self) -> ClosedJaxpr:
        return self._traced.general

    @property
    def effects(self) -> frozenset[Any]:
        """The effects of the program."""
        return self.jaxpr.effects

    @property
    def fun_name(self) -> str:
        return self._jit_function.name

    @property
    def out_avals(self) -> Any:
        """The types of the results: a pytree like the result."""
        return tree_unflatten(self.out_tree, self._traced.closed.out_avals)

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Lowers the program to StableHLO.

        Args:
          lowering_platforms: of "cpu", "cuda", "rocm" and "tpu"; by default that of the device it would run on, or that of the abstract
            device of the mesh that is set. With several, the module takes the number of the one that runs it as its first argument,
            i32[]. Where they are given, all shardings may be over meshes without devices.

        Raises:
          ValueError: for unknown platforms.
          NotImplementedError: if a platform has no such operation.
        """
        jit_function = self._jit_function
        traced, call, ref_use = self._traced, self._call, cast("RefUse | HiTypeUse | None", None)
        if traced.has_refs:
            traced, call, ref_use = pure_call(traced, call)
        if has_hi_types(traced.general):
            traced, call, hi_use = call_on_arrays(jit_function, call, traced)
            if ref_use is not None and hi_use is not None:
                raise NotImplementedError(f"lower: {jit_function.name} has references and values of types of users' own among its "
                                          "arguments and results, which is not supported ahead of time. Call the jitted function.")
            ref_use = hi_use if ref_use is None else ref_use
        if lowering_platforms is None and (device := runtime.get_abstract_mesh().abstract_device) is not None:
            lowering_platforms = (device.platform,)
        where = jit_function.place(traced, call, are_types=True, may_lack_devices=lowering_platforms is not None)
        module = jit_function.lowered(traced, call, where, lowering_platforms)
        return Lowered(self, module, where, traced, call, ref_use)


class Lowered(_Stage):
    """A function lowered to StableHLO for given argument types; compile it with `compile`."""

    def __init__(self, stage: Traced, module: LoweredModule, where: runtime.Device | Partitioning, traced: Any, call: Any,
                 ref_use: RefUse | HiTypeUse | None) -> None:
        super().__init__(stage._signature)
        self._jit_function = stage._jit_function
        self._traced = traced
        self._call = call
        self._ref_use = ref_use
        self._module = module
        self._where = where

    @property
    def _device(self) -> runtime.Device:
        """The device it was lowered for, or the default one where there is none: for XLA's estimates any will do."""
        where = self._where
        if not isinstance(where, Partitioning):
            return where
        return where.devices[0] if where.devices else runtime.placement_device()

    def as_text(self, dialect: str | None = None, *, debug_info: bool = False) -> str:
        """The module as text.

        Args:
          dialect: "stablehlo" (default) or "hlo".
          debug_info: whether it has the lines and the names of scopes that operations come from.
        """
        if dialect in (None, "stablehlo"):
            return runtime.printed_module(self._module.text, with_locations=debug_info)
        if dialect == "hlo":
            return runtime.printed_hlo(self._static_text, debug_info)
        raise _unknown_dialect("as_text", dialect)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The module as jaxlib's object: an MLIR module for "stablehlo" (default), an XLA computation for "hlo"."""
        if dialect in (None, "stablehlo"):
            return runtime.mlir_module(self._module.text)
        if dialect == "hlo":
            return runtime.hlo_computation(self._static_text)
        raise _unknown_dialect("compiler_ir", dialect)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates of flops, bytes accessed and so on, before optimisation."""
        return runtime.hlo_cost_analysis(self._static_text, self._device)

    @cached_property
    def _static_text(self) -> str:
        """The module with numbers for all sizes, which HLO has."""
        module = self._module
        return runtime.refined_text(module.text) if module.convention.has_dynamic_shapes and not self._is_for_all_sizes else module.text

    @property
    def _is_for_all_sizes(self) -> bool:
        return not all(isinstance(aval, HiType) or is_constant_shape(aval.shape) for aval in self._signature.in_avals)

    def compile(self, compiler_options: dict[str, Any] | None = None, *,
                device_assignment: Sequence[runtime.Device] | None = None) -> Compiled | CompiledForAllSizes:
        """Compiles the module for the devices it was lowered for; calls of the function itself then find it compiled.

        Where the function was lowered for symbolic sizes, each size is compiled when the result is first called with it.

        Args:
          compiler_options: options of XLA by name.
          device_assignment: the devices, where it was lowered over a mesh that has none; as many as that mesh has places.

        Raises:
          ValueError: if the devices are not those that it was lowered for, or of another platform.
          RuntimeError: if it was lowered for no devices and none are given, or more or fewer than it is for.
        """
        jit_function = self._jit_function
        where = _assigned(self._where, device_assignment)
        first = where.devices[0] if isinstance(where, Partitioning) else where
        if self._module.platforms != (lowering_platform(first),):
            raise ValueError(f"compile: the module was lowered for {', '.join(self._module.platforms)}, and the device is "
                             f"{first}; lower for that platform alone")
        check_hashable("compile", "an option's value", *(compiler_options or {}).values())
        compiler_options = {**dict(jit_function.options.compiler_options), **(compiler_options or {})}
        if self._is_for_all_sizes:
            return CompiledForAllSizes(self._signature, jit_function, self._traced, self._call, compiler_options)
        program = jit_function.program(self._traced, self._call, where, self._module, tuple(sorted(compiler_options.items())))
        return Compiled(self._signature, program, self._ref_use)


def _is_another_type(aval: Any, expected: Any) -> bool:
    return (type(aval) is not type(expected) or isinstance(expected, HiType) or aval.shape != expected.shape
            or aval.dtype != expected.dtype)


def _assigned(where: runtime.Device | Partitioning, given: Sequence[runtime.Device] | None) -> runtime.Device | Partitioning:
    """Where a lowered program runs, with the devices that are given to `compile`."""
    if given is not None:
        for device in (given := tuple(given)):
            if not isinstance(device, runtime.Device):
                raise TypeError(f"compile: device_assignment must be devices, got {device!r} of type {type(device).__name__}")
    if isinstance(where, Partitioning) and not where.devices:
        if given is None:
            raise RuntimeError("device_assignment cannot be `None` during compilation. Please pass a tuple of devices to "
                               f"`.compile(device_assignment=)`: the function was lowered for {where.num_devices} devices and for none in "
                               "particular.")
        if len(given) != where.num_devices:
            raise RuntimeError(f"Length of device_assignment ({len(given)}) passed to `.compile()` must be equal to the number of devices "
                               f"the jitted function was lowered with ({where.num_devices}).")
        return where.on(given)
    devices = where.devices if isinstance(where, Partitioning) else (where,)
    if given is not None and given != devices:
        raise ValueError(
            "device_assignment passed to `.compile` must match the device_assignment calculated from array shardings and out_shardings. "
            f"Got device ids passed to compile {[d.id for d in given]}{_platform_of(given)} and devices ids calculated from array "
            f"shardings and out_shardings {[d.id for d in devices]}{_platform_of(devices)}. "
            "Leave it out, or lower over a mesh without devices.")
    return where


def _platform_of(devices: Sequence[runtime.Device]) -> str:
    return f" on platform {devices[0].platform.upper()}" if devices else ""


class CompiledForAllSizes(_Stage):
    """A function lowered for symbolic sizes; the first call with some sizes compiles it for them, and nothing is traced."""

    def __init__(self, signature: Signature, jit_function: Any, traced: TracedFunction, call: Any,
                 compiler_options: dict[str, Any]) -> None:
        super().__init__(signature)
        self._jit_function = jit_function
        self._traced = traced
        self._call = call
        self._compiler_options = compiler_options
        from laminax_ir.symbolic.symbolic_solving import ShapeSpecification
        self._specification = ShapeSpecification(signature.in_avals, [signature.namer(i) for i in range(len(signature.in_avals))])
        self._compiled: dict[tuple, Compiled] = {}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree_flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise TypeError(f"Function compiled with input pytree does not match the input pytree it was called with, "
                            f"{self._signature.name}: it was compiled for {self.in_tree}, and called with {in_tree}.")
        shapes = tuple([get_aval(x).shape for x in leaves])
        compiled = self._compiled.get(shapes)
        if compiled is None:
            compiled = self._compiled[shapes] = self.at_shapes(shapes)
        return compiled(*args, **kwargs)

    def cost_analysis(self) -> NoReturn:
        """Not known before the sizes are: `at_shapes(shapes).cost_analysis()`."""
        self._refuse("cost_analysis")

    def memory_analysis(self) -> NoReturn:
        """Not known before the sizes are: `at_shapes(shapes).memory_analysis()`."""
        self._refuse("memory_analysis")

    def as_text(self) -> NoReturn:
        """There is a text for each choice of sizes: `at_shapes(shapes).as_text()`."""
        self._refuse("as_text")

    def _refuse(self, what: str) -> NoReturn:
        raise NotImplementedError(f"{what}: {self._signature.name} was lowered for symbolic sizes, and is compiled for each choice "
                                  f"of sizes. Choose some: .at_shapes([(3, 4), ...]).{what}(), with a shape for each argument.")

    def at_shapes(self, shapes: Sequence[tuple[int, ...]]) -> Compiled:
        """The function compiled for arguments of given shapes.

        Raises:
          TypeError: if they are not as it was lowered for.
        """
        signature = self._signature
        for i, (shape, aval) in enumerate(zip(shapes, signature.in_avals)):
            if len(shape) != aval.ndim:
                raise TypeError(f"Argument '{signature.namer(i)}' compiled with {aval.str_short(short_dtypes=False)} and called with "
                                f"shape {shape}")
        try:
            sizes = self._specification.solve(shapes)
        except ValueError as error:
            raise TypeError(f"Argument types differ from the types for which this computation was compiled, {signature.name}: compiled "
                            f"with {', '.join(aval.str_short(short_dtypes=False) for aval in signature.in_avals)}. {error}") from None
        avals = value_at_sizes(signature.in_avals, sizes)
        call = copy(self._call)
        call.leaves = [AvalHolder(aval) for aval in avals]
        stage = Traced(self._jit_function, call, avals, at_call(self._traced, tuple(sorted(sizes.items()))))
        return cast(Compiled, stage.lower().compile(self._compiler_options))


def _unknown_dialect(method: str, dialect: Any) -> ValueError:
    return ValueError(f"{method}: unknown dialect {dialect!r}; expected 'stablehlo' or 'hlo'")


class Compiled(_Stage):
    """A compiled function; called with arguments of the types it was compiled for, the static ones left out."""

    def __init__(self, signature: Signature, program: Program, ref_use: RefUse | HiTypeUse | None = None) -> None:
        super().__init__(signature)
        self._program = program
        self._ref_use = ref_use

    def __reduce__(self) -> tuple[type[Any], tuple[Signature, Program]]:
        """Pickled for the same version of jaxlib, on the same kind of machine."""
        signature = self._signature
        if self._ref_use is not None:
            raise TypeError(f"cannot pickle the compiled {self._name}, which has references to arrays of this process")
        names = [signature.namer(i) for i in range(len(signature.in_avals))]
        structs = tuple(ShapeDtypeStruct(s.shape, s.dtype, weak_type=s.weak_type) for s in signature.out_structs)
        return Compiled, (signature.replace(namer=names.__getitem__, out_structs=structs), self._program)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self._dispatch(*args, **kwargs)
        except runtime.DeletedArrayError:
            raise
        except ValueError:  # jaxlib 0.10.2 raises ValueError for a deleted argument, and does not name the argument
            leaves = tree_flatten((args, kwargs))[0]
            try:
                check_none_deleted(leaves)
            except runtime.DeletedArrayError as error:
                raise deleted_argument_error(error, f"the compiled {self._name}", leaves, self._path) from None
            raise

    @cached_property
    def _dispatch(self) -> Callable[..., Any]:
        """Runs a call; C++ runs later calls with arguments of the same types. On several devices each call is checked here."""
        name, executable = self._signature.name, self._program.executable
        return (runtime.make_eager_function(name, self._miss) if len(executable.devices) == 1
                else lambda *args, **kwargs: self._run(args, kwargs)[0])

    def _miss(self, *args: Any, **kwargs: Any) -> tuple[Any, FastpathData | None, bool]:
        outs, flat_outs, leaves = self._run(args, kwargs)
        return outs, None if self._ref_use is not None else self._program.fastpath(self.out_tree, flat_outs, leaves), False

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[Any], list[Any]]:
        """The results, the flat results and the flat arguments."""
        leaves, in_tree = tree_flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise TypeError(self._describe_structure(args, kwargs))
        avals = []
        for position, leaf in enumerate(leaves):
            if isinstance(leaf, Tracer):
                raise TypeError("Cannot apply JAX transformations to a function lowered and compiled for a particular signature. "
                                f"Detected argument of Tracer type {type(leaf)}: {self._path(position)} of {self._name} is {leaf!r}. "
                                f"Transform {self._name} itself, or its jit, instead.")
            if not is_array_like(leaf) and not isinstance(leaf, Ref):
                raise TypeError(f"the compiled {self._name}: argument {self._path(position)} is not an array: {leaf!r}")
            avals.append(get_aval(leaf))
        wrong = [f"Argument '{self._path(i)}' compiled with {expected.str_short(short_dtypes=False)} and called with "
                 f"{aval.str_short(short_dtypes=False)}"
                 for i, (aval, expected) in enumerate(zip(avals, self._signature.in_avals))
                 if aval is not expected and _is_another_type(aval, expected)]
        if wrong:
            raise TypeError("\n".join([
                f"Argument types differ from the types for which this computation was compiled, {self._name}. The mismatches are:", *wrong,
                "Convert the arguments, or lower and compile for these types (enable_x64 changes types too)."]))
        values, use = leaves, self._ref_use
        if use is not None:
            check_aliases(self._name, "jit", leaves, use.closed_over, self._path)
            values = use.values(leaves, donates=True)
        self._check_shardings(values)
        if layouts_in_use:
            self._check_layouts(values)
        try:
            outs = self._program.run(values)
            raise_if_out_of_memory(self._program, outs)
            if is_checking():
                check_results(outs, f"the compiled {self._name}")
            return tree_unflatten(self.out_tree, outs if use is None else use.write_back(leaves, outs)), outs, leaves
        except runtime.DeletedArrayError as error:
            raise deleted_argument_error(error, f"the compiled {self._name}", leaves, self._path) from None
        except runtime.XlaRuntimeError as error:
            note_largest_buffers(error, f"the compiled {self._name}", self._program, self._path, len(leaves))
            raise

    def _check_layouts(self, leaves: Sequence[Any]) -> None:
        """Arrays must have the layouts for which the program was compiled."""
        wrong = []
        for i, (leaf, wanted) in enumerate(zip(leaves, self._flat_input_formats)):
            if isinstance(leaf, runtime.ArrayImpl) and leaf.committed and not leaf.is_deleted() and wanted.layout is not None:
                found = leaf.format.layout
                if found != wanted.layout:
                    wrong.append(f"Argument {self._path(i)} with shape {get_aval(leaf).str_short(short_dtypes=False)}:\n  Passed layout: "
                                 f"{found}\n  Required layout: {wanted.layout}")
        if wrong:
            raise ValueError("\n".join([
                f"Computation was compiled for input layouts that disagree with the layouts of arguments passed to it, {self._name}. Here "
                f"are the {len(wrong)} mismatches:", *wrong,
                "Bring them there with device_put(x, format), or lower and compile for these layouts."]))

    def _check_shardings(self, leaves: Sequence[Any]) -> None:
        """Committed arguments of a program over several devices must be where it expects them."""
        if len(self._program.executable.devices) == 1:
            return
        wrong = []
        for i, (leaf, wanted) in enumerate(zip(leaves, self._flat_input_shardings)):
            found = committed_sharding(leaf)
            if found is not None and wanted is not None and not found.is_equivalent_to(wanted, physical_aval(get_aval(leaf)).ndim):
                wrong.append(f"  {self._path(i)}, {get_aval(leaf).str_short()}, is {found}, and must be {wanted}")
        if wrong:
            raise ValueError("\n".join([
                ("Computation was compiled for input shardings that disagree with the shardings of arguments passed to it. "
                 f"Here are the mismatches, of the arguments of {self._name}:"),
                *wrong, "Move them with device_put, or lower and compile for these shardings."]))

    @cached_property
    def _flat_input_shardings(self) -> list[Any]:
        """One sharding per argument; None for an argument that the program does not take."""
        executable = self._program.executable
        found = iter(executable.in_shardings)
        per_parameter = [next(found) if is_kept else None for is_kept in executable.kept]
        return per_parameter[len(self._program.const_args):]

    @property
    def input_shardings(self) -> Any:
        """The shardings of the arguments: a tuple for positional and a dict for keyword arguments; None for an unused argument."""
        return tree_unflatten(self.in_tree, self._flat_input_shardings)

    @property
    def output_shardings(self) -> Any:
        """The shardings of the results: a pytree like the result."""
        return tree_unflatten(self.out_tree, self._program.executable.out_shardings)

    @property
    def input_formats(self) -> Any:
        """The `Format`s (sharding and layout) of the arguments: a pair as in `input_shardings`; None for an unused argument."""
        return tree_unflatten(self.in_tree, self._flat_input_formats)

    @cached_property
    def _flat_input_formats(self) -> list[Format]:
        executable = self._program.executable
        found = iter(map(runtime.layout_from_jaxlib, executable.parameter_layouts))
        layouts = [next(found) if is_kept else None for is_kept in executable.kept][len(self._program.const_args):]
        return [Format(layout, sharding) for layout, sharding in zip(layouts, self._flat_input_shardings, strict=True)]

    @property
    def output_formats(self) -> Any:
        """The `Format`s (sharding and layout) of the results: a pytree like the result."""
        executable = self._program.executable
        return tree_unflatten(self.out_tree, [Format(runtime.layout_from_jaxlib(layout), sharding) for layout, sharding in
                                              zip(executable.result_layouts, executable.out_shardings, strict=True)])

    @property
    def out_info(self) -> Any:
        """Shape, dtype and sharding of each result: a pytree like the result, of `ShapeDtypeStruct`."""
        return tree_unflatten(self.out_tree, [s.update(sharding=sharding) for s, sharding in
                                              zip(self._signature.out_structs, self._program.executable.out_shardings)])

    @property
    def _name(self) -> str:
        return self._signature.name

    def _path(self, position: int) -> str:
        return self._signature.namer(position)

    def _describe_structure(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> str:
        if (len(args), sorted(kwargs)) != (shape := self._shape_of_arguments()):
            found = f"{len(args)} positional arguments and the keywords {sorted(kwargs)}"
            detail = f"it takes {shape[0]} positional arguments and the keywords {shape[1]}, and was called with {found}"
        else:
            mismatch = next(iter(structure_errors(self.in_tree, (args, kwargs), exact=True)), None)
            detail = str(mismatch("arguments", "compiled", "called")) if mismatch else \
                f"it was compiled for {self.in_tree}, and called with {tree_structure((args, kwargs))}"
        return (f"Function compiled with input pytree does not match the input pytree it was called with, {self._name}: "
                f"{detail.rstrip('.')}. Static arguments are left out.")

    def _shape_of_arguments(self) -> tuple[int, list[str]]:
        args, kwargs = self.in_tree.children()
        return len(args.children()), sorted(kwargs.node_data()[1])

    def as_text(self) -> str:
        """The optimised HLO."""
        return self._program.executable.as_text()

    def cost_analysis(self) -> dict[str, Any]:
        """XLA's estimates of flops, bytes accessed and so on."""
        return self._program.executable.cost_analysis()

    def memory_analysis(self) -> Any:
        """Bytes of arguments, results, temporaries and code."""
        return self._program.executable.memory_analysis()

    def runtime_executable(self) -> Any:
        """The runtime's executable."""
        return self._program.executable.loaded
