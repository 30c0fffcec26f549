"""From programs to executables: lowering and compiling with the layers below, and running on any values.

Key arrays are stored as arrays of words; this module is where they are unwrapped on the way into an executable and
wrapped again on the way out.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

import laminax_runtime as runtime
from laminax_ir import dtypes
from laminax_ir.avals import ShapedArray
from laminax_ir.jaxpr import ClosedJaxpr
from laminax_ir.keys import PRNGKeyArray, physical_aval
from laminax_lowering import LoweredModule, lower


class Program:
    """A compiled program with its calling convention: constants first, key arrays as words."""

    __slots__ = ("executable", "const_args", "out_avals", "has_keys", "effects")

    def __init__(self, executable: runtime.Executable, const_args: list[Any], out_avals: Sequence[ShapedArray],
                 has_keys: bool, effects: frozenset):
        self.executable = executable
        self.const_args = const_args
        self.out_avals = out_avals
        self.has_keys = has_keys
        self.effects = effects

    def run(self, args: Sequence[Any]) -> list[Any]:
        """Runs the program on one value per argument; returns one array per result."""
        if not self.has_keys:
            return self.executable.execute([*self.const_args, *args])
        outs = self.executable.execute([*self.const_args, *map(_words, args)])
        return [PRNGKeyArray(aval.dtype.impl, out) if dtypes.is_extended(aval.dtype) else out
                for out, aval in zip(outs, self.out_avals)]

    def fastpath(self, out_tree: Any, outs: Sequence[Any], args: Sequence[Any]) -> runtime.FastpathData | None:
        """The data with which C++ runs the next such call itself, or None when it must not."""
        if self.has_keys or self.effects:
            return None
        return runtime.fastpath_data(self.executable, out_tree, outs, args, const_args=self.const_args)


def _words(x: Any) -> Any:
    return x.base if isinstance(x, PRNGKeyArray) else x


def lowering_platform(device: runtime.Device) -> str:
    """The lowering's name for a device's platform."""
    if device.platform == "gpu":
        return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"
    return device.platform


def compile_program(closed: ClosedJaxpr, device: runtime.Device, *, name: str, donated: Sequence[bool] | None = None,
                    keep_unused: bool = False, is_pinned: bool = False,
                    compiler_options: Mapping[str, Any] | None = None) -> Program:
    """Lowers and compiles a program for one device.

    Args:
      closed: the program.
      device: where it runs.
      name: the function's name.
      donated: which arguments may be overwritten.
      keep_unused: whether the executable takes arguments that the program does not read.
      is_pinned: whether results are committed to the device.
      compiler_options: XLA options by name.
    """
    lowered = lower(closed, name=name, platform=lowering_platform(device), donated=donated, keep_unused=keep_unused)
    return compile_lowered(lowered, closed, device, is_pinned=is_pinned, compiler_options=compiler_options)


def compile_lowered(lowered: LoweredModule, closed: ClosedJaxpr, device: runtime.Device, *, is_pinned: bool = False,
                    compiler_options: Mapping[str, Any] | None = None) -> Program:
    """Compiles a lowered program for one device; arguments as for `compile_program`."""
    const_args = [runtime.device_put(_words(c)) for c in lowered.consts]
    const_avals = [c.aval for c in const_args]
    executable = runtime.compile_module(
        lowered.text,
        in_avals=[*const_avals, *map(physical_aval, closed.in_avals)],
        out_avals=[physical_aval(aval) for aval in closed.out_avals],
        kept=[*[True] * len(const_args), *(i in set(lowered.kept) for i in range(len(closed.in_avals)))],
        devices=[device], is_pinned=is_pinned, compiler_options=compiler_options, name=lowered.name,
        keepalives=lowered.keepalives)
    has_keys = any(dtypes.is_extended(aval.dtype) for aval in (*closed.in_avals, *closed.out_avals))
    return Program(executable, const_args, closed.out_avals, has_keys, closed.effects)
