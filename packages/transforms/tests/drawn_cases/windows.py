"""Reductions of windows."""

from __future__ import annotations

import numpy as np

from laminax_ir.ops import elementwise, windows
from laminax_ir.ops.elementwise import add, ge_p, le_p, mul, sin

from .case import REAL, Case, of_one, typed


def pooled(function, start, **options):
    def fun(x):
        window = tuple(min(size, 2) for size in x.shape)
        return sin(windows.reduce_window(x, typed(start, x)[()], function, window, window_strides=(1,) * len(window), padding="SAME",
                                         **options))
    return fun


def dilated_sum(x):
    rank = len(x.shape)
    return windows.reduce_window(sin(x), typed(0, x)[()], elementwise.add, (2,) * rank, (2,) * rank, ((1, 2),) * rank, (2,) * rank,
                                 (2,) * rank)


def selected(select, scatter: bool):
    def fun(t, x):
        rank = len(x.shape)
        window = ((1,) * rank, (1,) * rank, [(0, 0)] * rank) if not scatter else (tuple(min(s, 2) for s in x.shape), (1,) * rank,
                                                                                 [(min(s, 2) - 1, 0) for s in x.shape])
        return (windows.select_and_scatter_add if scatter else windows.select_and_gather_add)(mul(t, t), x, select, *window)
    return fun


CASES = {
    "reduce_window_sum": of_one(pooled(elementwise.add, 0), rtol=20), "dilated reduce_window_sum": of_one(dilated_sum, rtol=20),
    "reduce_window_max": of_one(pooled(elementwise.max, -np.inf), dtypes=REAL),
    "reduce_window_min": of_one(pooled(elementwise.min, np.inf), dtypes=REAL),
    "reduce_window": of_one(pooled(lambda a, b: add(add(a, b), mul(a, b)), 0), rtol=40),
    "select_and_scatter_add": Case(selected(ge_p, True), dtypes=REAL, rtol=20),
    "select_and_gather_add": Case(selected(le_p, False), dtypes=REAL),
}
