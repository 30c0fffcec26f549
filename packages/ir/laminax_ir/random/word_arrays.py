"""Arrays of the uint32 words of keys, `u32[*keys, words]`, and the words by themselves."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from laminax_ir.ops import elementwise
from laminax_ir.ops import shape as shapes
from laminax_ir.ops.random_bits import UINT32, UINT_DTYPES
from laminax_ir.types import dtypes


def split_words(words: Any) -> list:
    """The words one by one, each of the keys' shape."""
    parts = shapes.split(words, (1,) * words.shape[-1], words.ndim - 1)
    return [shapes.squeeze(part, (words.ndim - 1,)) for part in parts]


def join_words(parts: Sequence[Any]) -> Any:
    """The inverse of `split_words`."""
    shape = parts[0].shape
    columns = [shapes.broadcast_in_dim(part, (*shape, 1), tuple(range(len(shape)))) for part in parts]
    return shapes.concatenate(columns, len(shape))


def zeros(shape: tuple[int, ...], dtype: np.dtype = UINT32) -> Any:
    return shapes.broadcast_in_dim(dtype.type(0), shape, ())


def to_dtype(x: Any, dtype: np.dtype) -> Any:
    # Bound directly: the width of random bits is asked for by number, whatever `enable_x64` says.
    return x if x.dtype == dtype else elementwise.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=False)


def words_of_seeds(seeds: Any) -> tuple[Any, Any]:
    """The high word, which is 0 for a seed of 32 bits, and the low word."""
    if dtypes.bit_width(seeds.dtype) > 32:
        high = to_dtype(elementwise.shift_right_logical(seeds, seeds.dtype.type(32)), UINT32)
    else:
        high = zeros(seeds.shape)
    return high, to_dtype(seeds, UINT32)


def join_halves(high: Any, low: Any) -> Any:
    """64-bit integers of their halves."""
    uint64 = UINT_DTYPES[64]
    return elementwise.bitwise_or(elementwise.shift_left(to_dtype(high, uint64), np.uint64(32)), to_dtype(low, uint64))
