"""Derivatives and batching of random bits: bits have no derivatives, and keys are batched like any element."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.ops import random_bits as op
from laminax_ir.ops.shape import concatenate, expand_dims, reshape
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import axis_batching_rule, batching_rule, define_zero_derivative
from laminax_transforms.batching.batch_axes import Axis, define_elementwise_batching, elementwise_batching, move_axis

define_zero_derivative(op.threefry2x32_p, op.iota_2x32_shape_p, op.rng_bit_generator_p, op.random_seed_p, op.random_wrap_p,
                       op.random_unwrap_p, op.random_split_p, op.random_fold_in_p, op.random_bits_p, op.random_clone_p)


_threefry_elementwise = elementwise_batching(op.threefry2x32_p)


@axis_batching_rule(op.threefry2x32_p)
def _threefry_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    results, axis = _threefry_elementwise(axis, operands, batch_axes, params)
    return results, [axis, axis]


define_elementwise_batching(op.random_fold_in_p)


def _batch_per_key(primitive: Primitive) -> Callable:
    # The result's shape begins with the keys' shape, in which the batch axis is one more.
    def rule(operands: Sequence[Any], batch_axes: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        return primitive.bind(*operands, **params), batch_axes[0]
    return rule


for _primitive in (op.random_seed_p, op.random_unwrap_p, op.random_split_p, op.random_bits_p, op.random_clone_p):
    batching_rule(_primitive)(_batch_per_key(_primitive))


@batching_rule(op.random_wrap_p)
def _random_wrap_batch(operands: Sequence[Any], batch_axes: Sequence[int], *, impl: Any) -> tuple[Any, Any]:
    (words,), (axis,) = operands, batch_axes
    if axis >= len(words.shape) - len(impl.key_shape):  # behind or among the words of a key
        words, axis = move_axis(words, axis, 0), 0
    return op.random_wrap_p.bind(words, impl=impl), axis


@batching_rule(op.rng_bit_generator_p)
def _rng_bit_generator_batch(operands: Sequence[Any], batch_axes: Sequence[int], *, shape: tuple[int, ...],
                             **params: Any) -> tuple[Any, Any]:
    # The first state makes the bits of all examples, as documented: the generator takes one state only.
    states = move_axis(operands[0], batch_axes[0], 0)
    count, words = get_aval(states).shape
    if not count:
        raise ValueError("vmap of rng_bit_generator over an axis of size 0 has no state to begin with")
    first = reshape(slice_in_dim(states, 0, 1), (words,))
    new_state, bits = op.rng_bit_generator_p.bind(first, shape=(count, *shape), **params)
    new_states = concatenate((expand_dims(new_state, (0,)), slice_in_dim(states, 1, count)), 0)
    return [new_states, bits], [0, 0]
