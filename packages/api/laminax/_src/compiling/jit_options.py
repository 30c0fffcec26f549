"""The options of `jit` and `pjit`: what their callers give, checked and brought into one form, which is part of every key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Sequence

import laminax_runtime as runtime
from laminax_ir.ops.calls import Inline, KeptCall
from laminax_ir.options.records import Record
from laminax_ir.types.arguments import check_hashable

from laminax._src.base.argument_names import resolve
from laminax._src.placement.sharding_arguments import ShardingTree, normal_tree

if TYPE_CHECKING:
    from laminax._src.compiling.abstracted_axes import AbstractedAxes


class JitOptions(Record):
    """The options of a jitted function in their final form, hashable.

    Args:
      static_argnums, static_argnames: the static arguments by position and by name.
      donate_argnums, donate_argnames: the donated arguments by position and by name.
      keep_unused: whether unused arguments stay arguments of the executable.
      device: the device that calls run on; None if the arguments and the settings decide.
      inline: how calls become part of the program of a caller.
      compiler_options: pairs of an option of XLA and its value, sorted.
      in_shardings, out_shardings: the shardings of arguments and results as given; None if nothing is said of them.
      runs_on_entered_mesh: whether partition specs refer to the mesh of `with mesh:`, as under `pjit`.
      abstracted_axes: the axes whose sizes have names.
    """
    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    keep_unused: bool = False
    device: runtime.Device | None = None
    inline: Inline | KeptCall = Inline.AUTO
    compiler_options: tuple[tuple[str, Any], ...] = ()
    in_shardings: ShardingTree | None = None
    out_shardings: ShardingTree | None = None
    runs_on_entered_mesh: bool = False
    abstracted_axes: AbstractedAxes | None = None


class GivenOptions(Record):
    """The options of `jit` as its caller gave them; `jit` documents them."""
    in_shardings: Any
    out_shardings: Any
    static_argnums: int | Sequence[int] | None
    static_argnames: str | Iterable[str] | None
    donate_argnums: int | Sequence[int] | None
    donate_argnames: str | Iterable[str] | None
    keep_unused: bool
    device: Any
    backend: str | None
    inline: Any
    compiler_options: Mapping[str, Any]
    abstracted_axes: Any = None


def jit_options(fun: Callable, given: GivenOptions, *, runs_on_entered_mesh: bool) -> JitOptions:
    """Checks the options that were given for a function.

    Raises:
      TypeError: if one is of the wrong type, or the value of a compiler option cannot be hashed.
      ValueError: if options contradict each other, or name arguments that the function does not have.
    """
    static = resolve(fun, given.static_argnums, given.static_argnames, "static")
    donated = resolve(fun, given.donate_argnums, given.donate_argnames, "donate")
    if not isinstance(given.keep_unused, bool):
        raise TypeError(f"jit: keep_unused must be a bool, got {given.keep_unused!r}")
    names, positions = set(static[1]) & set(donated[1]), set(static[0]) & set(donated[0])
    if names or positions:
        kind, first = ("names", repr(min(names))) if names else ("nums", repr(min(positions)))
        raise ValueError(f"jit: static_arg{kind} and donate_arg{kind} cannot intersect, but argument {first} appears in both. "
                         "A static argument has no buffer to donate: leave it out of one.")
    in_shardings, out_shardings = _shardings(given)
    check_hashable("jit", "the value of an option in compiler_options", *given.compiler_options.values())
    return JitOptions(*static, *donated, given.keep_unused, _chosen_device(given.device, given.backend), _inline(given.inline),
                      tuple(sorted(given.compiler_options.items())), in_shardings, out_shardings, runs_on_entered_mesh,
                      None if given.abstracted_axes is None else _named_axes(given.abstracted_axes))


def _named_axes(given: Any) -> AbstractedAxes:
    from laminax._src.compiling.abstracted_axes import AbstractedAxes
    return AbstractedAxes("jit", given)


def _inline(given: Any) -> Inline | KeptCall:
    """The option `inline`, in which True and False stand for two of the enumeration."""
    if isinstance(given, (Inline, KeptCall)):
        return given
    if not isinstance(given, bool):
        raise ValueError(f"jit: Invalid inline option: {given!r}; it must be a bool or an Inline, such as Inline.JAX_EARLY")
    return Inline.JAX_LATE if given else Inline.AUTO


def _shardings(given: GivenOptions) -> tuple[ShardingTree | None, ShardingTree | None]:
    """The shardings of arguments and results; refuses them beside a device or a backend."""
    trees = normal_tree("in_shardings", given.in_shardings), normal_tree("out_shardings", given.out_shardings)
    for name, value in (("device", given.device), ("backend", given.backend)):
        if value is not None and trees != (None, None):
            what = "in_shardings" if trees[0] is not None else "out_shardings"
            raise ValueError(f"jit: If backend or device is specified on jit, then {what} should not be specified. It says where the "
                             f"function runs, and so does {name}={value}; leave one out.")
    return trees


def _chosen_device(device: Any, backend: str | None) -> runtime.Device | None:
    """The device that device or backend names, or None."""
    if device is not None and backend is not None:
        raise ValueError(f"can't specify both a device and a backend for jit, got device={device} and backend={backend}")
    if device is not None and not isinstance(device, runtime.Device):
        raise TypeError(f"jit: device must be a device, one of laminax.devices(), got {device!r} of type {type(device).__name__}")
    if backend is not None:
        if not isinstance(backend, str):
            raise TypeError(f"jit: backend must be the name of a platform, such as 'cpu', got {backend!r} of type {type(backend).__name__}")
        return runtime.local_devices(backend=backend)[0]
    return device
