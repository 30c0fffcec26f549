"""Contractions of BCOO arrays with dense and with sparse ones."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import contraction, convolution
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct

from laminax._src.numerics.floor import eval_shape, fused
from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.sparse.base import is_sparse
from laminax._src.numerics.sparse.bcoo import BCOO
from laminax._src.numerics.sparse.conversion import gather_entries
from laminax._src.numerics.sparse.entries import is_inside, places, where_kept
from laminax._src.numerics.sparse.layout import at_most_one_per_place

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_Numbers = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


def bcoo_dot_general(lhs: Any, rhs: Any, *, dimension_numbers: Any, precision: Any = None, preferred_element_type: Any = None,
                     out_sharding: None = None) -> Any:
    """A contraction as by `lax.dot_general`, where one of the operands, or both, are sparse.

    Args:
      lhs: an array or a BCOO array.
      rhs: an array or a BCOO array.
      dimension_numbers: `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`. Axes of a sparse operand that are
        contracted are batch or sparse axes, its batch axes here are among its batch axes.
      precision: not used: products of entries are computed in the dtype of the operands.
      preferred_element_type: dtype of the sums and of the result; None for that of the operands.
      out_sharding: must be None.

    Returns:
      An array; a BCOO array if both operands are sparse.

    Raises:
      NotImplementedError: for axes of another kind.
    """
    if out_sharding is not None:
        raise NotImplementedError(f"bcoo_dot_general: out_sharding must be None, got {out_sharding!r}")
    numbers = _canonical(dimension_numbers)
    preferred = None if preferred_element_type is None else np.dtype(preferred_element_type)
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        return _sparse_by_sparse(lhs, rhs, numbers, preferred)
    if isinstance(lhs, BCOO):
        return _sparse_by_dense(lhs, _dense(rhs), numbers, preferred)
    if isinstance(rhs, BCOO):
        (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers
        lhs = _dense(lhs)
        out = _sparse_by_dense(rhs, lhs, ((rhs_contracting, lhs_contracting), (rhs_batch, lhs_batch)), preferred)
        n_batch, n_rhs = len(lhs_batch), rhs.ndim - len(rhs_batch) - len(rhs_contracting)  # the free axes of rhs came first
        return jnp.moveaxis(out, range(n_batch, n_batch + n_rhs), range(out.ndim - n_rhs, out.ndim))
    return contraction.dot_general(_dense(lhs), _dense(rhs), numbers, preferred_element_type=preferred)


def _dense(x: Any) -> Array:
    if is_sparse(x):
        raise NotImplementedError(f"bcoo_dot_general: the sparse operands must be BCOO arrays, got {x!r}. Use to_bcoo or todense.")
    return jnp.asarray(x)


def _canonical(dimension_numbers: Any) -> _Numbers:
    numbers: Any = tuple(tuple(tuple(map(operator.index, axes)) for axes in pair) for pair in dimension_numbers)
    return numbers  # how many there are is checked where they are used


def _checked(name: str, lhs: Any, rhs: Any, numbers: _Numbers, preferred: Any) -> Any:
    """The result's shape and dtype; bad arguments are refused in the words of dot_general."""
    return eval_shape(lambda a, b: contraction.dot_general(a, b, numbers, preferred_element_type=preferred),
                      ShapeDtypeStruct(lhs.shape, lhs.dtype), ShapeDtypeStruct(rhs.shape, rhs.dtype))


def _check_kinds(mat: BCOO, contracting: tuple[int, ...], batch: tuple[int, ...]) -> None:
    if any(axis >= mat.n_batch + mat.n_sparse for axis in (*contracting, *batch)):
        raise NotImplementedError("bcoo_dot_general: contracting over dense dimensions. Use update_layout to make them sparse.")
    if any(axis >= mat.n_batch for axis in batch):
        raise NotImplementedError("bcoo_dot_general batch dimensions must be among the batch dimensions in the sparse representation.\n"
                                  f"got lhs_batch={batch}, n_batch={mat.n_batch}")


def _sparse_by_dense(lhs: BCOO, rhs: Any, numbers: _Numbers, preferred: Any) -> Any:
    out = _checked("bcoo_dot_general", lhs, rhs, numbers, preferred)
    _check_kinds(lhs, numbers[0][0], numbers[1][0])
    return _contract(*lhs._bufs, rhs, shape=lhs.shape, dimension_numbers=numbers, out_shape=out.shape, out_dtype=np.dtype(out.dtype))


