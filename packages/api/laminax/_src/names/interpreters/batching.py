"""Batching rules in JAX's form: `rule(operands, batch_axes, **params)` returns the result and its batch axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

from laminax_ir.ops.shape import broadcast_in_dim, expand_dims
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.avals import get_aval
from laminax_transforms.base import registry
from laminax_transforms.batching.batch_axes import Axis
from laminax_transforms.batching.batching import BatchTrace, BatchTracer
from laminax_transforms.batching.mapped_types import register_vmappable, unregister_vmappable

from laminax._src.names.interpreters.tables import RuleMapping
from laminax._src.numerics.numpy.reshaping import moveaxis as _moveaxis

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

__all__ = ["BatchTrace", "BatchTracer", "register_vmappable", "unregister_vmappable"]

not_mapped = None


def _store(primitive: Primitive, rule: Callable) -> Callable:
    def stored(axis: Any, operands: Sequence[Any], batch_axes: Sequence[int | None], params: dict[str, Any]) -> tuple[Any, int]:
        return rule(tuple(operands), tuple(batch_axes), **params)
    return stored


def _load(primitive: Primitive, stored: Callable) -> Callable:
    def rule(operands: tuple[ArrayLike, ...], batch_axes: tuple[int, ...], **params: Any) -> tuple[Array, int]:
        size = next(get_aval(x).shape[a] for x, a in zip(operands, batch_axes) if a is not None)
        return stored(Axis(size), list(operands), list(batch_axes), params)
    return rule


def _store_with_axis(primitive: Primitive, rule: Callable) -> Callable:
    def stored(axis: Any, operands: Sequence[Any], batch_axes: Sequence[int], params: dict[Any, Any]) -> tuple[Any, int]:
        return rule(axis, tuple(operands), tuple(batch_axes), **params)
    registry.axis_primitives.add(primitive)
    return stored


def _load_with_axis(primitive: Primitive, stored: Callable) -> Callable:
    return lambda axis, operands, batch_axes, **params: stored(axis, list(operands), list(batch_axes), params)


primitive_batchers = RuleMapping(registry.batching_rules, _store, _load)
"""`primitive_batchers[p] = rule`, where `rule(operands, batch_axes, **params)` returns the result and its batch axis."""

fancy_primitive_batchers = RuleMapping(registry.batching_rules, _store_with_axis, _load_with_axis)
"""As `primitive_batchers`, of rules `rule(axis, operands, batch_axes, **params)` that need the mapped axis' `size` or `name`."""


def _store_with_size_and_name(primitive: Primitive, rule: Callable) -> Callable:
    return _store_with_axis(primitive, lambda axis, *args, **params: rule(axis.size, axis.name, None, *args, **params))


def _load_with_size_and_name(primitive: Primitive, stored: Callable) -> Callable:
    return lambda size, name, _trace_type, operands, batch_axes, **params: stored(
        Axis(size, name), list(operands), list(batch_axes), params)


axis_primitive_batchers = RuleMapping(registry.batching_rules, _store_with_size_and_name, _load_with_size_and_name)
"""The older form: rules `rule(axis_size, axis_name, trace_type, operands, batch_axes, **params)`; the third is None."""


def defvectorized(prim: Primitive) -> None:
    """Declares an operation elementwise, of operands that are all mapped along one axis: it is done on the whole batch."""
    def rule(operands: tuple[ArrayLike, ...], batch_axes: tuple[int, ...], **params: Any) -> Any:
        if any(axis != batch_axes[0] for axis in batch_axes):
            raise NotImplementedError(f"vmap of {prim}: defvectorized is for operands that are all mapped along the same axis, got "
                                      f"{batch_axes}. Use defbroadcasting, or set primitive_batchers[{prim}].")
        result = prim.bind(*operands, **params)
        return result, [batch_axes[0]] * len(result) if prim.multiple_results else batch_axes[0]
    primitive_batchers[prim] = rule


def defbroadcasting(prim: Primitive) -> None:
    """Declares an operation elementwise, of operands of one shape or scalars: mapped axes are moved to the front."""
    def rule(operands: tuple[Any, ...], batch_axes: tuple[int | None, ...], **params: Any) -> Any:
        rank = max(len(get_aval(x).shape) - (axis is not None) for x, axis in zip(operands, batch_axes))
        aligned = []
        for x, axis in zip(operands, batch_axes):
            if axis is not None:
                x = moveaxis(x, axis, 0)
                missing = rank + 1 - len(get_aval(x).shape)
                x = expand_dims(x, range(1, 1 + missing)) if missing else x
            elif get_aval(x).shape:
                x = expand_dims(x, (0,))
            aligned.append(x)
        shape = tuple(max(sizes) for sizes in zip(*(get_aval(x).shape for x in aligned if get_aval(x).shape)))
        aligned = [broadcast_in_dim(x, shape, range(len(shape))) if len(get_aval(x).shape) == len(shape) else
                   broadcast_in_dim(x, shape, ()) for x in aligned]
        result = prim.bind(*aligned, **params)
        return result, [0] * len(result) if prim.multiple_results else 0
    primitive_batchers[prim] = rule


def defreducer(prim: Primitive) -> None:
    """Declares an operation of one operand a reduction over the parameter `axes`."""
    def rule(operands: tuple[ArrayLike, ...], batch_axes: tuple[int, ...], *, axes: tuple[int, ...], **params: Any) -> tuple[Array, int]:
        (x,), (batch_axis,) = operands, batch_axes
        shifted = tuple(a + (a >= batch_axis) for a in axes)
        return prim.bind(x, axes=shifted, **params), batch_axis - sum(a < batch_axis for a in shifted)
    primitive_batchers[prim] = rule


def moveaxis(x: Any, src: int, dst: int) -> Any:
    """The array with one axis moved to another place."""
    return x if src == dst else _moveaxis(x, src, dst)


def broadcast(x: Any, sz: int, axis: int, mesh_axis: Any = None) -> Any:
    """The array repeated `sz` times along a new axis.

    Args:
      x: an array.
      sz: the new axis' size.
      axis: where it is to be.
      mesh_axis: must be None.

    Raises:
      NotImplementedError: if mesh_axis is not None.
    """
    if mesh_axis is not None:
        raise NotImplementedError(f"batching.broadcast: mesh_axis is not supported, got {mesh_axis!r}")
    shape = list(get_aval(x).shape)
    shape.insert(axis, sz)
    return broadcast_in_dim(x, tuple(shape), tuple(i for i in range(len(shape)) if i != axis))


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: Any = None) -> Any:
    """The array with its batch axis in front; one that is not mapped is repeated."""
    return broadcast(x, size, 0, mesh_axis) if bdim is None else moveaxis(x, bdim, 0)
