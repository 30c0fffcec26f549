"""`export`: functions as artifacts that outlive the process: StableHLO with a calling convention.

An exported function is called like any other, and inside other programs it becomes a function of their module. It cannot
be traced again; its derivative is a program of its own, exported beside it when asked for.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING, Any, Callable, Sequence

import laminax_runtime as runtime
from laminax_ir.ops.exported import StableHLOProgram, call_exported
from laminax_ir.ops.sharding import in_memory
from laminax_ir.programs.effects import has_refs, ordered_effects
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.pytrees.pytree import leaf_paths, structure_errors, tree_flatten, tree_flatten_with_path, tree_structure, tree_unflatten
from laminax_ir.recording.discharge import without_refs
from laminax_ir.recording.evaluation import jaxpr_as_fun
from laminax_ir.recording.staging import stage
from laminax_ir.recording.staging_trace import record_explicitly
from laminax_ir.recording.type_lowering import has_hi_types
from laminax_ir.recording.type_lowering import lowered as lowered_types
from laminax_ir.symbolic.symbolic_dims import is_constant_shape
from laminax_ir.symbolic.symbolic_scope import SymbolicScope
from laminax_ir.symbolic.symbolic_solving import ShapeSpecification
from laminax_ir.tracing import source
from laminax_ir.types.abstract_meshes import AbstractMesh
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.memory_spaces import MemorySpace
from laminax_lowering import lower
from laminax_transforms import custom_vjp, vjp

from laminax._src.compiling.executables import lowering_platform
from laminax._src.compiling.hi_calls import has_hi_arguments
from laminax._src.compiling.jit import jit
from laminax._src.exporting import export_format
from laminax._src.exporting.export_shardings import Layout, hlo_shardings, layout_of, sharding_from_json, sharding_to_json, shardings_on
from laminax._src.exporting.symbolic_shapes import argument_name, check_one_scope

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")

# How a module takes its arguments. The numbers are laminax's own.
#   1  one module per platform (no longer read)
#   2  one module for all platforms; with several, its first argument is the number of the platform that runs it, i32[]
#   3  the module takes only the arguments that it reads; see module_kept_var_idx
minimum_supported_calling_convention_version = 2
maximum_supported_calling_convention_version = 3


class DisabledSafetyCheck:
    """A check that an export leaves out: `DisabledSafetyCheck.custom_call(name)` or `DisabledSafetyCheck.platform()`."""

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def platform(cls) -> DisabledSafetyCheck:
        """Lets the function run on platforms that it was not exported for."""
        return cls("platform")

    @classmethod
    def custom_call(cls, target_name: str) -> DisabledSafetyCheck:
        """Lets the function call a native function that may change between versions; of the name "ALL", any of them."""
        return cls(f"custom_call:{target_name}")

    def is_custom_call(self) -> str | None:
        """The name of the native function, if this check is a `custom_call`."""
        return self._text.partition(":")[2] or None

    def __eq__(self, other: Any) -> Any:
        return isinstance(other, DisabledSafetyCheck) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"DisabledSafetyCheck({self._text})"


class Exported:
    """A function as StableHLO, with the types of its arguments and results.

    Attributes:
      fun_name: the function's name.
      in_tree, out_tree: the structure of the arguments, as (args, kwargs), and of the result.
      in_avals, out_avals: shapes and dtypes of their leaves.
      platforms: the platforms that it was exported for.
      mlir_module_serialized: the module, as a StableHLO portable artifact.
      module_kept_var_idx: the numbers of the arguments that the module takes: those that the function reads.
      disabled_safety_checks: the checks left out.
      calling_convention_version: how the module takes its arguments: with several platforms, its first argument is the number of
        the platform that runs it, i32[].
      nr_devices: the number of devices that it runs on.
      unordered_effects: what it does besides computing its results, such as calls of native functions that are there for what they do.
      ordered_effects: none; functions with ordered effects cannot be exported.
    """

    ordered_effects: tuple[Any, ...] = ()

    def __init__(self, fun_name: str, in_tree: Any, in_avals: Sequence[ShapedArray], out_tree: Any,
                 out_avals: Sequence[ShapedArray], mlir_module_serialized: bytes,
                 platforms: Sequence[str], disabled_safety_checks: Sequence[DisabledSafetyCheck], layout: Layout,
                 make_vjp: Callable[[], Exported] | None,
                 calling_convention_version: int = maximum_supported_calling_convention_version,
                 module_kept_var_idx: Sequence[int] | None = None, has_dynamic_shapes: bool = False,
                 unordered_effects: Sequence[Any] = ()) -> None:
        self.fun_name = fun_name
        self.in_tree = in_tree
        self.in_avals: tuple[ShapedArray, ...] = tuple(in_avals)
        self.out_tree = out_tree
        self.out_avals: tuple[ShapedArray, ...] = tuple(out_avals)
        self.disabled_safety_checks: tuple[DisabledSafetyCheck, ...] = tuple(disabled_safety_checks)
        self.calling_convention_version = calling_convention_version
        self.mlir_module_serialized = mlir_module_serialized
        self.platforms: tuple[str, ...] = tuple(platforms)
        self.module_kept_var_idx: tuple[int, ...] = tuple(range(len(self.in_avals)) if module_kept_var_idx is None else module_kept_var_idx)
        self.unordered_effects: tuple[Any, ...] = tuple(unordered_effects)
        self._layout = layout
        self._has_dynamic_shapes = has_dynamic_shapes
        self._make_vjp = make_vjp

    @property
    def nr_devices(self) -> int:
        return self._layout.nr_devices

    @property
    def in_shardings_hlo(self) -> tuple[Any, ...]:
        """XLA's sharding of each leaf of the arguments; None where no sharding was given."""
        return hlo_shardings(self._layout.in_shardings, self.in_avals)

    @property
    def out_shardings_hlo(self) -> tuple[Any, ...]:
        """XLA's sharding of each leaf of the results, likewise."""
        return hlo_shardings(self._layout.out_shardings, self.out_avals)

    def in_shardings_jax(self, mesh: runtime.Mesh | AbstractMesh | None = None) -> tuple[runtime.Sharding | None, ...]:
        """The sharding of each leaf of the arguments over the devices of a mesh; None where no sharding was given.

        Args:
          mesh: a mesh of `nr_devices` devices. Its devices and its axes need not be those that the function was exported on. None is the
            mesh of the export itself, without devices if it was deserialized.

        Raises:
          TypeError: if mesh is no mesh.
          ValueError: if the mesh has another number of devices.

        Example:
          >>> exported.call(device_put(x, exported.in_shardings_jax(mesh)[0]))
        """
        return shardings_on(mesh, self.nr_devices, self._layout.in_shardings, self.in_avals, "in_shardings_jax")

    def out_shardings_jax(self, mesh: runtime.Mesh | AbstractMesh | None = None) -> tuple[runtime.Sharding | None, ...]:
        """The sharding of each leaf of the results over the devices of a mesh, likewise."""
        return shardings_on(mesh, self.nr_devices, self._layout.out_shardings, self.out_avals, "out_shardings_jax",
                            self._layout.moved_results)

    @property
    def uses_global_constants(self) -> bool:
        """Whether the module takes the number of the platform, or it or a function that it calls has symbolic dimensions."""
        return len(self.platforms) > 1 or self._has_dynamic_shapes

    def mlir_module(self, serialized: bool = True) -> str:
        """The StableHLO module as text.

        Args:
          serialized: only True: the module is no object of MLIR's Python bindings.

        Raises:
          NotImplementedError: for serialized=False.
        """
        if not serialized:
            raise NotImplementedError("Exported.mlir_module: serialized=False, an object of MLIR's Python bindings, is not supported. "
                                      "Parse the text with the bindings of your choice.")
        return runtime.deserialize_module(self.mlir_module_serialized)

    # Calling

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function, on values or while another function is traced; reverse-mode derivatives use `vjp()`.

        Args:
          *args, **kwargs: as when it was exported, without the static ones.

        Raises:
          ValueError: if the structure, shapes or dtypes of the arguments, the platform or the number of devices differ from the export.
        """
        leaves, in_tree = tree_flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise ValueError(self._describe_structure(args, kwargs))
        self._check_types(args, kwargs, leaves)
        return tree_unflatten(self.out_tree, self._flat(*leaves))

    def _describe_structure(self, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> str:
        differences = [str(error("the arguments", "export", "call"))
                       for error in structure_errors(self.in_tree, (args, kwargs), exact=True)]
        detail = differences[0] if differences else f"expected {self.in_tree}, got {tree_structure((args, kwargs))}"
        return (f"The invocation args and kwargs must have the same pytree structure as those that {self.fun_name!r} was exported for: "
                f"{detail}")

    def _check_types(self, args: tuple[Any, ...], kwargs: dict[Any, Any], leaves: Sequence[Any]) -> None:
        for index, (leaf, expected) in enumerate(zip(leaves, self.in_avals)):
            aval = get_aval(leaf)
            is_fitting = aval.shape == expected.shape or self._specification is not None and aval.ndim == expected.ndim
            if is_fitting and aval.dtype == expected.dtype:
                continue
            name = argument_name(tree_flatten_with_path((args, kwargs))[0][index][0])
            raise ValueError(f"{_mismatch(name, aval, expected)}: the exported function {self.fun_name!r} takes {expected.str_short()}, "
                             f"and was called with {aval.str_short()}. Convert it, or export for these types.")
        if self._specification is not None:
            self._specification.solve([get_aval(leaf).shape for leaf in leaves])

    @cached_property
    def _specification(self) -> ShapeSpecification | None:
        """The constraints on the shapes of the arguments, if they have symbolic dimensions."""
        if all(is_constant_shape(aval.shape) for aval in self.in_avals):
            return None
        return ShapeSpecification(self.in_avals, _argument_names(self.in_tree))

    @cached_property
    def _flat(self) -> Callable[..., list[Any]]:
        """The function of flat arguments, with its derivative."""
        kept, layout = self.module_kept_var_idx, self._layout
        program = StableHLOProgram(self.fun_name, self.mlir_module(), self.platforms, [self.in_avals[i] for i in kept], self.out_avals,
                                   DisabledSafetyCheck.platform() in self.disabled_safety_checks, nr_devices=layout.nr_devices,
                                   in_shardings=[layout.in_shardings[i] for i in kept], out_shardings=layout.out_shardings,
                                   is_split=layout.is_split, specification=self._specification,
                                   has_dynamic_shapes=self._has_dynamic_shapes, effects=self.unordered_effects)

        @custom_vjp
        def flat(*leaves: ArrayLike) -> list[Array]:
            return call_exported(program, *[leaves[i] for i in kept])

        # The forward rule calls `flat`, not the program: derivatives of derivatives need the rules of `flat`.
        flat.defvjp(lambda *leaves: (flat(*leaves), leaves),
                    lambda leaves, cotangents: tuple(self.vjp()._flat(*leaves, *cotangents)))
        flat.__name__ = self.fun_name
        return jit(flat)

    # The derivative

    def has_vjp(self) -> bool:
        """Whether `vjp()` is available."""
        return self._make_vjp is not None

    @cached_property
    def _vjp(self) -> Exported:
        if self._make_vjp is None:
            raise ValueError(f"No VJP is available for the exported function {self.fun_name!r}: it was serialized without. Use "
                             "exported.serialize(vjp_order=1), or higher for derivatives of derivatives.")
        return self._make_vjp()

    def vjp(self) -> Exported:
        """The derivative: takes the flat arguments and the cotangents of the flat results, returns those of the arguments.

        Raises:
          ValueError: if the function was serialized without its derivative.
        """
        return self._vjp

    # Serialisation

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The function as bytes, for `deserialize`, here or elsewhere.

        Args:
          vjp_order: how many times the reader may differentiate it.

        Raises:
          ValueError: if there is no derivative of that order, or a class among arguments and results cannot be written.
        """
        if not isinstance(vjp_order, int) or vjp_order < 0:
            raise ValueError(f"serialize: vjp_order must be an int, 0 or more, got {vjp_order!r}")
        scope = self._specification.scope if self._specification is not None else None
        parts = [self.mlir_module_serialized, *([bytes(self.vjp().serialize(vjp_order - 1))] if vjp_order else [])]
        return export_format.pack({
            "calling_convention_version": self.calling_convention_version, "fun_name": self.fun_name,
            "in_tree": export_format.tree_to_json(self.in_tree), "out_tree": export_format.tree_to_json(self.out_tree),
            "in_avals": [export_format.aval_to_json(aval) for aval in self.in_avals],
            "out_avals": [export_format.aval_to_json(aval) for aval in self.out_avals],
            "platforms": list(self.platforms), "module_kept_var_idx": list(self.module_kept_var_idx),
            "has_dynamic_shapes": self._has_dynamic_shapes,
            "unordered_effects": [export_format.effect_to_json(effect) for effect in self.unordered_effects],
            "constraints": list(scope.texts) if scope is not None else [],
            "nr_devices": self.nr_devices, "is_split": self._layout.is_split,
            "in_shardings": [sharding_to_json(sharding) for sharding in self._layout.in_shardings],
            "out_shardings": [sharding_to_json(sharding) for sharding in self._layout.out_shardings],
            "moved_results": sorted(self._layout.moved_results),
            "disabled_safety_checks": [check._text for check in self.disabled_safety_checks], "has_vjp": vjp_order > 0}, parts)

    def __repr__(self) -> str:
        ins = ", ".join(aval.str_short() for aval in self.in_avals)
        outs = ", ".join(aval.str_short() for aval in self.out_avals)
        return f"Exported(fun_name={self.fun_name!r}, platforms={self.platforms}, ({ins}) -> ({outs}))"