@fused(static_argnames=("shape", "dimension_numbers", "out_shape", "out_dtype"))
def _contract(data: Any, indices: Any, rhs: Any, *, shape: tuple[int, ...], dimension_numbers: _Numbers, out_shape: tuple[int, ...],
              out_dtype: Any) -> Array:
    """Each entry times the part of rhs that it meets, added where it belongs in the result."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    n_dense = len(shape) - n_batch - n_sparse
    at = places(indices, shape[:n_batch])
    rhs_free = [axis for axis in range(rhs.ndim) if axis not in rhs_contracting and axis not in rhs_batch]
    rhs = rhs.transpose(*rhs_batch, *rhs_contracting, *rhs_free)
    met = tuple(at[axis] for axis in (*lhs_batch, *lhs_contracting))
    if met:
        rhs = rhs.at[met].get(mode="fill", fill_value=0)  # [*batch, nse, *rhs_free]; padding meets 0
        rhs = rhs.reshape(*rhs.shape[:n_batch + 1], *(1,) * n_dense, *rhs.shape[n_batch + 1:])
    else:
        rhs = rhs.reshape((1,) * (n_batch + 1 + n_dense) + rhs.shape)
    data = data.reshape(data.shape + (1,) * len(rhs_free))
    free = [axis for axis in range(n_batch + n_sparse) if axis not in lhs_contracting and axis not in lhs_batch]
    kept = (*lhs_batch, *free)
    product = data.astype(out_dtype) * rhs.astype(out_dtype)
    if any(axis >= n_batch for axis in kept):
        if any(axis < n_batch for axis in lhs_contracting):
            at = jnp.broadcast_arrays(*at)  # so that there is a place for each batch, though they are summed
        return jnp.zeros(out_shape, out_dtype).at[tuple(at[axis] for axis in kept)].add(product, mode="drop")
    product = jnp.broadcast_to(product, (*shape[:n_batch], *product.shape[n_batch:]))
    summed = [axis for axis in range(n_batch) if axis in lhs_contracting]
    left = [axis for axis in range(n_batch) if axis not in lhs_contracting]
    total = product.sum(axis=(*summed, n_batch), dtype=out_dtype)
    order = [left.index(axis) for axis in kept]
    return total.transpose(*order, *range(len(left), total.ndim))


def bcoo_dot_general_sampled(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Array:  # noqa: N803
    """Elements of a contraction of two dense arrays, at given places only.

    Args:
      A: an array.
      B: an array.
      indices: int[*batch, nse, n_sparse]: places in the result of `lax.dot_general`.
      dimension_numbers: as for `lax.dot_general`.

    Returns:
      An array [*batch, nse, *dense], 0 for places beyond the result.

    Raises:
      ValueError: if the places have more axes than the result.
    """
    A, B, indices = jnp.asarray(A), jnp.asarray(B), jnp.asarray(indices)  # noqa: N806
    numbers = _canonical(dimension_numbers)
    out = _checked("bcoo_dot_general_sampled", A, B, numbers, None)
    n_indexed = indices.ndim - 2 + indices.shape[-1]
    if n_indexed > len(out.shape):
        raise ValueError(f"bcoo_dot_general_sampled: indices of shape {indices.shape} have {n_indexed} batch and sparse axes, more than "
                         f"the result's shape {out.shape}")
    return _sampled(A, B, indices, dimension_numbers=numbers, out_shape=out.shape)


@fused(static_argnames=("dimension_numbers", "out_shape"))
def _sampled(lhs: ArrayLike, rhs: ArrayLike, indices: ArrayLike, *, dimension_numbers: _Numbers, out_shape: tuple[int, ...]) -> Array:
    n_batch, (nse, n_sparse) = indices.ndim - 2, indices.shape[-2:]
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    if n_batch + n_sparse != len(out_shape) or not out_shape:
        return gather_entries(indices, contraction.dot_general(lhs, rhs, dimension_numbers))
    lhs_free = [axis for axis in range(lhs.ndim) if axis not in lhs_contracting and axis not in lhs_batch]
    rhs_free = [axis for axis in range(rhs.ndim) if axis not in rhs_contracting and axis not in rhs_batch]
    at = places(indices, out_shape[:n_batch])
    n = len(lhs_batch)

    def rows(x: ArrayLike, batch: tuple[int, ...], free: Sequence[int], contracting: tuple[int, ...],
             met: tuple[ArrayLike, ...]) -> Array:  # [*batch, nse, *contracting]
        x = x.transpose(*batch, *free, *contracting)
        return x.at[met].get(mode="fill", fill_value=0) if met else x.reshape((1,) * (n_batch + 1) + x.shape)

    product = rows(lhs, lhs_batch, lhs_free, lhs_contracting, at[:n + len(lhs_free)]) * \
        rows(rhs, rhs_batch, rhs_free, rhs_contracting, (*at[:n], *at[n + len(lhs_free):]))
    total = product.sum(axis=tuple(range(n_batch + 1, product.ndim)), dtype=product.dtype)
    return jnp.broadcast_to(total, (*out_shape[:n_batch], nse))


def _sparse_by_sparse(lhs: BCOO, rhs: BCOO, numbers: _Numbers, preferred: Any) -> BCOO:
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = numbers
    out = _checked("bcoo_dot_general", lhs, rhs, numbers, preferred)
    if lhs.n_dense or rhs.n_dense:
        raise NotImplementedError("bcoo_dot_general: dense dimensions of two sparse operands. Use update_layout to make them sparse.")
    for mat, contracting, batch in ((lhs, lhs_contracting, lhs_batch), (rhs, rhs_contracting, rhs_batch)):
        _check_kinds(mat, contracting, batch)
        if any(axis < mat.n_batch for axis in contracting):
            raise NotImplementedError("bcoo_dot_general: contracting over batch dimensions of two sparse operands. Use update_layout to "
                                      "make them sparse.")
    if rhs.n_batch > len(rhs_batch) and lhs.n_sparse > len(lhs_contracting):
        raise ValueError("bcoo_dot_general: cannot have unused batch dims on rhs with unused sparse dims on lhs. The result would have "
                         "batch axes after sparse ones. Use update_layout on rhs.")
    n_out_batch = len(lhs_batch) + (lhs.n_batch - len(lhs_batch)) + (rhs.n_batch - len(rhs_batch))
    data, indices = _pairs(*lhs._bufs, *rhs._bufs, shape=lhs.shape, rhs_shape=rhs.shape, dimension_numbers=numbers,
                           out_sparse=out.shape[n_out_batch:], out_dtype=np.dtype(out.dtype))
    return at_most_one_per_place(BCOO((data, indices), shape=out.shape))


@fused(static_argnames=("shape", "rhs_shape", "dimension_numbers", "out_sparse", "out_dtype"))
def _pairs(data: ArrayLike, indices: ArrayLike, rhs_data: ArrayLike, rhs_indices: ArrayLike, *, shape: tuple[int, ...],
           rhs_shape: tuple[int, ...], dimension_numbers: _Numbers, out_sparse: tuple[int, ...], out_dtype: Any) -> tuple[Array, Array]:
    """The product of each entry with each of the other operand; padding where they do not meet."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    n_lhs, n_rhs = indices.ndim - 2, rhs_indices.ndim - 2
    lhs_free = [axis for axis in range(n_lhs) if axis not in lhs_batch]
    rhs_free = [axis for axis in range(n_rhs) if axis not in rhs_batch]

    def of_lhs(x: ArrayLike) -> Array:  # [*batch, *free, nse, ...] as [*batch, *free, 1 per free axis of rhs, nse, 1, ...]
        x = x.transpose(*lhs_batch, *lhs_free, *range(n_lhs, x.ndim))
        return x.reshape(*x.shape[:n_lhs], *(1,) * len(rhs_free), x.shape[n_lhs], 1, *x.shape[n_lhs + 1:])

    def of_rhs(x: ArrayLike) -> Array:
        x = x.transpose(*rhs_batch, *rhs_free, *range(n_rhs, x.ndim))
        n = len(rhs_batch)
        return x.reshape(*x.shape[:n], *(1,) * len(lhs_free), *x.shape[n:n_rhs], 1, *x.shape[n_rhs:])

    lhs_inside, rhs_inside = is_inside(indices, shape[n_lhs:]), is_inside(rhs_indices, rhs_shape[n_rhs:])
    dtype = jnp.promote_types(indices.dtype, rhs_indices.dtype)
    rows, rhs_rows = of_lhs(indices).astype(dtype), of_rhs(rhs_indices).astype(dtype)
    met = of_lhs(lhs_inside) & of_rhs(rhs_inside)
    for axis, rhs_axis in zip(lhs_contracting, rhs_contracting):
        met &= rows[..., axis - n_lhs] == rhs_rows[..., rhs_axis - n_rhs]
    kept = [rows[..., k] for k in range(rows.shape[-1]) if n_lhs + k not in lhs_contracting] + \
        [rhs_rows[..., k] for k in range(rhs_rows.shape[-1]) if n_rhs + k not in rhs_contracting]
    product = of_lhs(data).astype(out_dtype) * of_rhs(rhs_data).astype(out_dtype)
    product = jnp.where(met, product, jnp.zeros((), out_dtype))
    out = jnp.stack([jnp.broadcast_to(c, met.shape) for c in kept], axis=-1) if kept else jnp.zeros((*met.shape, 0), dtype)
    out = where_kept(met, out, out_sparse)
    n_out = met.ndim - 2
    nse = math.prod(met.shape[n_out:])
    return product.reshape(*product.shape[:n_out], nse), out.reshape(*met.shape[:n_out], nse, len(kept))


