"""`vmap` on pytrees: matching axes to arguments, checking sizes, and running the batching interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, Hashable, NamedTuple

import numpy as np

from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.pytrees.pytree import (
    broadcast_over,
    broadcast_prefix,
    keystr,
    leaf_paths,
    mismatch_details,
    tree_flatten,
    tree_flatten_with_path,
    tree_structure,
    tree_unflatten,
)
from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.refs.refs import Ref, check_aliases
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types.arguments import as_int, check_callable, check_hashable, function_name
from laminax_ir.types.avals import get_aval, is_array_like
from laminax_ir.types.hi_types import HiType, MappingSpec, types_in_use
from laminax_ir.types.type_shardings import in_use
from laminax_transforms.base.flat_functions import FlatFunction, argument_paths, check_array_leaves
from laminax_transforms.batching.batch_axes import Axis, move_batch_axis
from laminax_transforms.batching.batching import batch_flat
from laminax_transforms.batching.explicit_batches import mesh_axes_of
from laminax_transforms.batching.mapped_refs import with_mapped_refs
from laminax_transforms.batching.mapped_types import (
    any_mapped_types,
    has_mapped_type,
    is_map_spec,
    size_of_mapped,
    whole_in_trees,
    with_mapped_types,
)

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


def vmap(fun: Callable, in_axes: Any = 0, out_axes: Any = 0, axis_name: Hashable = None,
         axis_size: int | None = None, spmd_axis_name: Hashable = None, sum_match: bool = False) -> Callable:
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
      sum_match: whether a result that depends on the mapped axis and has out_axes None is summed over it, and not refused.

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
    check_hashable("vmap", "axis_name", axis_name)
    check_hashable("vmap", "spmd_axis_name", spmd_axis_name)
    axis_size = None if axis_size is None else as_int("vmap", "axis_size", axis_size)
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    _check_axes(in_axes, out_axes)

    @api_boundary
    @wraps(fun)
    def vmap_fun(*args: Any, **kwargs: Any) -> Any:
        call = _taken_apart(fun, in_axes, out_axes, axis_size, args, kwargs)
        name = f"vmap({function_name(fun)})"
        mesh_axes = mesh_axes_of(name, call.flat, call.flat_axes, spmd_axis_name) if in_use else None
        axis = Axis(call.size, axis_name, spmd_axis_name if mesh_axes is None else None, mesh_axes)
        results, result_axes = batch_flat(call.example_fun, axis, call.flat, call.flat_axes, name=name)
        out_tree = call.flat_fun.out_tree
        return tree_unflatten(out_tree, _place_results(fun, axis, results, result_axes, out_tree, out_axes, sum_match))

    vmap_fun.__doc__ = _documentation(fun)
    return vmap_fun


def _check_axes(in_axes: Any, out_axes: Any) -> None:
    if not (in_axes is None or type(in_axes) in (int, tuple) or hasattr(in_axes, "__index__") or _is_spec(in_axes)):
        raise TypeError(f"vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
                        f"arguments passed to the function, but got {in_axes!r}.")
    for what, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        for leaf in tree_flatten(axes)[0]:
            if (not isinstance(leaf, (int, np.integer)) or isinstance(leaf, bool)) and not _is_spec(leaf):
                raise TypeError(f"vmap {what} must be an int, None, or (nested) container with those types as leaves, "
                                f"but got {axes!r}.")


def _is_spec(x: Any) -> bool:
    return isinstance(x, MappingSpec) or is_map_spec(x)


class _Call(NamedTuple):
    """A call of a mapped function, taken apart.

    flat_fun: the function of one example, flat; knows the structure of the result once it was called.
    example_fun: the function that the batching interpreter runs: `flat_fun`, with values of registered types and references replaced.
    flat, flat_axes: the arguments, and the mapped axis of each; None for those that the batching interpreter hands on as they are.
    size: the size of the mapped axis.
    """
    flat_fun: FlatFunction
    example_fun: Callable
    flat: list[Any]
    flat_axes: list[int | None]
    size: int


def _taken_apart(fun: Callable, in_axes: Any, out_axes: Any, axis_size: int | None, args: tuple, kwargs: dict[str, Any]) -> _Call:
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(f"vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional "
                         f"arguments passed to the function, but got len(in_axes)={len(in_axes)}, len(args)={len(args)}"
                         + (_note_of_keywords(kwargs) if kwargs else ""))
    typed, given = any_mapped_types(), axis_size
    accepts = _is_mappable if typed else is_array_like
    flat, in_tree = tree_flatten((args, kwargs), whole_in_trees())
    # in_axes has one entry for a whole value of a registered type
    whole = tree_unflatten(in_tree, [_Leaf()] * len(flat)) if any(map(has_mapped_type, flat)) else (args, kwargs)
    specs = flat_axes = _flat_in_axes(fun, in_axes, *whole)
    is_mapping_refs = False
    if not all(accepts(x) for x, b in zip(flat, flat_axes) if b is not None):  # an argument that is not mapped may be any object
        check_array_leaves(f"vmap({function_name(fun)}): argument ", args, accepts)
        is_mapping_refs = True
    if typed:  # values of registered types are mapped by their own functions; the batching interpreter gets them without an axis
        given = size_of_mapped(function_name(fun), flat, specs, axis_size)
        flat_axes = [None if has_mapped_type(x) else b if isinstance(b, MappingSpec) else _plain_axis(fun, "in_axes", b)
                     for x, b in zip(flat, specs)]
    size = _mapped_size(fun, whole[0], whole[1], in_axes, flat, flat_axes, given)
    for x, b in zip(flat, flat_axes):
        if isinstance(b, MappingSpec):
            get_aval(x).dec_rank(size, b)  # a type that cannot be mapped, or not so, says it now
    # a type may be registered while the function runs, by the import of the module that defines it
    flat_fun = FlatFunction(lambda a, k: fun(*a, **k), in_tree, result_name="Output from batched function", accepts=_is_mappable,
                            is_leaf=whole_in_trees)
    flat_fun.fun.__name__ = function_name(fun)
    example_fun: Callable = with_mapped_types(flat_fun, specs, out_axes)
    flat_axes = [None if b is None else b if isinstance(b, MappingSpec) else b % get_aval(x).ndim for x, b in zip(flat, flat_axes)]
    if is_mapping_refs:
        example_fun, flat_axes = _mapping_refs(fun, example_fun, args, kwargs, flat, flat_axes)
    return _Call(flat_fun, example_fun, flat, flat_axes, size)


def _mapping_refs(fun: Callable, example_fun: Any, args: Any, kwargs: Any, flat: Any, flat_axes: Any) -> tuple[Callable, list[int | None]]:
    """The flat function, which gets references to examples in the place of mapped references; and the axes of the other arguments."""
    names = argument_paths(fun, args, kwargs)
    check_aliases(function_name(fun), "vmap", flat, (), names.__getitem__)
    refs = [(i, x, b) for i, (x, b) in enumerate(zip(flat, flat_axes)) if b is not None and isinstance(x, Ref)]
    return with_mapped_refs(example_fun, refs), [None if isinstance(x, Ref) else b for x, b in zip(flat, flat_axes)]


class _Leaf:
    """Stands for an argument where only the structure of the arguments matters."""


def _is_mappable(x: Any) -> bool:
    return is_array_like(x) or has_mapped_type(x)


def _plain_axis(fun: Callable, what: str, axis: Any) -> int | None:
    if axis is not None and not isinstance(axis, (int, np.integer)):
        raise TypeError(f"vmap({function_name(fun)}): {what} has {axis!r} for an array, which needs an int or None")
    return None if axis is None else int(axis)


def _documentation(fun: Callable) -> str:
    name = function_name(fun)
    summary = f"Vectorized version of {name}: takes the arguments of {name} with further axes, which it is mapped over."
    return f"{summary}\n\nOriginal documentation:\n\n{fun.__doc__}" if getattr(fun, "__doc__", None) else summary


def _note_of_keywords(kwargs: dict[str, Any]) -> str:
    return (f". Note that the function was called with keyword arguments {list(kwargs)}, which the entries of a tuple in_axes never "
            "correspond to: keyword arguments are always mapped along their leading axis (axis 0). Pass them by position, or bind those "
            "that all examples share with functools.partial.")


def _flat_in_axes(fun: Callable, in_axes: Any, args: tuple[ArrayLike, ...], kwargs: dict[Any, Any]) -> list[int | None]:
    if in_axes is None or not isinstance(in_axes, tuple):
        return [in_axes] * len(tree_flatten(args)[0]) + [0] * len(tree_flatten(kwargs)[0])
    try:
        flat = broadcast_prefix(in_axes, args, is_leaf=lambda x: x is None)
    except ValueError:
        tree = tree_structure(args)
        raise ValueError(f"vmap({function_name(fun)}): vmap in_axes specification must be a tree prefix of the corresponding value; got "
                         f"specification {in_axes!r} for value tree {tree}.\n"
                         + mismatch_details("vmap in_axes", in_axes, tree, lambda x: x is None)) from None
    return flat + [0] * len(tree_flatten(kwargs)[0])


def _mapped_size(fun: Callable, args: tuple[ArrayLike, ...], kwargs: dict[Any, Any], in_axes: Any, flat: Sequence[ArrayLike],
                 flat_axes: Any, axis_size: int | None) -> int:
    sizes = {}
    for index, (x, b) in enumerate(zip(flat, flat_axes)):
        if b is None:
            continue
        aval = get_aval(x)
        if isinstance(aval, HiType) or isinstance(b, MappingSpec):
            _check_spec(fun, "in_axes", aval, b)
            continue
        if not -aval.ndim <= b < aval.ndim:
            path = _described_arguments(fun, args, kwargs)[index]
            raise ValueError(f"vmap was requested to map its argument along axis {b}, which implies that its rank should be "
                             f"at least {b + 1 if b >= 0 else -b}, but is only {aval.ndim} (its shape is {aval.shape}): {path} "
                             f"of {function_name(fun)} is {aval.str_short()}. Give in_axes=None for an argument that all examples share.")
        sizes[index] = aval.shape[b]
    found = set(sizes.values())
    if axis_size is not None:
        if found - {axis_size}:
            raise ValueError(_sizes_message(fun, args, kwargs, flat, flat_axes, sizes, axis_size) +
                             "\nMake the sizes equal to axis_size, or leave it out.")
        return axis_size
    if not flat:
        raise ValueError(f"vmap({function_name(fun)}): vmap wrapped function must be passed at least one argument containing an array "
                         f"or axis_size must be specified, got empty *args={args} and **kwargs={kwargs}.")
    if not found:
        if any(isinstance(b, MappingSpec) for b in flat_axes):
            raise ValueError(f"vmap({function_name(fun)}): axis_size must be specified, since only values of types of users' own are "
                             "mapped, whose MappingSpecs do not say it.")
        raise ValueError("vmap must have at least one non-None value in in_axes, or axis_size must be given; "
                         f"in_axes is {in_axes!r}")
    if len(found) > 1:
        raise ValueError(_sizes_message(fun, args, kwargs, flat, flat_axes, sizes) +
                         "\nMake the sizes equal, or give in_axes=None to an argument that all examples share.")
    return found.pop()


def _check_spec(fun: Callable, what: str, aval: Any, spec: Any) -> None:
    """Checks that a value of a type of users' own is mapped as a `MappingSpec` says, and an array along an axis."""
    name = f"vmap({function_name(fun)}): {what}"
    if not isinstance(aval, HiType):
        raise TypeError(f"{name} has {spec!r} for an array, {aval.str_short()}, which needs an int or None")
    if not isinstance(spec, MappingSpec):
        raise ValueError(f"{name} has {spec!r} for a value of the non-array type {aval.str_short()}, which is mapped as a MappingSpec of "
                         "its own says. Give an instance of one, or None.")