def _mismatch(name: str, aval: ShapedArray, expected: ShapedArray) -> str:
    """How the type of the argument `name` differs from the type that a function was exported for."""
    if aval.ndim != expected.ndim:
        return f"Rank mismatch for {name}"
    for axis, (size, expected_size) in enumerate(zip(aval.shape, expected.shape)):
        if type(expected_size) is int and size != expected_size:
            return f"Shape mismatch for {name}.shape[{axis}] (expected same constant)"
    return f"Dtype mismatch for {name}"


def deserialize(blob: bytes | bytearray) -> Exported:
    """The exported function that `Exported.serialize` wrote.

    Raises:
      TypeError: if the data are no bytes.
      ValueError: if the data are damaged, of another format, or of another version.
    """
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise TypeError(f"deserialize: expected bytes, got {type(blob).__name__}")
    header, parts = export_format.unpack(bytes(blob))
    version = header["calling_convention_version"]
    if not minimum_supported_calling_convention_version <= version <= maximum_supported_calling_convention_version:
        raise ValueError(f"deserialize: the exported function has calling convention {version}, and this laminax reads "
                         f"{minimum_supported_calling_convention_version} to {maximum_supported_calling_convention_version}. "
                         "Use the laminax that wrote it, or export again.")
    module, *derivative = parts
    scope = SymbolicScope(header.get("constraints", ()))
    in_avals, out_avals = ([export_format.aval_from_json(aval, scope) for aval in header[name]] for name in ("in_avals", "out_avals"))
    layout = Layout(1, (None,) * len(in_avals), (None,) * len(out_avals), False)
    if "nr_devices" in header:
        ins, outs = (tuple(map(sharding_from_json, header[name])) for name in ("in_shardings", "out_shardings"))
        layout = Layout(header["nr_devices"], ins, outs, header["is_split"], frozenset(header.get("moved_results", ())))
    return Exported(
        header["fun_name"], export_format.tree_from_json(header["in_tree"]), in_avals,
        export_format.tree_from_json(header["out_tree"]), out_avals,
        module, header["platforms"], [DisabledSafetyCheck(text) for text in header["disabled_safety_checks"]], layout,
        (lambda: deserialize(derivative[0])) if derivative else None, version, header.get("module_kept_var_idx"),
        header.get("has_dynamic_shapes", False), [export_format.effect_from_json(name) for name in header.get("unordered_effects", ())])


