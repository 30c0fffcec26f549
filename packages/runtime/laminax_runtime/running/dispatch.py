"""Dispatch: from a call of a user's function to an executable, in C++ when the call has been seen before.

jaxlib's `PjitFunction` flattens the arguments, forms a key of their types, layouts, static values and of the settings
mirrored in `context`, and runs the executable it has for that key. If it has none it calls the miss function, Python
supplied by the layer above, which answers with the results and, if the next such call may stay in C++, the data for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from laminax_ir.pytrees import pytree
from laminax_ir.types.array_layouts import in_use as layouts_in_use
from laminax_runtime import _jaxlib
from laminax_runtime.arrays import layouts, shardings, transfer
from laminax_runtime.arrays.arrays import ArrayImpl
from laminax_runtime.backends import meshes, placement, processes
from laminax_runtime.base import context
from laminax_runtime.base.members import add_members

if TYPE_CHECKING:
    from laminax_runtime.compiling.compile import Executable

PjitFunction = _jaxlib.PjitFunction


class FastpathData(NamedTuple):
    """The data with which jaxlib runs an executable by itself; jaxlib reads the fields by these names."""

    xla_executable: _jaxlib.LoadedExecutable
    out_pytree_def: Any
    in_shardings: Sequence[shardings.Sharding]
    out_shardings: Sequence[shardings.Sharding]
    out_avals: Sequence[Any]
    out_committed: Sequence[bool]
    kept_var_bitvec: Sequence[bool]
    in_device_local_layouts: Sequence[Any]
    const_args: Sequence[Any]


MissResult = tuple[Any, FastpathData | None, bool]

# Shared by all jitted functions, so that jit of the same function again finds its entries.
_cache = _jaxlib.PjitFunctionCache(8192)


def make_jit_function(
    fun: Callable[..., Any],
    name: str,
    cache_miss: Callable[..., MissResult],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    cache_key: Hashable = (),
) -> PjitFunction:
    """A callable that runs in C++ when it can.

    Args:
        fun: the user's function, which must allow weak references: entries live as long as it does. It is called directly while
            `disable_jit` holds.
        name: its name, for profiles.
        cache_miss: called with the arguments of a call that has no entry. Returns the call's result, the data from
            `fastpath_data` or None if calls like it must keep coming here, and False.
        static_argnums: positions of the arguments that are part of the key by value.
        static_argnames: names of keyword arguments of that kind.
        cache_key: equal for two functions made from the same `fun` only if either's entries serve the other: it holds
            every parameter that `cache_miss` depends on.

    Returns:
        The function, with `_cache_size()`, `_clear_cache()` and a writable `__dict__`.
    """
    return _jaxlib.make_pjit_function(
        name,
        fun,
        cache_miss,
        list(static_argnums),
        list(static_argnames),
        cache_key,
        pytree.dispatch_registry,
        shard_arg_fallback,
        _cache,
    )


def make_eager_function(name: str, cache_miss: Callable[..., MissResult]) -> PjitFunction:
    """A callable for programs that are always compiled, such as single operations: it has its own entries, and `disable_jit` does not
    affect it.

    Its miss function may answer with fast-path data whatever trace is current, since the evaluator's operands are never traced: there is
    then one entry for calls outside of traces and one for calls inside.

    Args:
        name: the operation's name, for profiles.
        cache_miss: as for `make_jit_function`.
    """

    def run_with_jit(*args: Any, **kwargs: Any) -> Any:  # C++ calls this, instead of looking for an entry, while `disable_jit` holds
        saved = _jaxlib.disable_jit_state.swap_local(False)
        try:
            return function(*args, **kwargs)
        finally:
            _jaxlib.disable_jit_state.set_local(saved)

    cache = _jaxlib.PjitFunctionCache(256)
    function = _jaxlib.make_pjit_function(
        name, run_with_jit, cache_miss, [], [], (), pytree.dispatch_registry, shard_arg_fallback, cache
    )
    return function


def fastpath_data(
    executable: Executable, out_tree: Any, outs: Sequence[Any], args: Sequence[Any], *, const_args: Sequence[Any] = ()
) -> FastpathData | None:
    """The data that the miss function returns beside a call's results, so that the next such call stays in C++.

    Args:
        executable: the executable that was run.
        out_tree: the tree of the function's result.
        outs: the results of this call, in the order of the tree's leaves: the executable's outputs.
        args: the flat arguments of this call.
        const_args: arrays that the executable takes before the caller's arguments.

    Returns:
        None if calls like this one must come to Python: results are to be checked, or one is no array.
    """
    if processes.state.watch is not None and any(d.process_index != processes.state.process_id for d in executable.devices):
        return None  # C++ would raise XLA's error where another process fails, which does not name it
    if context.needs_checked_outputs() or not all(type(x) is ArrayImpl for x in outs):
        return None
    return FastpathData(
        executable.loaded,
        out_tree,
        executable.in_shardings,
        executable.out_shardings,
        [x.aval for x in outs],
        [x._committed for x in outs],
        executable.kept,
        _demanded_layouts(executable, (*const_args, *args)),
        list(const_args),
    )


def _demanded_layouts(executable: Executable, args: Sequence[Any]) -> list[Any]:
    """One entry per parameter: a layout makes C++ call `shard_arg_fallback` for arguments of other layouts.

    C++ would share a NumPy array's memory with the program, which may still read it when the caller writes to it again.
    """
    kept = [x for x, is_kept in zip(args, executable.kept, strict=True) if is_kept]
    if layouts_in_use:
        return [layouts.DemandedLayout(layout) for layout in executable.parameter_layouts]
    if not any(isinstance(x, np.ndarray) for x in kept):
        return [None] * len(kept)
    return [layouts.DemandedLayout(layout) if isinstance(x, np.ndarray) else None
            for x, layout in zip(kept, executable.parameter_layouts, strict=True)]


def shard_arg_fallback(x: Any, sharding: shardings.Sharding, layout: Any) -> ArrayImpl:
    """Puts an argument on the executable's devices; C++ calls it for those that it cannot put there by itself.

    The layout is the one from `_demanded_layouts`, or None.
    """
    if type(x) is np.ndarray and type(sharding) is shardings.SingleDeviceSharding:
        placed = transfer.copy_to_device(x, sharding)
    else:
        placed = transfer.place_argument(x, sharding)
    return placed if layout is None or not layouts_in_use else layouts.with_layout(placed, layout.layout)


def execution_device(
    args: Sequence[Any], device: placement.Device | None = None, mesh: meshes.Mesh | None = None
) -> placement.Device | None:
    """The one device on which to run a computation on these arguments.

    Args:
        args: flat arguments; only arrays committed to a device decide.
        device: the caller's choice, which prevails.
        mesh: the mesh that computations run on, if one is set.

    Returns:
        The device. None if there is no one device: a mesh is set, an argument is spread over a mesh, or arguments are committed to
        different devices.
    """
    if device is not None:
        return device
    if mesh is not None:
        return None
    found = None
    for x in args:
        if type(x) is ArrayImpl and x._committed:
            sharding = x._sharding
            if type(sharding) is not shardings.SingleDeviceSharding or (found is not None and sharding._device != found):
                return None
            found = sharding._device
    return placement.placement_device() if found is None else found


def clear_dispatch_caches() -> None:
    """Forgets every entry of every jitted and eager function."""
    _jaxlib.clear_all_dispatch_caches()


def install_jit_methods(members: Mapping[str, Any]) -> None:
    """Sets methods, such as `lower`, on the class of jitted functions.

    Raises:
        ValueError: the class already has a member of this name; nothing is set.
    """
    add_members("install_jit_methods", PjitFunction, "the class of jitted functions", members)
