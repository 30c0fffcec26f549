"""Reductions and cumulative reductions: any axes, empty ones among them."""

from __future__ import annotations

from typing import Iterator

import numpy as np
from compiled.comparison import Comparison
from compiled.drawing import BOOL, COMPLEX, FLOATS, Draw

from laminax_ir.ops import cumulative, elementwise
from laminax_ir.ops import reduction as op

_BITWISE = ("reduce_and", "reduce_or", "reduce_xor")


def comparisons(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    """Every reduction of the dtype over drawn axes."""
    is_number = dtype not in BOOL
    if not is_number or dtype.kind in "iu":
        for name in _BITWISE:
            x, axes = _array(draw, dtype)
            yield Comparison(name, lambda x, f=getattr(op, name), a=axes: f(x, a), [x])
    for name in ("reduce_max", "reduce_min") if dtype.kind != "c" else ():
        x, axes = _array(draw, dtype, is_special=True)
        yield Comparison(name, lambda x, f=getattr(op, name), a=axes: f(x, a), [x], is_zero_signed=False)
        position, index_dtype = getattr(op, name.replace("reduce_", "arg")), draw.one_of((np.int32, np.int64, np.uint8))
        x, _ = _array(draw, dtype, is_special=True, is_empty=False)
        axis = draw.integer(0, x.ndim - 1)
        yield Comparison(name.replace("reduce_", "arg"), lambda x, f=position, a=axis, i=index_dtype: f(x, a, i), [x])
    if not is_number:
        return
    for name, bound in (("reduce_sum", np.sum), ("reduce_prod", np.prod)):
        x, axes = _array(draw, dtype)
        yield Comparison(name, lambda x, f=getattr(op, name), a=axes: f(x, a), [x], _size(x, lambda v, b=bound, a=axes: b(v, a)), True,
                         terms=_count(x.shape, axes))
    x, axes = _array(draw, dtype)
    combine, start = draw.one_of(((elementwise.add, 0), (elementwise.mul, 1)))
    bound = np.sum if start == 0 else np.prod
    yield Comparison("reduce", lambda x, i: op.reduce(x, i, combine, axes), [x, np.array(start, dtype)],
                     _size(x, lambda v: bound(v, axes)), True, terms=_count(x.shape, axes))
    yield from _cumulative(draw, dtype)


def _array(draw: Draw, dtype: np.dtype, is_special: bool = False, is_empty: bool = True) -> tuple[np.ndarray, tuple[int, ...]]:
    shape = draw.integers(0 if is_empty and draw.integer(0, 2) == 0 else 1, 4, draw.integer(0 if is_empty else 1, 5))
    axes = draw.permutation(len(shape))[:draw.integer(0, len(shape))]
    return draw.values(dtype, shape) if is_special else draw.normal(dtype, shape), axes


def _size(x: np.ndarray, bound):
    """What errors of a sum or product are relative to: the same of the absolute values."""
    return bound(np.abs(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)))


def _count(shape: tuple[int, ...], axes: tuple[int, ...]) -> int:
    """How many elements each result is made of."""
    return int(np.prod([shape[axis] for axis in axes], initial=1))


def _cumulative(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    bounds = {"cumsum": np.cumsum, "cumprod": np.cumprod}
    for name in ("cumsum", "cumprod", *(("cummax", "cummin") if dtype not in COMPLEX else ()),
                 *(("cumlogsumexp",) if dtype in FLOATS else ())):
        shape = draw.integers(0 if draw.integer(0, 4) == 0 else 1, 5, draw.integer(1, 3))
        axis, is_reverse = draw.integer(0, len(shape) - 1), bool(draw.integer(0, 1))
        x = draw.normal(dtype, shape) if name in bounds or name == "cumlogsumexp" else draw.values(dtype, shape)
        size = None
        if name in bounds:
            turned = np.flip(x, axis) if is_reverse else x
            size = _size(turned, lambda v, b=bounds[name], a=axis: b(v, a))
            size = np.flip(size, axis) if is_reverse else size
        elif name == "cumlogsumexp":
            size = np.full(shape, 1 + np.abs(x.astype(np.float64)).max(initial=0))
        yield Comparison(name, lambda x, f=getattr(cumulative, name), a=axis, r=is_reverse: f(x, a, r), [x], size,
                         name in bounds or size is not None, is_zero_signed=False, terms=shape[axis])