def _sizes_message(fun: Callable, args: tuple[Any, ...], kwargs: dict[str, ArrayLike], flat: Sequence[ArrayLike], flat_axes: Any,
                   sizes: dict[int, int], axis_size: int | None = None) -> str:
    """The lines of the error: each size with one axis that has it, the most frequent size first."""
    paths = _described_arguments(fun, args, kwargs)
    by_size: dict[int, list[int]] = {}
    for index, size in sizes.items():
        by_size.setdefault(size, []).append(index)
    groups = sorted(by_size.items(), key=lambda group: -len(group[1]))
    has_majority = len(groups) == 1 or len(groups[0][1]) > len(groups[1][1])
    lines = [] if axis_size is None else [f"  * the `axis_size` argument was {axis_size}"]
    for rank, (size, indices) in enumerate(groups):
        first, count = indices[0], len(indices)
        axis = f"axis {flat_axes[first]} of {paths[first]} of type {get_aval(flat[first]).str_short(short_dtypes=False)}"
        which = "most" if has_majority and not rank else "some"
        lines.append(f"  * one axis had size {size}: {axis}" if count == 1 else
                     f"  * {which} axes ({count} of them) had size {size}, e.g. {axis}")
    return f"vmap({function_name(fun)}): vmap got inconsistent sizes for array axes to be mapped:\n" + ";\n".join(lines)


