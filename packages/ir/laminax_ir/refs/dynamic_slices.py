"""Slices of a known size at a position that need not be known: `x[ds(start, size)]`."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from laminax_ir.pytrees.pytree import register_dataclass
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval, is_array_like


@dataclass(frozen=True)
class Slice:
    """An index of the `size` elements start, start + stride, ...; a pytree, whose leaf is the start.

    Args:
      start: an integer, or an integer scalar that may be traced; negative ones count from the end.
      size: how many elements, an int.
      stride: their distance, a positive int.
    """

    start: Any
    size: int
    stride: int = 1


register_dataclass(Slice, ["start"], ["size", "stride"])


def dslice(start: Any, size: int | None = None, stride: int | None = None) -> slice | Slice:
    """An index of `size` elements from `start` on, which may be traced, where `x[start:start + size]` needs known bounds.

    Args:
      start: an integer or a scalar array of integers; alone, the size, from 0 on. None stands for 0, and alone for all elements.
      size: how many elements, an int.
      stride: the distance between them, a positive int, 1 by default.

    Returns:
      What to put between the brackets of `x[...]` and `x.at[...]`. A slice that runs over an end is moved back to be read, as
      `lax.dynamic_slice` does, and not written; one with a stride is like the array of its indices.

    Raises:
      TypeError: if the start is no integer scalar, or the others are no ints.
      ValueError: if the size is negative or the stride not positive.

    Example:
      >>> x = laminax.numpy.arange(10)
      >>> jit(lambda i: x[ds(i, 3)])(4)
      Array([4, 5, 6], dtype=int32)
    """
    if start is None:
        if size is None:
            return slice(None, None, stride if stride is None else _stride(stride))
        start = 0
    elif size is None:
        start, size = 0, start
    if not _is_integer_scalar(start):
        raise TypeError(f"ds: start must be an integer or an integer scalar, got {_described(start)}")
    size, stride = _int("size", size), 1 if stride is None else _stride(stride)
    if size < 0:
        raise ValueError(f"ds: size must not be negative, got size {size}")
    return Slice(start if is_array_like(start) and hasattr(start, "dtype") else operator.index(start), size, stride)


ds = dslice


def _is_integer_scalar(x: Any) -> bool:
    if not is_array_like(x):
        return hasattr(x, "__index__")
    aval = get_aval(x)
    return aval.shape == () and dtypes.issubdtype(aval.dtype, dtypes.integer)


def _stride(value: Any) -> int:
    stride = _int("stride", value)
    if stride < 1:
        raise ValueError(f"ds: stride must be positive, got stride {stride}")
    return stride


def _int(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"ds: {name} must be an int, which it has to be in a traced function too; got {_described(value)}") from None


def _described(value: Any) -> str:
    return get_aval(value).str_short() if is_array_like(value) else f"{value!r:.60}"