def default_export_platform() -> str:
    """The platform that functions are exported for when none is named: the default one of this process."""
    return lowering_platform(runtime.local_devices()[0])


def export(fun_jit: Any, *, platforms: Sequence[str] | None = None,
           disabled_checks: Sequence[DisabledSafetyCheck] = ()) -> Callable[..., Exported]:
    """Makes a function that exports `fun_jit` for arguments of given shapes and dtypes.

    Args:
      fun_jit: a function made with `jit`, or one of laminax itself, such as `jnp.sin`.
      platforms: of "cpu", "cuda", "rocm" and "tpu"; the devices need not be there. By default the one of this process.
      disabled_checks: checks to leave out.

    Returns:
      A function of arrays, or anything with shape and dtype, that returns an `Exported`.

    Raises:
      ValueError: for a function that is not jitted, or unknown platforms.

    Example:
      >>> exported = export(jit(jnp.sin), platforms=["cpu", "cuda"])(ShapeDtypeStruct((4,), np.float32))
      >>> deserialize(exported.serialize()).call(np.ones(4, np.float32))
    """
    if not hasattr(fun_jit, "_laminax_jit"):
        if _is_own(fun_jit):
            return export(jit(fun_jit), platforms=platforms, disabled_checks=disabled_checks)
        raise ValueError(f"Function to be exported must be the result of `jit`, got {fun_jit!r}. Use export(jit(fun)).")
    if isinstance(platforms, str):
        raise TypeError(f"export: platforms must be a sequence of names, got the string {platforms!r}; use [{platforms!r}]")
    chosen = tuple(platforms) if platforms is not None else None
    for platform in chosen or ():
        if platform not in PLATFORMS:
            hint = " (for GPUs, 'cuda' or 'rocm')" if platform == "gpu" else ""
            raise ValueError(f"export: unknown platform {platform!r}{hint}; expected some of {', '.join(PLATFORMS)}")
    if chosen is not None and (not chosen or len(set(chosen)) < len(chosen)):
        raise ValueError(f"export: platforms must be one or several different ones, got {list(chosen)}; leave it out for the default "
                         "platform")
    checks = tuple(disabled_checks)
    for check in checks:
        if not isinstance(check, DisabledSafetyCheck):
            raise TypeError(f"export: disabled_checks must be DisabledSafetyCheck objects, got {check!r}")

    def do_export(*args: Any, **kwargs: Any) -> Exported:
        check_one_scope(getattr(fun_jit, "__name__", "a function"), args, kwargs)
        traced = fun_jit.trace(*args, **kwargs)
        closed = without_refs(traced.jaxpr) if has_refs(traced.jaxpr.effects) else traced.jaxpr
        if has_hi_types(closed):
            if has_hi_arguments(closed):
                raise NotImplementedError(f"export({traced.fun_name}): arguments and results of types of users' own are not supported. "
                                          "Export a function of the arrays that they consist of.")
            closed = lowered_types(closed)
        layout = layout_of(traced)
        return _export_program(_with_moved_results(closed, traced.fun_name, layout.moved_results), traced.fun_name, traced.in_tree,
                               traced.out_tree, chosen or (default_export_platform(),), checks, layout,
                               traced._jit_function.options.keep_unused)

    return do_export


