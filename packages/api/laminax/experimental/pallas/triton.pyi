# Written by tools/stubs.py.
"""What kernels for GPUs are written with, interpreted. A table of contents: names load on first use."""

from laminax._array import Array
from laminax.typing import ArrayLike
from typing import Any
from laminax._src.pallas.triton import CompilerParams as CompilerParams

__all__: list[str]

def approx_tanh(x: Array) -> Array:
    """tanh; exact in an interpreted kernel."""
def atomic_add(x_ref_or_view: Any, idx: Any, val: ArrayLike, *, mask: Any = None) -> Array:
    """Computes `ref[idx] += val` for a part of a reference."""
def atomic_and(x_ref_or_view: Any, idx: Any, val: ArrayLike, *, mask: Any = None) -> Array:
    """Computes `ref[idx] &= val` for a part of a reference."""
def atomic_cas(ref: Any, cmp: ArrayLike, val: ArrayLike) -> Array:
    """Writes a value to a reference to a scalar if a given one is there."""
def atomic_max(x_ref_or_view: Any, idx: Any, val: ArrayLike, *, mask: Any = None) -> Array:
    """Computes `ref[idx] = max(ref[idx], val)` for a part of a reference."""
def atomic_min(x_ref_or_view: Any, idx: Any, val: ArrayLike, *, mask: Any = None) -> Array:
    """Computes `ref[idx] = min(ref[idx], val)` for a part of a reference."""
def atomic_or(x_ref_or_view: Any, idx: Any, val: ArrayLike, *, mask: Any = None) -> Array:
    """Computes `ref[idx] |= val` for a part of a reference."""
def atomic_xchg(x_ref_or_view: Any, idx: Any, val: ArrayLike, *, mask: Any = None) -> Array:
    """Computes `ref[idx] = val` for a part of a reference."""
def atomic_xor(x_ref_or_view: Any, idx: Any, val: ArrayLike, *, mask: Any = None) -> Array:
    """Computes `ref[idx] ^= val` for a part of a reference."""
def debug_barrier() -> None:
    """Waits for the threads of the kernel, of which an interpreted one has one."""
def dot(a: Array, b: Array, trans_a: bool = False, trans_b: bool = False, allow_tf32: bool | None = None, precision: Any = None) -> Array:
    """The product of two matrices."""
def load(
    ref: Any,
    *,
    mask: Array | None = None,
    other: ArrayLike | None = None,
    cache_modifier: str | None = None,
    eviction_policy: str | None = None,
    volatile: bool = False,
) -> Array:
    """`pallas.tpu.load`; cache_modifier, eviction_policy and volatile are for compilers of kernels, without effect on interpreted ones."""
def max_contiguous(x: Array, values: Any) -> Array:
    """The array, which the caller knows to have runs of so many consecutive values. Without effect on interpreted kernels."""
def store(ref: Any, val: ArrayLike, *, mask: Array | None = None, eviction_policy: str | None = None) -> None:
    """`pallas.tpu.store`; eviction_policy is for compilers of kernels, without effect on interpreted ones."""