def bcoo_conv_general_dilated(lhs: Any, rhs: Any, *, window_strides: Any, padding: Any, lhs_dilation: Any = None, rhs_dilation: Any = None,
                              dimension_numbers: Any = None, feature_group_count: int = 1, batch_group_count: int = 1,
                              precision: Any = None, preferred_element_type: Any = None, out_sharding: Any = None) -> BCOO:
    """A convolution along one axis as by `lax.conv_general_dilated`, where one of the operands, or both, are sparse.

    Args:
      lhs: an array or a BCOO array with two batch axes, [1, 1, size].
      rhs: likewise, [1, 1, size].
      window_strides: must be 1.
      padding: "SAME", "VALID", or a pair of numbers of elements before and after.
      lhs_dilation: must be 1.
      rhs_dilation: must be 1.
      dimension_numbers: must be None, or say the same as None.
      feature_group_count: must be 1.
      batch_group_count: must be 1.
      precision: not used: products of entries are computed in the dtype of the operands.
      preferred_element_type: dtype of the result; None for that of the operands.
      out_sharding: must be None.

    Raises:
      NotImplementedError: for convolutions of other kinds.
    """
    numbers = convolution.conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    plain = all(tuple(spec) == tuple(range(lhs.ndim)) for spec in numbers)
    if lhs.ndim != 3 or lhs.shape[:2] != (1, 1) or rhs.shape[:2] != (1, 1) or not plain:
        raise NotImplementedError("bcoo_conv_general_dilated: only convolutions along one axis, of one batch and one feature, are "
                                  f"supported; got shapes {lhs.shape} and {rhs.shape}")
    options = dict(window_strides=window_strides, lhs_dilation=lhs_dilation, rhs_dilation=rhs_dilation)
    for name, value in options.items():
        if value is not None and tuple(value) != (1,):
            raise NotImplementedError(f"bcoo_conv_general_dilated: {name} must be (1,), got {value}")
    if feature_group_count != 1 or batch_group_count != 1 or out_sharding is not None:
        raise NotImplementedError("bcoo_conv_general_dilated: feature_group_count and batch_group_count must be 1, and out_sharding None; "
                                  f"got {feature_group_count}, {batch_group_count}, {out_sharding!r}")
    out = eval_shape(lambda a, b: convolution.conv_general_dilated(a, b, window_strides, padding,
                                                                   preferred_element_type=preferred_element_type),
                     ShapeDtypeStruct(lhs.shape, lhs.dtype), ShapeDtypeStruct(rhs.shape, rhs.dtype))
    ((before, _),) = convolution.padtype_to_pads(lhs.shape[2:], rhs.shape[2:], (1,), padding) if isinstance(padding, str) else padding
    data, indices = _convolve(*_along_one_axis(lhs), *_along_one_axis(rhs), size=lhs.shape[2], rhs_size=rhs.shape[2],
                              before=operator.index(before), out_size=out.shape[2], out_dtype=np.dtype(out.dtype))
    return at_most_one_per_place(BCOO((data[None, None], indices[None, None]), shape=out.shape))