def _with_moved_results(closed: ClosedJaxpr, name: str, moved: Collection[int]) -> ClosedJaxpr:
    """The program, with results in the memory of the host that the caller of jit wants there, and types that say so."""
    if all(closed.out_avals[i].memory_space is MemorySpace.Host for i in moved):
        return closed

    def moving(*args: ArrayLike) -> list[Array]:
        record_explicitly()
        return [in_memory(out, MemorySpace.Host) if i in moved else out for i, out in enumerate(jaxpr_as_fun(closed)(*args))]

    return stage(moving, closed.in_avals, name)


def _is_own(fun: Callable[..., Any]) -> bool:
    """Whether a function is one of laminax, and not a user's function that laminax has transformed."""
    if not callable(fun):
        return False
    code = getattr(inspect.unwrap(fun), "__code__", None) or getattr(type(fun).__call__, "__code__", None)  # the latter of a ufunc
    return code is not None and source.is_internal(code.co_filename)


def _export_program(closed: ClosedJaxpr, name: str, in_tree: Any, out_tree: Any, platforms: Sequence[str],
                    checks: Sequence[DisabledSafetyCheck], layout: Layout, keep_unused: bool = False) -> Exported:
    if ordered := ordered_effects.filter_in(closed.effects):
        raise NotImplementedError(f"export({name}): the program has the ordered effects {', '.join(sorted(map(str, ordered)))}, whose "
                                  "order among other programs an exported function cannot keep. Export a function without them.")
    is_symbolic = not all(is_constant_shape(aval.shape) for aval in closed.in_avals)
    lowered = lower(closed, name=name, arg_names=_argument_names(in_tree) if is_symbolic else None, platform=platforms,
                    keep_unused=keep_unused, inline_consts=True, num_partitions=layout.nr_devices,
                    arg_shardings=layout.in_shardings, result_shardings=layout.out_shardings)
    if lowered.convention.needs_this_process:
        raise NotImplementedError(f"export({name}): the program calls back into this process, which an exported function cannot. "
                                  "Remove its callbacks, such as debug.print and pure_callback.")
    text = _without_locations(lowered.text)
    _check_custom_calls(name, lowered.convention.call_targets, checks)
    return Exported(name, in_tree, closed.in_avals, out_tree, closed.out_avals, runtime.serialize_module(text), platforms, checks,
                    layout, lambda: _export_vjp(closed, name, platforms, checks, layout), module_kept_var_idx=lowered.kept,
                    has_dynamic_shapes=lowered.convention.has_dynamic_shapes, unordered_effects=sorted(closed.effects, key=str))


