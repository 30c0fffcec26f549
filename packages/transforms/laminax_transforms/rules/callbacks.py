"""Batching of callbacks. They have no derivatives: a Python function cannot be differentiated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Sequence

from laminax_ir.ops import callbacks as op
from laminax_ir.ops.shape import concatenate, expand_dims
from laminax_ir.ops.slicing import index_in_dim
from laminax_transforms.base.registry import axis_batching_rule, jvp_rule, transpose_rule
from laminax_transforms.batching.batch_axes import Axis, add_batch_axis, batch_axis_first, move_axis
from laminax_transforms.batching.mapping import map as sequential_map

if TYPE_CHECKING:
    from laminax_ir.ops.callbacks import FlatCallback
    from laminax_ir.types.annotations import ArrayLike
    from laminax_ir.types.avals import ShapedArray


@jvp_rule(op.pure_callback_p, symbolic_zeros=True)
def _pure_callback_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    raise ValueError("Pure callbacks do not support JVP. Please use `laminax.custom_jvp` to use callbacks while taking gradients. "
                     f"The callback is {params['callback']!r}.")


@jvp_rule(op.io_callback_p, symbolic_zeros=True)
def _io_callback_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    raise ValueError(f"IO callbacks do not support JVP. The callback is {params['callback']!r}; give the function around it a rule "
                     "with custom_jvp, or stop_gradient its arguments.")


@jvp_rule(op.debug_callback_p, symbolic_zeros=True)
def _debug_callback_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """Debugging sees the primal values."""
    return op.debug_callback_p.bind(*primals, **params), []


@jvp_rule(op.inspect_sharding_p, symbolic_zeros=True)
def _inspect_sharding_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    op.inspect_sharding(*primals, **params)
    return [], []


@axis_batching_rule(op.inspect_sharding_p)
def _inspect_sharding_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    """The sharding of all examples together, the batch axis among the others."""
    op.inspect_sharding(*operands, **params)
    return [], []


@transpose_rule(op.pure_callback_p, op.io_callback_p, op.debug_callback_p)
def _callback_transpose(cts: Sequence[Any], *operands: Any, callback: Any, **_params: Any) -> Sequence[Any]:
    kind = "IO" if callback.name == "io_callback" else callback.name.removesuffix("_callback").capitalize()
    raise ValueError(f"{kind} callbacks do not support transpose. {callback.name} is not linear. The callback is {callback!r}.")


@axis_batching_rule(op.pure_callback_p)
def _pure_callback_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, callback: FlatCallback,
                         result_avals: tuple[ShapedArray, ...], sharding: Any, vmap_method: str | None) -> tuple[Any, Any]:
    def call(*xs: ArrayLike, is_batched: bool) -> Any:
        avals = tuple(add_batch_axis(aval, axis.size, 0) for aval in result_avals) if is_batched else result_avals
        return op.pure_callback_p.bind(*xs, callback=callback, result_avals=avals, sharding=sharding, vmap_method=vmap_method)

    return batch_by_method(axis, operands, batch_axes, vmap_method, call, "pure_callback", f"The callback is {callback!r}.")


def batch_by_method(axis: Any, operands: Sequence[Any], batch_axes: Sequence[int | None], vmap_method: str | None, call: Callable,
                    name: str, detail: str) -> Any:
    """Batches a call of an opaque function, by one of the methods that `pure_callback` documents.

    Args:
      call: runs the function; with `is_batched`, on operands with the batch axis in front (if they have one), for results with it.
      name, detail: the operation and the advice, for the error if vmap_method is None.
    """
    if vmap_method is None:
        raise NotImplementedError(f"vmap is only supported for the {name} primitive when vmap_method is one of 'sequential', "
                                  "'sequential_unrolled', 'expand_dims', 'broadcast_all', or 'legacy_vectorized'. Got "
                                  f"vmap_method=None. {detail}")
    operands = [x if b is None else move_axis(x, b, 0) for x, b in zip(operands, batch_axes)]
    mapped = [b is not None for b in batch_axes]
    if vmap_method.startswith("sequential"):
        in_turn = _unrolled if vmap_method == "sequential_unrolled" else _looped
        return in_turn(lambda *xs: call(*xs, is_batched=False), operands, mapped, axis.size)
    if vmap_method == "broadcast_all":
        operands = [batch_axis_first(x, 0 if m else None, axis.size) for x, m in zip(operands, mapped)]
    elif vmap_method == "expand_dims":
        operands = [x if m else expand_dims(x, (0,)) for x, m in zip(operands, mapped)]
    results = call(*operands, is_batched=True)
    return results, [0] * len(results)


def _looped(fun: Callable, operands: Sequence[Any], mapped: Sequence[bool], size: int) -> tuple[Any, Any]:
    """Runs one example after the other, in a loop."""

    def one(chosen: Sequence[ArrayLike]) -> Any:
        found = iter(chosen)
        return fun(*[next(found) if m else x for x, m in zip(operands, mapped)])

    results = sequential_map(one, [x for x, m in zip(operands, mapped) if m])
    return results, [0] * len(results)


def _unrolled(fun: Callable, operands: Sequence[Any], mapped: Sequence[bool], size: int) -> tuple[Any, Any]:
    """Runs one example after the other, with one call in the program for each."""
    rows = [fun(*[index_in_dim(x, i, 0, keepdims=False) if m else x for x, m in zip(operands, mapped)]) for i in range(size)]
    results = [concatenate([expand_dims(y, (0,)) for y in column], 0) for column in zip(*rows)]
    return results, [0] * len(results)


@axis_batching_rule(op.io_callback_p)
def _io_callback_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, ordered: bool,
                       **params: Any) -> tuple[Any, Any]:
    if ordered:
        raise ValueError(f"Cannot `vmap` ordered IO callback. The callback is {params['callback']!r}; use ordered=False, or a scan.")
    operands = [x if b is None else move_axis(x, b, 0) for x, b in zip(operands, batch_axes)]
    return _looped(lambda *xs: op.io_callback_p.bind(*xs, ordered=False, **params), operands, [b is not None for b in batch_axes],
                   axis.size)


@axis_batching_rule(op.debug_callback_p)
def _debug_callback_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    """Calls back once per example, in the order of the examples."""
    operands = [x if b is None else move_axis(x, b, 0) for x, b in zip(operands, batch_axes)]
    return _unrolled(lambda *xs: op.debug_callback_p.bind(*xs, **params), operands, [b is not None for b in batch_axes], axis.size)
