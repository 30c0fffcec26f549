"""`vmap` on pytrees: matching axes to arguments, checking sizes, and running the batching interpreter."""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, Hashable

from laminax_ir.arguments import check_callable
from laminax_ir.avals import get_aval, is_array_like
from laminax_ir.pytree import broadcast_prefix, keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from laminax_ir.tracebacks import api_boundary
from laminax_transforms.autodiff import _check_array_leaves, _FlatFunction, _name
from laminax_transforms.batching import Axis, batch_flat


def vmap(fun: Callable, in_axes: Any = 0, out_axes: Any = 0, axis_name: Hashable = None,
         axis_size: int | None = None, spmd_axis_name: Hashable = None) -> Callable:
    """Makes a function over batches from a function of one example.

    Args:
      fun: function of arrays and pytrees of them.
      in_axes: for each positional argument the axis to map over: an int (negative counts from the end), None
        for an argument shared by all examples, or a pytree of these that is a prefix of the argument. One int
        or None for all arguments. Keyword arguments are mapped over axis 0.
      out_axes: where the mapped axis appears in the results: an int, None for a result that does not depend
        on it, or a pytree of these that is a prefix of the result.
      axis_name: a name for the mapped axis, for collectives such as `lax.psum`.
      axis_size: its size; needed only when no argument is mapped.
      spmd_axis_name: mesh axis (or a tuple of them) over which the mapped axis is sharded.

    Returns:
      A function of the same arguments with the extra axes.

    Raises:
      TypeError: if in_axes is not an int, None, tuple or list, or an argument is not an array.
      ValueError: if the mapped sizes differ, an axis is out of range, in_axes or out_axes do not match the
        structure, or a result that depends on the mapped axis has out_axes None.

    Example:
      >>> vmap(lambda x, y: x @ y, in_axes=(0, None))
    """
    check_callable("vmap", fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if not (in_axes is None or type(in_axes) in (int, tuple) or hasattr(in_axes, "__index__")):
        raise TypeError(f"vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
                        f"arguments passed to the function, but got {in_axes!r}.")
    for what, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        for leaf in tree_flatten(axes)[0]:
            if not hasattr(leaf, "__index__") or isinstance(leaf, bool):
                raise TypeError(f"vmap {what} must be an int, None, or (nested) container with those types as leaves, "
                                f"but got {axes!r}.")

    @api_boundary
    @wraps(fun, updated=())
    def vmap_fun(*args, **kwargs):
        if isinstance(in_axes, tuple) and len(in_axes) != len(args):
            raise ValueError(f"vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
                             f"arguments passed to the function, but got len(in_axes)={len(in_axes)}, len(args)={len(args)}")
        flat, in_tree = tree_flatten((args, kwargs))
        flat_axes = _flat_in_axes(fun, in_axes, args, kwargs)
        if not all(is_array_like(x) for x, b in zip(flat, flat_axes) if b is not None):  # what is not mapped may be anything
            _check_array_leaves(f"vmap({_name(fun)}): argument ", args)
        size = _mapped_size(fun, args, kwargs, in_axes, flat, flat_axes, axis_size)
        flat_fun = _FlatFunction(lambda a, k: fun(*a, **k), in_tree)
        flat_fun.fun.__name__ = _name(fun)
        flat_axes = [None if b is None else b % get_aval(x).ndim for x, b in zip(flat, flat_axes)]
        axis = Axis(size, axis_name, spmd_axis_name)
        results, result_axes = batch_flat(flat_fun, axis, flat, flat_axes, name=f"vmap({_name(fun)})")
        return tree_unflatten(flat_fun.out_tree,
                              _place_results(fun, axis, results, result_axes, flat_fun.out_tree, out_axes))

    return vmap_fun


def _flat_in_axes(fun, in_axes, args, kwargs) -> list[int | None]:
    if in_axes is None or not isinstance(in_axes, tuple):
        return [in_axes] * len(tree_flatten(args)[0]) + [0] * len(tree_flatten(kwargs)[0])
    try:
        flat = broadcast_prefix(in_axes, args, is_leaf=lambda x: x is None)
    except ValueError as error:
        raise ValueError(f"vmap({_name(fun)}): in_axes must be a prefix of the arguments: {error}") from None
    return flat + [0] * len(tree_flatten(kwargs)[0])


def _mapped_size(fun, args, kwargs, in_axes, flat, flat_axes, axis_size: int | None) -> int:
    sizes = {}
    for index, (x, b) in enumerate(zip(flat, flat_axes)):
        if b is None:
            continue
        aval = get_aval(x)
        if not -aval.ndim <= b < aval.ndim:
            path = _argument_paths(fun, args, kwargs)[index]
            raise ValueError(f"vmap was requested to map its argument along axis {b}, which implies that its rank should be "
                             f"at least {b + 1 if b >= 0 else -b}, but is only {aval.ndim}: argument {path} of "
                             f"{_name(fun)} is {aval.str_short()}. Give in_axes=None for an argument that all examples share.")
        sizes[index] = aval.shape[b]
    found = set(sizes.values())
    if axis_size is not None:
        if found - {axis_size}:
            raise ValueError(_sizes_message(fun, args, kwargs, flat, flat_axes, sizes, f" and axis_size={axis_size}") +
                             "\nMake the sizes equal to axis_size, or leave it out.")
        return axis_size
    if not found:
        raise ValueError("vmap must have at least one non-None value in in_axes, or axis_size must be given; "
                         f"in_axes is {in_axes!r}")
    if len(found) > 1:
        raise ValueError(_sizes_message(fun, args, kwargs, flat, flat_axes, sizes) +
                         "\nMake the sizes equal, or give in_axes=None to an argument that all examples share.")
    return found.pop()


def _sizes_message(fun, args, kwargs, flat, flat_axes, sizes, wanted: str = "") -> str:
    paths = _argument_paths(fun, args, kwargs)
    distinct = sorted(set(sizes.values()))
    lines = [f"vmap({_name(fun)}): vmap got inconsistent sizes for array axes to be mapped, "
             f"{' and '.join(map(str, distinct))}{wanted}."]
    for index, size in sizes.items():
        lines.append(f"  argument {paths[index]}, {get_aval(flat[index]).str_short()}, axis {flat_axes[index]}: size {size}")
    return "\n".join(lines)


def _argument_paths(fun, args, kwargs) -> list[str]:
    """`x['tokens']` for each leaf, with the function's own parameter names where they are known."""
    import inspect
    try:
        names = list(inspect.signature(fun).bind_partial(*args).arguments)
        kinds = inspect.signature(fun).parameters
        names = [n for n in names if kinds[n].kind in (0, 1)]
    except (TypeError, ValueError):
        names = []
    paths = []
    for path, _ in tree_flatten_with_path(args)[0]:
        i = path[0].idx
        paths.append((names[i] if i < len(names) else f"args[{i}]") + keystr(path[1:]))
    paths.extend(f"{path[0].key}{keystr(path[1:])}" for path, _ in tree_flatten_with_path(kwargs)[0])
    return paths


def _place_results(fun, axis: Axis, results, result_axes, out_tree, out_axes) -> list[Any]:
    """Moves each result's mapped axis to where out_axes wants it."""
    from laminax_transforms.batching import move_batch_axis
    dummy = tree_unflatten(out_tree, [object()] * len(results))
    try:
        wanted = broadcast_prefix(out_axes, dummy, is_leaf=lambda x: x is None)
    except ValueError as error:
        raise ValueError(f"vmap({_name(fun)}): out_axes must be a prefix of the result: {error}") from None
    placed = []
    for x, b, want in zip(results, result_axes, wanted):
        ndim = get_aval(x).ndim + (b is None)
        if want is None:
            if b is not None:
                raise ValueError(f"vmap has mapped output but out_axes is None: a result of {_name(fun)}, "
                                 f"{get_aval(x).str_short()}, depends on the mapped axis. Give it an axis in out_axes.")
        elif not -ndim <= want < ndim:
            raise ValueError(f"vmap({_name(fun)}): out_axes={want} is out of range for a result with {ndim} axes")
        placed.append(move_batch_axis(x, b, None if want is None else want % ndim, axis.size))
    return placed
