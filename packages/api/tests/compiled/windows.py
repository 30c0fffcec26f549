"""Windowed reductions: strides, both dilations, padding of either sign."""

from __future__ import annotations

from typing import Iterator

import numpy as np
from compiled.comparison import Comparison
from compiled.drawing import BOOL, COMPLEX, FLOATS, Draw

from laminax_ir.ops import elementwise, windows
from laminax_ir.ops.elementwise import ge_p, le_p
from laminax_ir.ops.reduction import greatest, least


def comparisons(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    """Reductions of windows of an array of the dtype."""
    if dtype not in BOOL:
        shape, window = _window(draw)
        x = draw.normal(dtype, shape)
        size = windows.reduce_window(np.abs(x.astype(np.complex128)), 0.0, elementwise.add, *window)
        terms = windows.reduce_window(np.ones(shape), 0.0, elementwise.add, *window)
        yield Comparison("reduce_window_sum", lambda x, w=window: windows.reduce_window(x, 0, elementwise.add, *w), [x], size, True,
                         terms=terms)
        one, zero = np.ones((), dtype)[()], np.zeros((), dtype)[()]
        yield Comparison("reduce_window", lambda x, w=window: windows.reduce_window(
            x, zero, lambda a, b: elementwise.add(b, elementwise.mul(a, one)), *w), [x], size, terms=terms)
    if dtype not in COMPLEX:
        shape, window = _window(draw)
        x = draw.values(dtype, shape)
        for name, start in (("max", least(dtype)), ("min", greatest(dtype))):
            start = np.array(start, dtype)[()]
            yield Comparison(f"reduce_window_{name}", lambda x, f=getattr(elementwise, name), i=start, w=window: windows.reduce_window(
                x, i, f, *w), [x], is_zero_signed=False)
    if dtype in FLOATS:
        shape, (sizes, strides, padding, *_) = _window(draw, is_dilated=False)
        ones = (1,) * len(shape)
        # Of equal numbers the first is selected, along one axis; in which order XLA visits windows of more axes is not defined.
        x = draw.normal(np.int8, shape) if len(shape) == 1 else draw.rng.permutation(int(np.prod(shape))).reshape(shape) - 30
        x, tangents = x.astype(dtype), draw.normal(dtype, shape)
        source = draw.normal(dtype, windows.windowed_shape("", shape, sizes, strides, padding, ones, ones))
        for select in (ge_p, le_p):
            yield Comparison("select_and_scatter_add", lambda s, x, p=select: windows.select_and_scatter_add(
                s, x, p, sizes, strides, padding), [source, x], np.abs(source.astype(np.float64)).sum(),
                terms=np.prod(sizes))  # as many windows as have a place for an element
            yield Comparison("select_and_gather_add", lambda t, x, p=select: windows.select_and_gather_add(
                t, x, p, sizes, strides, padding, ones, ones), [tangents, x])


def _window(draw: Draw, is_dilated: bool = True):
    rank = draw.integer(1, 3)
    high = 2 if is_dilated else 1
    padding = tuple(zip(draw.integers(-1 if is_dilated else 0, 2 if is_dilated else 0, rank),
                        draw.integers(0, 2 if is_dilated else 1, rank)))
    return draw.integers(3, 5, rank), (draw.integers(1, 3, rank), draw.integers(1, 2, rank), padding, draw.integers(1, high, rank),
                                       draw.integers(1, high, rank))
