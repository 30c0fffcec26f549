"""Products of arrays and convolutions: errors are counted relative to the same product of the absolute values."""

from __future__ import annotations

from typing import Iterator

import numpy as np
from compiled.comparison import Comparison
from compiled.drawing import BOOL, FLOATS, INTEGERS, Draw

from laminax_ir.ops.contraction import RaggedDotDimensionNumbers, dot_general, ragged_dot, ragged_dot_general
from laminax_ir.ops.convolution import ConvDimensionNumbers, conv_general_dilated

_PREFERRED = {"bfloat16": np.float32, "float16": np.float32, "float32": np.float64, "int8": np.int32, "uint8": np.uint32,
              "int32": np.float64, "complex64": np.complex128}


def comparisons(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    """Contractions of arrays of the dtype over drawn axes."""
    for preferred in (None, _PREFERRED.get(dtype.name)):
        lhs, rhs, numbers = _dot(draw)
        yield _product("dot_general", lambda x, y, n=numbers, p=preferred: dot_general(x, y, n, preferred_element_type=p),
                       [draw.normal(dtype, lhs), draw.normal(dtype, rhs)])
    numbers = (((1,), (0,)), ((), ()))
    yield _product("dot_general", lambda x, y: dot_general(x, y, numbers), [draw.normal(dtype, (5, 70)), draw.normal(dtype, (70, 6))])
    other = draw.one_of((np.float32, np.int8, dtype))
    yield _product("dot_general", lambda x, y: dot_general(x, y, numbers), [draw.normal(dtype, (2, 3)), draw.normal(other, (3, 2))])
    if dtype in FLOATS or dtype in INTEGERS:
        groups = np.array([draw.integer(0, 3), draw.integer(0, 3), 1], np.int32)
        yield _product("ragged_dot_general", lambda x, y: ragged_dot(x, y, groups),
                       [draw.normal(dtype, (6, 3)), draw.normal(dtype, (3, 3, 2))])
        contracted = RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
        yield _product("ragged_dot_general", lambda x, y: ragged_dot_general(x, y, groups, contracted),
                       [draw.normal(dtype, (7, 2)), draw.normal(dtype, (7, 3))])
    if dtype not in BOOL:
        for _ in range(2):
            lhs, rhs, args = _convolution(draw)
            yield _product("conv_general_dilated", lambda x, k, a=args: conv_general_dilated(x, k, *a),
                           [draw.normal(dtype, lhs), draw.normal(dtype, rhs)])


def _product(name: str, function, operands: list[np.ndarray]) -> Comparison:
    comparison = Comparison(name, function, operands)
    wide = [np.complex128 if x.dtype.kind == "c" else np.float64 for x in operands]
    absolute = [np.abs(x.astype(dtype)) for x, dtype in zip(operands, wide)]
    (size,) = Comparison(name, function, absolute).expected()
    comparison.magnitude = np.abs(size.astype(np.complex128))
    (count,) = Comparison(name, function, [np.ones(x.shape) for x in operands]).expected()
    comparison.terms = np.abs(count)  # a preferred dtype may be complex
    return comparison


def _dot(draw: Draw):
    """Operand shapes and dimension numbers, axes in any order."""
    counts = [draw.integer(0, 2), draw.integer(0, 2), draw.integer(0, 1), draw.integer(0, 1)]
    batch, contracting, lhs_free, rhs_free = ([("bkmn"[i], j, draw.integer(0 if draw.integer(0, 9) == 0 else 1, 4)) for j in range(n)]
                                              for i, n in enumerate(counts))

    def place(labels):
        order = [labels[i] for i in draw.permutation(len(labels))]
        return tuple([size for *_, size in order]), {(kind, i): axis for axis, (kind, i, _) in enumerate(order)}

    (lhs_shape, lhs), (rhs_shape, rhs) = place(batch + contracting + lhs_free), place(batch + contracting + rhs_free)
    axes = [[tuple([where[kind, i] for i in range(n)]) for where in (lhs, rhs)] for kind, n in (("k", counts[1]), ("b", counts[0]))]
    return lhs_shape, rhs_shape, tuple(map(tuple, axes))


def _convolution(draw: Draw):
    """Operand shapes and arguments: groups, dilations, negative padding, axes in any order."""
    rank, groups, ins = draw.integer(1, 2), draw.integer(1, 2), draw.integer(1, 2)
    features, batches = draw.one_of(((1, groups), (groups, 1)))
    orders = [draw.permutation(rank + 2) for _ in range(3)]
    shapes = [(draw.integer(1, 2) * batches, ins * features, *draw.integers(3, 6, rank)),
              (draw.integer(1, 2) * groups, ins, *draw.integers(1, 3, rank))]
    lhs, rhs = (tuple(np.array(s)[np.argsort(order)].tolist()) for s, order in zip(shapes, orders))
    padding = tuple(zip(draw.integers(-1, 2, rank), draw.integers(0, 2, rank)))
    return lhs, rhs, (draw.integers(1, 2, rank), padding, draw.integers(1, 2, rank), draw.integers(1, 2, rank),
                      ConvDimensionNumbers(*orders), features, batches)
