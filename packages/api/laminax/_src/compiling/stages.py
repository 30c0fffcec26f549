"""The stages of a jitted function ahead of time: traced, lowered, and compiled (`compiled.py`)."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, Mapping, NoReturn, Protocol, Sequence, cast, runtime_checkable

import laminax_runtime as runtime
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.pytrees.pytree import tree_flatten, tree_unflatten
from laminax_ir.recording.type_lowering import has_hi_types
from laminax_ir.symbolic.sized_programs import value_at_sizes
from laminax_ir.symbolic.symbolic_dims import is_constant_shape
from laminax_ir.types.arguments import check_hashable
from laminax_ir.types.avals import ShapedArray, get_aval, split_aval
from laminax_ir.types.hi_types import HiType
from laminax_ir.types.type_shardings import in_use

from laminax._src.compiling.abstract_arguments import AvalHolder
from laminax._src.compiling.abstract_calls import as_struct
from laminax._src.compiling.compiled import ArgInfo, Compiled, Signature, Stage
from laminax._src.compiling.executables import lowering_platform
from laminax._src.compiling.hi_calls import HiTypeUse, call_on_arrays
from laminax._src.compiling.ref_calls import RefUse, pure_call
from laminax._src.compiling.sized_functions import at_call
from laminax._src.placement.partitioning import Partitioning

if TYPE_CHECKING:  # loaded when something is lowered
    from laminax_lowering import LoweredModule

    from laminax._src.compiling.jit import JitFunction
    from laminax._src.compiling.tracing import Call, TracedFunction

__all__ = ["ArgInfo", "Compiled", "CompiledForAllSizes", "CompilerOptions", "Lowered", "Traced", "Wrapped"]


CompilerOptions = dict[str, str | bool]


@runtime_checkable
class Wrapped(Protocol):
    """A function that can be traced and lowered ahead of time: what `jit` returns."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def trace(self, *args: Any, **kwargs: Any) -> Traced: ...

    def lower(self, *args: Any, **kwargs: Any) -> Lowered: ...

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any: ...


class Traced(Stage):
    """A function traced for given argument types; `jaxpr` is the program, with names for the sizes that `abstracted_axes` names."""

    def __init__(self, jit_function: JitFunction, call: Call, avals: Sequence[ShapedArray], traced: TracedFunction) -> None:
        out_avals = traced.closed.out_avals
        where = [_sharding_of_type(aval) if given is None else given
                 for given, aval in zip(jit_function.result_formats(traced) or [None] * len(out_avals), out_avals)]
        super().__init__(Signature(jit_function.name, call.in_tree, traced.out_tree, tuple(avals),
                                   tuple(map(as_struct, out_avals, where)), jit_function.donated(call),
                                   call.namer(jit_function.fun)))
        self._jit_function = jit_function
        self._call = call
        self._traced = traced

    @property
    def jaxpr(self) -> ClosedJaxpr:
        """The program."""
        return self._traced.general

    @property
    def effects(self) -> frozenset[Any]:
        """The effects of the program."""
        return self.jaxpr.effects

    @property
    def fun_name(self) -> str:
        """The function's name."""
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


def _sharding_of_type(aval: ShapedArray) -> runtime.NamedSharding | None:
    """The sharding that a type over explicit mesh axes says, over the mesh of the type, which has no devices."""
    return None if (split := getattr(aval, "_split", None)) is None else runtime.NamedSharding(split.mesh, split.spec)


def _as_placed(signature: Signature, where: runtime.Device | Partitioning) -> Signature:
    """The signature of a function that is placed: with the explicit mesh axes over which its arguments are split when it is called."""
    if not in_use or not isinstance(where, Partitioning):
        return signature
    avals = tuple([split_aval(aval, s) if isinstance(aval, ShapedArray) and isinstance(s, runtime.NamedSharding) else aval
                   for aval, s in zip(signature.in_avals, where.in_shardings)])
    return signature if avals == signature.in_avals else signature.replace(in_avals=avals)


class Lowered(Stage):
    """A function lowered to StableHLO for given argument types; compile it with `compile`."""

    def __init__(self, stage: Traced, module: LoweredModule, where: runtime.Device | Partitioning, traced: TracedFunction,
                 call: Call, ref_use: RefUse | HiTypeUse | None) -> None:
        super().__init__(_as_placed(stage._signature, where))
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

        Raises:
          ValueError: for another dialect.
        """
        if dialect in (None, "stablehlo"):
            return runtime.printed_module(self._module.text, with_locations=debug_info)
        if dialect == "hlo":
            return runtime.printed_hlo(self._static_text, debug_info)
        raise _unknown_dialect("as_text", dialect)

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The module as jaxlib's object: an MLIR module for "stablehlo" (default), an XLA computation for "hlo".

        Raises:
          ValueError: for another dialect.
        """
        if dialect in (None, "stablehlo"):
            return runtime.mlir_module(self._module.text)
        if dialect == "hlo":
            return runtime.hlo_computation(self._static_text)
        raise _unknown_dialect("compiler_ir", dialect)

    def cost_analysis(self) -> dict[str, float]:
        """XLA's estimates before optimisation, by name: "flops", "bytes accessed" and others."""
        return runtime.hlo_cost_analysis(self._static_text, self._device)

    @cached_property
    def _static_text(self) -> str:
        """The module with numbers for all sizes, which HLO has."""
        module = self._module
        return runtime.refined_text(module.text) if module.convention.has_dynamic_shapes and not self._is_for_all_sizes else module.text

    @property
    def _is_for_all_sizes(self) -> bool:
        """Whether arguments have symbolic sizes."""
        return not all(isinstance(aval, HiType) or is_constant_shape(aval.shape) for aval in self._signature.in_avals)

    def compile(self, compiler_options: Mapping[str, Any] | None = None, *,
                device_assignment: Sequence[runtime.Device] | None = None) -> Compiled | CompiledForAllSizes:
        """Compiles the module for the devices it was lowered for; calls of the function itself then find it compiled.

        Where the function was lowered for symbolic sizes, each size is compiled when the result is first called with it.

        Args:
          compiler_options: options of XLA by name.
          device_assignment: the devices, where it was lowered over a mesh that has none; as many as that mesh has places.

        Returns:
          The compiled function; it takes the dynamic arguments of the traced one.

        Raises:
          TypeError: if something in `device_assignment` is no device, or the value of an option cannot be hashed.
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


def _unknown_dialect(method: str, dialect: Any) -> ValueError:
    return ValueError(f"{method}: unknown dialect {dialect!r}; expected 'stablehlo' or 'hlo'")


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


class CompiledForAllSizes(Stage):
    """A function lowered for symbolic sizes; the first call with some sizes compiles it for them, and nothing is traced."""

    def __init__(self, signature: Signature, jit_function: JitFunction, traced: TracedFunction, call: Call,
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

        Args:
          shapes: one shape for each leaf of the arguments, in the order of `in_avals`.

        Raises:
          TypeError: if they do not fit the types that it was lowered for.
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