def _described_arguments(fun: Callable, args: tuple[Any, ...], kwargs: dict[str, ArrayLike]) -> list[str]:
    """`argument x['tokens']` for each leaf given by position, `kwargs['x']` for each given by name."""
    return [*(f"argument {path}" for path in argument_paths(fun, args, {})),
            *(f"kwargs{keystr(path)}" for path, _ in tree_flatten_with_path(kwargs)[0])]


def _place_results(fun: Callable, axis: Axis, results: Sequence[ArrayLike], result_axes: Sequence[int | None], out_tree: Any,
                   out_axes: int, sum_match: bool) -> list[Any]:
    """Moves each result's mapped axis to where out_axes wants it."""
    try:
        wanted = broadcast_over(out_axes, out_tree, lambda x: x is None)
    except ValueError:
        raise ValueError(f"vmap({function_name(fun)}): vmap out_axes specification must be a tree prefix of the corresponding value; got "
                         f"specification {out_axes!r} for value tree {out_tree}.\n"
                         + mismatch_details("vmap out_axes", out_axes, out_tree, lambda x: x is None)) from None
    placed = []
    for index, (x, b, want) in enumerate(zip(results, result_axes, wanted)):
        if has_mapped_type(x):
            placed.append(x)
            continue
        if isinstance(want, MappingSpec) or types_in_use() and isinstance(get_aval(x), HiType):
            if want is not None:
                _check_spec(fun, "out_axes", get_aval(x), want)
            placed.append(move_batch_axis(x, b, want, axis.size, axis.mesh_axes))
            continue
        want = _plain_axis(fun, "out_axes", want)
        ndim = get_aval(x).ndim + (b is None)
        if want is None:
            if b is not None and sum_match:
                x, b = reduce_sum(x, (b,)), None
            elif b is not None:
                named = "" if axis.name is None else f" (axis_name={axis.name})"
                path = keystr(leaf_paths(out_tree)[index])
                raise ValueError(f"vmap has mapped output{named} but out_axes is None: a result of {function_name(fun)}, "
                                 f"{get_aval(x).str_short()}, at vmap out_axes{path}, depends on the mapped axis. Give it an axis in "
                                 "out_axes.")
        elif not -ndim <= want < ndim:
            raise ValueError(f"vmap({function_name(fun)}): out_axes={want}: axis {want} is out of bounds for array of dimension {ndim}, "
                             "which is the result's with the mapped axis")
        placed.append(move_batch_axis(x, b, None if want is None else want % ndim, axis.size, axis.mesh_axes))
    return placed
