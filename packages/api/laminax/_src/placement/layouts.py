"""How the elements of arrays lie in memory: formats given to `jit`, `device_put` and inside of programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import laminax_runtime as runtime
from laminax_ir.ops.sharding import layout_constraint_p
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.pytrees.pytree import broadcast_prefix, tree_flatten, tree_unflatten
from laminax_ir.types import dtypes
from laminax_ir.types.array_layouts import AUTO, Format, Layout, in_use
from laminax_ir.types.avals import ShapedArray, get_aval

__all__ = ["Format", "Layout", "with_layout_constraint"]


def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """Constrains the layout of values, how their elements lie in memory; outside of jitted functions, gives them this layout.

    Args:
      x: an array or a pytree of them.
      layouts: a `Layout`, or a pytree of them that is a prefix of x.

    Returns:
      A pytree like x with the same values.

    Raises:
      ValueError: if layouts has something else, is no prefix of x, or a layout has another number of axes than its array.

    Example:
      >>> jit(lambda x: with_layout_constraint(x.T, Layout((1, 0))))(x)
    """
    leaves, tree = tree_flatten(x)
    try:
        flat = broadcast_prefix(layouts, x, is_leaf=lambda leaf: leaf is None)
    except ValueError as error:
        raise ValueError(f"with_layout_constraint: layouts must be a Layout, or a pytree of them that is a prefix of x: {error}") from None
    if wrong := [type(layout) for layout in flat if not isinstance(layout, Layout)]:
        raise ValueError(f"with_layout_constraint: layouts passed to `with_layout_constraint` must be of type `Layout`. Got {wrong}. Give "
                         "shardings to with_sharding_constraint.")
    return tree_unflatten(tree, [_constrained(leaf, layout) for leaf, layout in zip(leaves, flat)])


def _constrained(x: Any, layout: Layout) -> Any:
    _check_rank("One of with_layout_constraint arguments", layout, get_aval(x))
    return constrain_layout(x, layout)


def constrain_layout(x: Any, layout: Layout) -> Any:
    """The value in a layout, in the trace at work."""
    return layout_constraint_p.bind(x, layout=layout)


def _check_rank(what: str, layout: Any, aval: ShapedArray) -> None:
    if not isinstance(layout, Layout):
        return
    if dtypes.is_extended(aval.dtype):
        raise NotImplementedError(f"{what} has a layout annotation, {layout}, which {aval.str_short()} cannot have: its elements are no "
                                  "numbers.")
    try:
        layout.check_compatible_aval(aval.shape)
    except ValueError as error:
        raise ValueError(f"{what} is incompatible with its layout annotation {layout}: {error}") from None


def sharding_of(leaf: Any) -> Any:
    """A leaf of in_shardings or out_shardings without its layout."""
    return leaf.sharding if isinstance(leaf, Format) else leaf


def layout_of(leaf: Any) -> Any:
    """The layout of a leaf of in_shardings or out_shardings, or None."""
    return leaf.layout if isinstance(leaf, Format) else None


def chosen_layouts(title: str, closed: ClosedJaxpr, leaves: Sequence[Any], given: Sequence[Any],
                   name: Callable[[int], str]) -> tuple[tuple, tuple]:
    """The layouts of arguments and results of a program, `AUTO` for the compiler's choice and None for the platform's default.

    Args:
      title: what runs, for messages.
      closed: the program.
      leaves: its arguments: values, or their types.
      given: the in_shardings and out_shardings that the caller of jit gave: two lists, or None.
      name: from the number of an argument to its name.

    Raises:
      ValueError: if an argument has another layout than it must, or a layout has another number of axes than its array.
    """
    in_given, out_given = given
    ins: list[Any] = [None] * len(closed.in_avals) if in_given is None else [*map(layout_of, in_given)]
    outs: list[Any] = [None] * len(closed.out_avals) if out_given is None else [*map(layout_of, out_given)]
    for i, (x, wanted, aval) in enumerate(zip(leaves, ins, closed.in_avals)):
        found = _layout_found(x)
        if wanted is None:
            ins[i] = found
            continue
        _check_rank(f"{title}: One of jit arguments with pytree key path {name(i)}", wanted, aval)
        if isinstance(x, runtime.ArrayImpl) or found is not None:
            _check_agreement(title, x, found, wanted, aval, name(i))
    for i, (wanted, aval) in enumerate(zip(outs, closed.out_avals)):
        if wanted is not None:
            _check_rank(f"{title}: One of jit outputs, result {i},", wanted, aval)
    return tuple(ins), tuple(outs)


def _layout_found(x: Any) -> Layout | None:
    """The layout of an argument, unless it is the platform's default."""
    if isinstance(x, runtime.ArrayImpl):
        return None if not in_use or x.is_deleted() else runtime.layout_of(x)
    return getattr(x, "layout", None)  # an argument of `lower` that is known by its type


def _check_agreement(title: str, x: Any, found: Layout | None, wanted: Any, aval: ShapedArray, name: str) -> None:
    """Raises ValueError if an argument is committed to another layout than the one that the caller of jit asked for."""
    if isinstance(x, runtime.ArrayImpl):
        if not x.committed or x.is_deleted():
            return
        found = x.format.layout
    if wanted is AUTO or not wanted.is_met_by(found):
        advice = ("The layout given to jit is `Layout.AUTO`, and the argument is an array, which has a layout. Pass a "
                  "`laminax.ShapeDtypeStruct` in its place to lower the function with `Layout.AUTO`."
                  if wanted is AUTO else "Bring it there with device_put, or leave its entry of in_shardings out (None).")
        raise ValueError(f"{title}: Layout passed to jit does not match the layout on the respective arg. Got jit layout: {wanted},\n  arg "
                         f"layout: {found} for arg type: {aval.str_short(short_dtypes=False)}, argument {name}. {advice}")


def put_in_format(x: Any, where: Format, put: Callable[[Any, Any], Any]) -> Any:
    """`device_put` of a value to a format; `put` is `device_put` to a sharding.

    Raises:
      ValueError: for `Layout.AUTO`, or a layout of another number of axes.
    """
    aval = get_aval(x)
    if where.layout is AUTO:
        raise ValueError(f"device_put: sharding and layout in `Layout` instance should be concrete. Got layout: {where} for input "
                         f"{aval.str_short(short_dtypes=False)}. Give a Layout, or None for the default.")
    _check_rank(f"device_put: x, {aval.str_short()},", where.layout, aval)
    placed = put(x, where.sharding)
    return constrain_layout(placed, where.layout) if isinstance(where.layout, Layout) else placed
