"""The stages of a jitted function ahead of time: traced, lowered, compiled."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Sequence

import laminax_runtime as runtime
from laminax_ir.avals import ShapeDtypeStruct, ShapedArray, get_aval
from laminax_ir.jaxpr import ClosedJaxpr
from laminax_ir.pytree import tree_flatten, tree_unflatten

from laminax._src.executables import Program, compile_lowered, lowering_platform, report_unusable_donations

if TYPE_CHECKING:  # loaded when something is lowered
    from laminax_lowering import LoweredModule


def _struct(aval: ShapedArray) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


class Traced:
    """A function traced for given argument types.

    `jaxpr` is the program, `out_info` the shapes and dtypes of the result, `in_tree` the arguments' structure as
    (args, kwargs).
    """

    def __init__(self, jit_function: Any, call: Any, avals: Sequence[ShapedArray], traced: Any):
        self._jit_function = jit_function
        self._call = call
        self._avals = avals
        self._traced = traced

    @property
    def jaxpr(self) -> ClosedJaxpr:
        return self._traced.closed

    @property
    def fun_name(self) -> str:
        return self._jit_function.name

    @property
    def in_tree(self) -> Any:
        return self._call.in_tree

    @property
    def out_tree(self) -> Any:
        return self._traced.out_tree

    @property
    def args_info(self) -> Any:
        return tree_unflatten(self.in_tree, [_struct(aval) for aval in self._avals])

    @property
    def out_info(self) -> Any:
        return tree_unflatten(self.out_tree, [_struct(aval) for aval in self.jaxpr.out_avals])

    def lower(self, *, lowering_platforms: Sequence[str] | None = None) -> Lowered:
        """Lowers the program to StableHLO, for the device it would run on or for one named platform."""
        from laminax_lowering import lower
        options = self._jit_function.options
        device = runtime.execution_device(self._call.leaves, options.device)
        if lowering_platforms is not None and len(lowering_platforms) != 1:
            raise NotImplementedError("lower: lowering for several platforms at once is not supported yet; got "
                                      f"{lowering_platforms!r}")
        platform = lowering_platforms[0] if lowering_platforms else lowering_platform(device)
        module = lower(self.jaxpr, name=self.fun_name, platform=platform, donated=self._jit_function.donated(self._call),
                       keep_unused=options.keep_unused)
        report_unusable_donations(module)
        return Lowered(self, module, device)


class Lowered:
    """A function lowered to StableHLO for given argument types; compile it with `compile`."""

    def __init__(self, traced: Traced, module: LoweredModule, device: runtime.Device):
        self._traced = traced
        self._module = module
        self._device = device
        self.in_tree = traced.in_tree
        self.out_tree = traced.out_tree
        self.args_info = traced.args_info
        self.out_info = traced.out_info

    def as_text(self, dialect: str | None = None) -> str:
        """The module as text: "stablehlo" (default) or "hlo"."""
        if dialect in (None, "stablehlo"):
            return self._module.text
        raise NotImplementedError(f"as_text: the dialect {dialect!r} is not supported yet; expected 'stablehlo'")

    def compiler_ir(self, dialect: str | None = None) -> Any:
        """The module in the compiler's form; as text for "stablehlo"."""
        return self.as_text(dialect)

    def compile(self, compiler_options: dict[str, Any] | None = None) -> Compiled:
        """Compiles the module for the device it was lowered for."""
        options = self._traced._jit_function.options
        if self._module.platform != lowering_platform(self._device):
            raise ValueError(f"compile: the module was lowered for {self._module.platform}, and the device is "
                             f"{self._device}; lower for that platform")
        program = compile_lowered(self._module, self._traced.jaxpr, self._device, is_pinned=options.device is not None,
                                  compiler_options={**dict(options.compiler_options), **(compiler_options or {})})
        return Compiled(self, program)


class Compiled:
    """A compiled function; called with arguments of the types it was compiled for, the static ones left out."""

    def __init__(self, lowered: Lowered, program: Program):
        self._lowered = lowered
        self._program = program
        self.in_tree = lowered.in_tree
        self.out_tree = lowered.out_tree
        self.args_info = lowered.args_info
        self.out_info = lowered.out_info

    @cached_property
    def _in_avals(self) -> list[ShapedArray]:
        return list(self._lowered._traced.jaxpr.in_avals)

    def __call__(self, *args, **kwargs) -> Any:
        leaves, in_tree = tree_flatten((args, kwargs))
        if in_tree != self.in_tree:
            raise TypeError(f"the compiled function was traced for arguments of structure {self.in_tree}, but called with "
                            f"{in_tree}. Static arguments are left out of the call.")
        for position, (leaf, expected) in enumerate(zip(leaves, self._in_avals)):
            aval = get_aval(leaf)
            if aval.shape != expected.shape or aval.dtype != expected.dtype:
                raise TypeError(f"Argument types differ from the types for which this computation was compiled: argument "
                                f"{position} was compiled for {expected.str_short()}, but called with {aval.str_short()}.")
        return tree_unflatten(self.out_tree, self._program.run(leaves))

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