def _export_vjp(closed: ClosedJaxpr, name: str, platforms: Sequence[str], checks: Sequence[DisabledSafetyCheck],
                layout: Layout) -> Exported:
    """Exports the derivative of the flat function: (*arguments, *cotangents of the results) -> cotangents of the arguments."""
    count = len(closed.in_avals)

    def derivative(*leaves: ArrayLike) -> list[Array]:
        _, pull_back = vjp(jaxpr_as_fun(closed), *leaves[:count])
        return list(pull_back(list(leaves[count:])))

    avals = [*closed.in_avals, *(aval.to_tangent_aval() for aval in closed.out_avals)]
    program = stage(derivative, avals, f"vjp({name})")
    return _export_program(program, f"{name}_vjp", tree_structure((tuple(avals), {})), tree_structure(tuple(closed.in_avals)),
                           platforms, checks, layout.of_vjp())


def _argument_names(in_tree: Any) -> list[str]:
    """The names of the arguments in messages: `args[0]`, `kwargs['x']['w']`."""
    return [argument_name(path) for path in leaf_paths(in_tree)]


_LOCATION = re.compile(r" loc\(#loc\d*\)|^#loc.*\n?", re.MULTILINE)


def _without_locations(text: str) -> str:
    """The module without locations: these have paths of the exporting machine, and would make the bytes of equal programs differ."""
    return _LOCATION.sub("", text)


# Native functions of jaxlib's own libraries; changed versions of them get new names.
_STABLE_TARGETS = (
    "lapack_", "cusolver_", "hipsolver_", "cusparse_", "hipsparse_", "cu_", "hip_", "cublas_", "hipblas_", "Qr", "Eigh",
    "LuDecomposition", "ProductOfElementaryHouseholderReflectors", "Sharding", "annotate_device_placement", "shape_assertion",
    "stablehlo.dynamic_reduce_window", "stablehlo.dynamic_rng_bit_generator")


def _check_custom_calls(name: str, call_targets: Sequence[str], checks: Sequence[DisabledSafetyCheck]) -> None:
    allowed = {check.is_custom_call() for check in checks}
    for target in call_targets:
        if not target.startswith(_STABLE_TARGETS) and not {target, "ALL"} & allowed:
            raise ValueError(f"Cannot serialize code with custom calls whose targets have no compatibility guarantees: export({name}) "
                             f"found {target!r}. Leave the check out with disabled_checks="
                             f"[DisabledSafetyCheck.custom_call({target!r})] if it will be there where the function is called.")
