"""What kernels for GPUs are written with, interpreted: masked reads and writes, updates that return what was there, products."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops import state as refs
from laminax_ir.options.records import Record
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.numpy.matrix_products import dot as product
from laminax._src.numerics.numpy.reshaping import broadcast_to
from laminax._src.pallas import masked

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


class CompilerParams(Record):
    """Options of the compiler of kernels for GPUs. Without effect on interpreted kernels.

    Args:
      num_warps: how many warps a step has.
      num_stages: how many steps of a loop overlap.
    """
    num_warps: int | None = None
    num_stages: int | None = None


def dot(a: Array, b: Array, trans_a: bool = False, trans_b: bool = False, allow_tf32: bool | None = None, precision: Any = None) -> Array:
    """The product of two matrices.

    Args:
      a, b: matrices of one dtype.
      trans_a, trans_b: whether they are transposed first.
      allow_tf32: whether float32 may be rounded to 10 bits, on GPUs that have this; not with precision.
      precision: as for `lax.dot`.

    Returns:
      A matrix, of float32 for narrower floats and of int32 for narrower integers.

    Raises:
      ValueError: if they are not matrices that fit, or both allow_tf32 and precision are given.
    """
    if allow_tf32 is not None:
        if precision is not None:
            raise ValueError("dot: give either allow_tf32 or precision")
        precision = "high" if allow_tf32 else "highest"
    left, right = (a.T if trans_a else a), (b.T if trans_b else b)
    if left.ndim != 2 or right.ndim != 2:
        raise ValueError(f"dot: a and b must be matrices, got shapes {a.shape} and {b.shape}")
    wide = np.int32 if dtypes.issubdtype(left.dtype, dtypes.integer) else np.float32
    return product(left, right, precision=precision, preferred_element_type=wide if left.dtype.itemsize < 4 else None)


def load(ref: Any, *, mask: Array | None = None, other: ArrayLike | None = None, cache_modifier: str | None = None,
                eviction_policy: str | None = None, volatile: bool = False) -> Array:
    """`pallas.tpu.load`; cache_modifier, eviction_policy and volatile are for compilers of kernels, without effect on interpreted ones."""
    return masked.load(ref, mask=mask, other=other)


def store(ref: Any, val: ArrayLike, *, mask: Array | None = None, eviction_policy: str | None = None) -> None:
    """`pallas.tpu.store`; eviction_policy is for compilers of kernels, without effect on interpreted ones."""
    masked.store(ref, val, mask=mask)


def _updating(name: str, operation: Callable[[Any, Any], Any], symbol: str) -> Callable[..., Any]:
    def update(x_ref_or_view: Any, idx: Any, val: ArrayLike, *, mask: Any = None) -> Array:
        old = refs.get(x_ref_or_view, idx)
        if operation is op.add:
            refs.addupdate(x_ref_or_view, idx, val if mask is None else masked.selected(mask, val, 0))
            return old
        if any(np.ndim(i) for i in (idx if isinstance(idx, tuple) else (idx,)) if hasattr(i, "dtype")):
            raise NotImplementedError(f"{name}: index arrays, which may name an element twice, are not supported; loop over them")
        new = operation(old, op.convert_element_type(broadcast_to(val, get_aval(old).shape), get_aval(old).dtype))
        refs.set(x_ref_or_view, idx, new if mask is None else masked.selected(mask, new, old))
        return old

    update.__name__ = update.__qualname__ = name
    update.__doc__ = f"""Computes `{symbol}` for a part of a reference.

    Args:
      x_ref_or_view: a reference, or a part of it.
      idx: which part of that.
      val: an array of the part's shape.
      mask: booleans that broadcast to it; where they are False nothing is written.

    Returns:
      What was there before.
    """
    return update


atomic_add = _updating("atomic_add", op.add, "ref[idx] += val")
atomic_max = _updating("atomic_max", op.max, "ref[idx] = max(ref[idx], val)")
atomic_min = _updating("atomic_min", op.min, "ref[idx] = min(ref[idx], val)")
atomic_and = _updating("atomic_and", op.bitwise_and, "ref[idx] &= val")
atomic_or = _updating("atomic_or", op.bitwise_or, "ref[idx] |= val")
atomic_xor = _updating("atomic_xor", op.bitwise_xor, "ref[idx] ^= val")
atomic_xchg = _updating("atomic_xchg", lambda _old, val: val, "ref[idx] = val")


def atomic_cas(ref: Any, cmp: ArrayLike, val: ArrayLike) -> Array:
    """Writes a value to a reference to a scalar if a given one is there.

    Args:
      ref: a reference to a scalar, or a part that is one.
      cmp: what must be there.
      val: what is written.

    Returns:
      What was there before.

    Raises:
      ValueError: if the reference is not to a scalar.
    """
    old = refs.get(ref)
    if get_aval(old).shape:
        raise ValueError(f"atomic_cas: ref must be to a scalar, got one of shape {get_aval(old).shape}")
    dtype = get_aval(old).dtype
    refs.set(ref, ..., op.select(op.eq(old, op.convert_element_type(cmp, dtype)), op.convert_element_type(val, dtype), old))
    return old


def max_contiguous(x: Array, values: Any) -> Array:
    """The array, which the caller knows to have runs of so many consecutive values. Without effect on interpreted kernels."""
    return x


def debug_barrier() -> None:
    """Waits for the threads of the kernel, of which an interpreted one has one."""


def approx_tanh(x: Array) -> Array:
    """tanh; exact in an interpreted kernel.

    Raises:
      TypeError: if x is not of a floating dtype.
    """
    return op.tanh(x)