def _along_one_axis(x: Any) -> tuple[Any, Any]:
    """Values and places of an array [1, 1, size]."""
    if not isinstance(x, BCOO):
        x = jnp.asarray(x)
        return x[0, 0], jnp.arange(x.shape[2], dtype=np.int32)
    x = x.update_layout(n_batch=2, n_dense=0, on_inefficient=None)
    return x.data[0, 0], x.indices[0, 0, :, 0]


@fused(static_argnames=("size", "rhs_size", "before", "out_size", "out_dtype"))
def _convolve(data: ArrayLike, at: ArrayLike, rhs_data: ArrayLike, rhs_at: ArrayLike, *, size: int, rhs_size: int, before: int,
              out_size: int, out_dtype: Any) -> tuple[Array, Array]:
    dtype = jnp.promote_types(at.dtype, rhs_at.dtype)
    at, rhs_at = at.astype(dtype)[:, None], rhs_at.astype(dtype)[None, :]
    place = at + before - rhs_at  # out[o] = sum over k of lhs[o + k - before] * rhs[k]
    kept = (at < size) & (rhs_at < rhs_size) & (place >= 0) & (place < out_size)
    product = jnp.where(kept, data.astype(out_dtype)[:, None] * rhs_data.astype(out_dtype)[None, :], jnp.zeros((), out_dtype))
    return product.reshape(-1), where_kept(kept, place[..., None], (out_size,)).reshape(-1, 1)

