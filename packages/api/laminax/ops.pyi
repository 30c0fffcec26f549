# Written by tools/stubs.py.
"""Sums and other reductions over the segments of an array. A table of contents: names load on first use."""

from laminax._array import Array
from laminax.typing import ArrayLike
from typing import Any

__all__: list[str]

def segment_max(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Maxima of the rows of an array that have the same segment number; see `segment_sum`."""
def segment_min(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Minima of the rows of an array that have the same segment number; see `segment_sum`."""
def segment_prod(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Products of the rows of an array that have the same segment number; see `segment_sum`."""
def segment_sum(
    data: ArrayLike,
    segment_ids: ArrayLike,
    num_segments: int | None = None,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    bucket_size: int | None = None,
    mode: ArrayLike | None = None,
    out_sharding: Any = None,
) -> Array:
    """Sums of the rows of an array that have the same segment number."""
