"""Contractions."""

from __future__ import annotations

import numpy as np

from laminax_ir.ops import contraction as op
from laminax_ir.ops.elementwise import sin

from .case import Case, flat


def matrices(numbers, size):
    """[m, k] and [k, n]."""
    m, k, n = (*size, 2, 2, 1)[:3]
    return numbers(m, k), numbers(k, n)


def batches(numbers, size):
    """[b, m, k] and [k, b, n]."""
    b, m, k = (*size, 2, 2, 1)[:3]
    return numbers(b, m, k), numbers(k, b, 2)


def groups(numbers, size):
    """[m, k] and [2, k, n]."""
    m, k, n = (*size, 2, 2, 1)[:3]
    return numbers(m, k), numbers(2, k, n)


CASES = {
    "dot": Case(lambda x, y: op.dot(flat(x), sin(flat(y))), rtol=30),
    "matrix product": Case(lambda x, y: op.dot_general(x, y, (((1,), (0,)), ((), ()))), matrices, rtol=30),
    "batched product": Case(lambda x, y: op.dot_general(x, y, (((2,), (0,)), ((0,), (1,)))), batches, rtol=30),
    "ragged_dot_general": Case(lambda x, y: op.ragged_dot(x, y, np.array([1, max(x.shape[0] - 1, 0)], np.int32)), groups, rtol=30),
}
