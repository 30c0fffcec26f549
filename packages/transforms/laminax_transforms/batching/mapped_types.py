"""Types that `vmap` takes apart and puts together by functions of their own, such as arrays with named axes.

A value of a registered type is one argument or result of the mapped function, though it may be a pytree container elsewhere. Its
entry in `in_axes` or `out_axes` is a specification: an object of the type that is registered as `spec_type`, which only the registered
functions `to_elt` and `from_elt` understand.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from laminax_ir.ops.shape import iota
from laminax_ir.pytrees.pytree import broadcast_over
from laminax_ir.tracing.trace import current_trace, state
from laminax_ir.types.arguments import check_callable
from laminax_ir.types.avals import get_aval
from laminax_transforms.batching.batch_axes import move_batch_axis


class _MappedType(NamedTuple):
    spec_type: type
    to_elt: Callable
    from_elt: Callable
    make_iota: Callable | None


_types: dict[type, _MappedType] = {}


def register_vmappable(data_type: type, spec_type: type, axis_size_type: type, to_elt: Callable, from_elt: Callable,
                       make_iota: Callable | None) -> None:
    """Tells `vmap` how to map over values of a type.

    Args:
      data_type: the type; it may be a pytree container.
      spec_type: the type of the entry for such a value in `in_axes` and `out_axes`.
      axis_size_type: the type of the axis' size; must be int.
      to_elt: `to_elt(cont, index, value, spec)` returns one example: it applies `cont(array, axis)` to the arrays in the value, and may
        call `index()` for the number of the example.
      from_elt: `from_elt(cont, axis_size, example, spec)` returns a value of the mapped results in an example, by
        `cont(axis_size, array, axis)`.
      make_iota: makes the numbers of the examples of the axis' size, None for `lax.iota`.

    Raises:
      TypeError: if data_type is no type, sizes are to be of another type than int, or a function is not callable.

    Example:
      >>> register_vmappable(Named, Axis, int, lambda cont, index, x, spec: Named(cont(x.data, spec.axis)),
      ...                    lambda cont, size, x, spec: Named(cont(size, x.data, spec.axis)), None)
    """
    if not isinstance(data_type, type):
        raise TypeError(f"register_vmappable: data_type must be a type, got {data_type!r}")
    if axis_size_type is not int:
        raise TypeError(f"register_vmappable: axis_size_type must be int, got {axis_size_type!r}")
    check_callable("register_vmappable: to_elt", to_elt)
    check_callable("register_vmappable: from_elt", from_elt)
    _types[data_type] = _MappedType(spec_type, to_elt, from_elt, make_iota)


def unregister_vmappable(data_type: type) -> None:
    """Takes back `register_vmappable`; does nothing for a type that is not registered."""
    _types.pop(data_type, None)


def any_mapped_types() -> bool:
    """Whether a type is registered at all."""
    return bool(_types)


def has_mapped_type(x: Any) -> bool:
    """Whether a value is of a registered type."""
    return type(x) in _types


def whole_in_trees() -> Callable[[Any], bool] | None:
    """What pytrees are flattened with, as `is_leaf`, so that values of registered types stay whole; None as long as there are none."""
    return has_mapped_type if _types else None


def is_map_spec(x: Any) -> bool:
    """Whether something is a specification for a registered type."""
    return any(type(x) is known.spec_type for known in _types.values())


def size_of_mapped(name: str, flat: list[Any], specs: list[Any], axis_size: int | None) -> int | None:
    """The size of the mapped axis, from the values of registered types that have a `shape` and are mapped along a numbered axis.

    Args:
      name: of the mapped function, for the message.
      flat: the arguments.
      specs: the entry of `in_axes` for each argument.
      axis_size: the size that the caller of `vmap` gave, or None.

    Raises:
      ValueError: if the sizes differ.
    """
    sizes = {x.shape[spec] for x, spec in zip(flat, specs) if type(x) in _types and type(spec) is int and hasattr(x, "shape")
             and -len(x.shape) <= spec < len(x.shape)}
    if axis_size is not None:
        sizes.add(axis_size)
    if len(sizes) > 1:
        raise ValueError(f"vmap({name}): vmap got inconsistent sizes for axes to be mapped, {sorted(sizes)}. Make them equal, or give "
                         "in_axes=None to an argument that all examples share.")
    return sizes.pop() if sizes else None


def with_mapped_types(flat_fun: Any, specs: list[Any], out_axes: Any) -> Callable:
    """The flat function, with values of registered types taken apart into examples before it and put together after it.

    Args:
      flat_fun: flat function; has `out_tree` after a call.
      specs: the entry of `in_axes` for each argument.
      out_axes: as for `vmap`.
    """
    def fun(*flat: Any) -> Any:
        trace = state.trace
        if _types:
            flat = tuple([_example(trace, x, spec) if type(x) in _types else x for x, spec in zip(flat, specs)])
        results = flat_fun(*flat)
        if not _types or not any(type(x) in _types for x in results):  # asked after the call, in which a type may have been registered
            return results
        wanted = broadcast_over(out_axes, flat_fun.out_tree, lambda x: x is None)
        return [_assembled(trace, x, spec) if type(x) in _types else x for x, spec in zip(results, wanted)]
    return fun


def _example(trace: Any, value: Any, spec: Any) -> Any:
    known = _types[type(value)]

    def cont(x: Any, spec: Any) -> Any:
        if type(x) in _types:
            return _example(trace, x, spec)
        return trace.join(x, None if spec is None else spec % get_aval(x).ndim)

    def index() -> Any:
        size = trace.axis.size
        return trace.join(iota("int32", size) if known.make_iota is None else known.make_iota(size), 0)

    return known.to_elt(cont, index, value, spec)


def _assembled(trace: Any, example: Any, spec: Any) -> Any:
    def cont(axis_size: Any, x: Any, spec: Any) -> Any:
        if type(x) in _types:
            return _assembled(trace, x, spec)
        value, batch_axis = trace.split(x)
        rank = get_aval(value).ndim + (batch_axis is None)
        with current_trace(trace.parent):
            return move_batch_axis(value, batch_axis, None if spec is None else spec % rank, axis_size)

    return _types[type(example)].from_elt(cont, trace.axis.size, example, spec)
