"""Random selections: permutations, choices, categories."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import elementwise as e
from laminax_ir.ops.control_flow import cond, platform_dependent
from laminax_ir.ops.cumulative import cumsum
from laminax_ir.ops.indexing import GatherDimensionNumbers, gather
from laminax_ir.ops.random_bits import random_bits
from laminax_ir.ops.reduction import argmax
from laminax_ir.ops.shape import expand_dims, full, iota, reshape, transpose
from laminax_ir.ops.shape_arguments import canonical_axis
from laminax_ir.ops.slicing import index_in_dim, slice_in_dim
from laminax_ir.ops.sorting import sort_key_val, top_k
from laminax_ir.options import config
from laminax_ir.symbolic.symbolic_dims import SymbolicDim, size_of
from laminax_ir.symbolic.symbolic_values import dim_as_value
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import check_size
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.floor import fused, takes_out_sharding
from laminax._src.numerics.numpy.searching import binary_search
from laminax._src.numerics.random.arguments import checked_shape, converted, shape_of_parameters
from laminax._src.numerics.random.keys import split_typed, typed_key
from laminax._src.numerics.random.samplers import gumbel, randint, uniform

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


@takes_out_sharding
def permutation(key: ArrayLike, x: Any, axis: int = 0, independent: bool = False, *, out_sharding: Any = None) -> Array:
    """A random permutation of a range or of an array along an axis.

    Args:
      key: a key, typed or raw.
      x: an array, or an integer n for the range 0, ..., n - 1.
      axis: the axis along which to permute.
      independent: whether each vector along the axis is permuted by itself; else they move together.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      An array like x.

    Raises:
      TypeError: if x is a scalar that is no integer.
      ValueError: if the axis is out of range.

    Example:
      >>> sorted(random.permutation(random.key(0), 5).tolist())
      [0, 1, 2, 3, 4]
    """
    typed = typed_key("permutation", key)
    aval = get_aval(x)
    axis = canonical_axis("random.permutation", axis, aval.ndim or 1)
    if not aval.ndim:
        if not dtypes.issubdtype(aval.dtype, dtypes.integer):
            raise TypeError(f"permutation: x must be an integer or at least 1-dimensional, got {aval.str_short()}")
        return _shuffled_range(typed, count=size_of(x))
    if independent or aval.ndim == 1:
        return _shuffle(typed, x, axis=axis)
    return _permuted(typed, x, axis=axis)


@fused(static_argnames=("count",))
def _shuffled_range(key: ArrayLike, *, count: int) -> Array:
    return _shuffle(key, iota(dtypes.scalar_dtype(int), count), axis=0)


@fused(static_argnames=("axis",))
def _permuted(key: ArrayLike, x: ArrayLike, *, axis: int) -> Array:
    return _take(x, _shuffled_range(key, count=get_aval(x).shape[axis]), axis)


@fused(static_argnames=("axis",))
def _shuffle(key: ArrayLike, x: Any, *, axis: int) -> Array:
    """Sorts by random 32-bit words, so often that two elements hardly ever get equal words each time."""
    size = get_aval(x).size
    if type(size) is SymbolicDim:
        return _shuffle_symbolic(key, x, size, axis)
    for _ in range(_rounds(size)):
        key, x = _sorted_by_words(key, x, axis)
    return x


def _rounds(size: int) -> int:
    return math.ceil(3 * np.log(max(1, size)) / np.log(2**32 - 1))


def _sorted_by_words(key: ArrayLike, x: Any, axis: int) -> tuple[Any, Any]:
    key, subkey = split_typed(key)
    return key, sort_key_val(random_bits(subkey, 32, get_aval(x).shape), x, axis)[1]


def _shuffle_symbolic(key: ArrayLike, x: Any, size: SymbolicDim, axis: int) -> Array:
    """`_shuffle` for a symbolic size: each further round is made where the size is too large for the rounds before it."""
    value = dim_as_value(size)
    for enough in (1, 1625, 2642245):  # for no round, for one, and for two
        key, x = cond(value > enough, lambda key, x: _sorted_by_words(key, x, axis), lambda key, x: (key, x), key, x)
    return x


def _take(x: Any, indices: Any, axis: int) -> Any:
    """The slices of x along an axis at the indices, whose axes take the place of that axis."""
    shape, index_shape = get_aval(x).shape, get_aval(indices).shape
    offset = (*range(axis), *range(axis + len(index_shape), len(shape) - 1 + len(index_shape)))
    numbers = GatherDimensionNumbers(offset_dims=offset, collapsed_slice_dims=(axis,), start_index_map=(axis,))
    sizes = (*shape[:axis], 1, *shape[axis + 1:])
    return gather(x, expand_dims(indices, (len(index_shape),)), numbers, sizes, mode="promise_in_bounds")


def choice(key: ArrayLike, a: Any, shape: Sequence[int] = (), replace: bool = True, p: ArrayLike | None = None, axis: int = 0,
           mode: str | None = None) -> Array:
    """Random elements of an array.

    Args:
      key: a key, typed or raw.
      a: an array, or an integer n for the range 0, ..., n - 1.
      shape: the shape of the selection.
      replace: whether an element may be chosen more than once.
      p: the probabilities of the elements along the axis, of rank 1; uniform by default. Without replacement, at
        least as many must be positive as are chosen.
      axis: the axis of `a` along which elements are chosen.
      mode: how many bits the Gumbel samples have that choose by p without replacement, see `gumbel`.

    Returns:
      An array of `a`'s dtype, whose axis is replaced by `shape`.

    Raises:
      TypeError: if the shape is no sequence.
      ValueError: if `a` is empty, p has another shape, or more elements are asked for than there are.

    Example:
      >>> sorted(random.choice(random.key(0), 10, (3,), replace=False).tolist())
      [0, 1, 8]
    """
    typed = typed_key("choice", key)
    if isinstance(shape, (int, np.integer)):
        raise TypeError(f"random.choice: the shape must be a sequence of integers, got {shape!r}; write ({shape},)")
    shape = checked_shape("choice", shape)
    aval = get_aval(a)
    axis = canonical_axis("random.choice", axis, aval.ndim) if aval.ndim else 0
    count, drawn = aval.shape[axis] if aval.ndim else size_of(a), math.prod(shape)
    result_shape = (*aval.shape[:axis], *shape, *aval.shape[axis + 1:])
    if drawn == 0:
        return full(result_shape if aval.ndim else shape, aval.dtype.type(0), aval.dtype)
    if count <= 0:
        raise ValueError("choice: a must be greater than 0 unless no samples are taken")
    check_size("choice", "a, the number of what is chosen from,", count)
    if not replace and drawn > count:
        raise ValueError(f"Cannot take a larger sample (size {drawn}) than population (size {count}) when 'replace=False'")
    if p is None and not replace:
        permuted = permutation(typed, count if not aval.ndim else a, axis)
        return reshape(slice_in_dim(permuted, 0, drawn, axis=axis), result_shape)
    indices = randint(typed, shape, 0, count) if p is None else _weighted(typed, p, count, shape, replace, mode)
    return indices if not aval.ndim else _chosen(a, indices, axis=axis)


@fused(static_argnames=("axis",))
def _chosen(a: ArrayLike, indices: ArrayLike, *, axis: int) -> Array:
    return _take(a, indices, axis)


def _weighted(key: ArrayLike, p: Any, count: int, shape: tuple[int, ...], replace: bool, mode: Any) -> Array:
    weights = get_aval(p)
    if weights.shape != (count,):
        raise ValueError("p must be None or a 1D vector with the same size as a.shape[axis]. "
                         f"p has shape {weights.shape} and a.shape[axis] is {count}.")
    p = converted(p, dtypes.to_inexact_dtype(weights.dtype))
    if replace:
        return _by_distribution_function(key, p, shape=shape)
    return _by_gumbel(key, p, shape=shape, mode=mode)


@fused(static_argnames=("shape",))
def _by_distribution_function(key: ArrayLike, p: ArrayLike, *, shape: tuple[int, ...]) -> Array:
    """The index of the first cumulative weight that is not below a uniform sample."""
    cumulative = cumsum(p)
    dtype, count = get_aval(p).dtype, get_aval(p).shape[0]
    total = index_in_dim(cumulative, count - 1, keepdims=False)
    r = e.mul(total, e.sub(np.array(1, dtype)[()], uniform(key, shape, dtype)))
    return e.convert_element_type(binary_search(cumulative, r, "left"), dtypes.scalar_dtype(int))


@fused(static_argnames=("shape", "mode"))
def _by_gumbel(key: ArrayLike, p: ArrayLike, *, shape: tuple[int, ...], mode: Any) -> Array:
    """The largest of log-weights plus Gumbel samples are a sample without replacement (Yellott 1977)."""
    aval = get_aval(p)
    scores = e.add(gumbel(key, aval.shape, aval.dtype, mode), e.log(p))
    _, indices = top_k(scores, math.prod(shape))
    return reshape(e.convert_element_type(indices, dtypes.scalar_dtype(int)), shape)


@takes_out_sharding
def categorical(key: ArrayLike, logits: ArrayLike, axis: int = -1, shape: Sequence[int] | None = None, replace: bool = True,
                mode: str | None = None, *, out_sharding: Any = None) -> Array:
    """Random categories, with the probabilities softmax(logits).

    Args:
      key: a key, typed or raw.
      logits: unnormalised log-probabilities, floating; the categories are along `axis`.
      axis: the axis of the categories.
      shape: the result's shape, to whose last axes the other axes of the logits broadcast; those axes by default.
      replace: whether the samples along the leading axes of `shape` may be equal.
      mode: how many bits the Gumbel samples have, see `gumbel`.
      out_sharding: how the result is split over explicit mesh axes, a partition spec or a `NamedSharding`.

    Returns:
      Integers of the given shape.

    Raises:
      ValueError: if the logits do not broadcast to the shape, or more distinct categories are asked for than there are.

    Example:
      >>> random.categorical(random.key(0), jnp.log(jnp.array([0.1, 0.9])), shape=(6,))
      Array([1, 1, 1, 1, 1, 0], dtype=int32)
    """
    typed = typed_key("categorical", key)
    aval = get_aval(logits)
    axis = canonical_axis("random.categorical", axis, aval.ndim)
    batch_shape = aval.shape[:axis] + aval.shape[axis + 1:]
    shape = batch_shape if shape is None else shape_of_parameters("categorical", shape, np.broadcast_to(np.empty((), bool), batch_shape))
    prefix = shape[:len(shape) - len(batch_shape)]
    if replace:
        return _categories(typed, logits, axis=axis, shape=shape, mode=mode)
    if math.prod(prefix) > aval.shape[axis]:
        raise ValueError(f"Number of samples without replacement ({math.prod(prefix)}) cannot exceed number of "
                         f"categories ({aval.shape[axis]}).")
    return _distinct_categories(typed, logits, axis=axis, shape=shape, mode=mode)


@fused(static_argnames=("axis", "shape", "mode"))
def _categories(key: ArrayLike, logits: ArrayLike, *, axis: int, shape: tuple[int, ...], mode: str | None) -> Array:
    """The largest score of each sample, on the CPU of scores in memory: its compiler would draw a million of them in 44 ms, not 9.

    In the loop that looks for the largest it computes them one by one.
    """
    aval = get_aval(logits)
    extra = len(shape) - (aval.ndim - 1)
    scores_shape = (*shape[:extra + axis], aval.shape[axis], *shape[extra + axis:])
    scores = e.add(gumbel(key, scores_shape, aval.dtype, mode), expand_dims(logits, tuple(range(extra))))
    if config.cpu_kernels.value:
        scores = platform_dependent(scores, cpu=lambda x: e.optimization_barrier_flat(x)[0], default=lambda x: x)
    return argmax(scores, extra + axis, dtypes.scalar_dtype(int))


@fused(static_argnames=("axis", "shape", "mode"))
def _distinct_categories(key: ArrayLike, logits: ArrayLike, *, axis: int, shape: tuple[int, ...], mode: Any) -> Array:
    aval = get_aval(logits)
    count = math.prod(shape[:len(shape) - (aval.ndim - 1)])
    scores = e.add(logits, gumbel(key, aval.shape, aval.dtype, mode))
    order = (*[i for i in range(aval.ndim) if i != axis], axis)
    _, indices = top_k(transpose(scores, order), count)
    return reshape(transpose(indices, (aval.ndim - 1, *range(aval.ndim - 1))), shape)
