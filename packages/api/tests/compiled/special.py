"""Special functions on the parts of their domains where they are ordinary, and at the borders of those."""

from __future__ import annotations

from typing import Iterator

import numpy as np
from compiled.comparison import Comparison
from compiled.drawing import FLOATS, Draw

from laminax_ir.ops import special as op

_INF, _NAN = np.inf, np.nan
# operation; per operand a range, and values where the result is given by the definition
_UNARY = [
    ("erf", (-6, 6), [0, -0.0, _INF, -_INF, _NAN]), ("erfc", (-5, 9), [0, _INF, -_INF, _NAN]), ("erf_inv", (-1, 1), [0, 1, -1, 2, _NAN]),
    ("lgamma", (-8, 60), [1, 2, -1, _INF, _NAN]), ("digamma", (-8, 60), [-1, _INF, _NAN]), ("bessel_i0e", (-60, 60), [0, _NAN]),
    ("bessel_i1e", (-60, 60), [0, _NAN]),
]
_BINARY = [("zeta", (1.1, 12), (0.1, 40)), ("igamma", (0.1, 60), (0.01, 60)), ("igammac", (0.1, 60), (0.01, 60)),
           ("igamma_grad_a", (0.1, 60), (0.01, 60)), ("random_gamma_grad", (0.1, 60), (0.01, 60))]
# Their errors are those of a difference of numbers as large as 1 (probabilities, for one), and relative to it.
_RELATIVE_TO_ONE = {"lgamma", "digamma", "polygamma", "igamma", "igammac", "igamma_grad_a", "regularized_incomplete_beta"}


def comparisons(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    """Every special function on operands of the dtype."""
    if dtype not in FLOATS:
        return
    for name, (low, high), borders in _UNARY:
        yield _of(name, getattr(op, name), [np.append(draw.between(low, high, dtype), np.array(borders, dtype))])
    for name, *ranges in _BINARY:
        operands = [draw.between(low, high, dtype) for low, high in ranges]
        if name == "random_gamma_grad":  # far out the reference's difference quotient loses the small probability
            operands[1] = (operands[0].astype(np.float64) * draw.between(0.5, 2, np.float64)).astype(dtype)
        if name in ("igamma", "igammac"):
            operands = [np.append(x, np.array(y, dtype)) for x, y in zip(operands, ([1, 2, 0, _NAN, -1, _INF], [0, _INF, 1, 1, 1, 2]))]
        yield _of(name, getattr(op, name), operands)
    orders = np.array(draw.rng.integers(0, 6, draw.shape)).astype(dtype)
    yield _of("polygamma", op.polygamma, [orders, draw.between(0.1, 40, dtype)])
    a, b, x = draw.between(0.1, 20, dtype), draw.between(0.1, 20, dtype), draw.between(0, 1, dtype)
    yield _of("regularized_incomplete_beta", op.betainc, [
        np.append(a, np.array([1, 2, 3, -1, 0, _INF, 1, 0], dtype)), np.append(b, np.array([2, 1, 1, 1, 1, 1, 0, 0], dtype)),
        np.append(x, np.array([0, 1, _NAN, 0.5, 1, 0.5, 0, 0.5], dtype))])


def _of(name: str, function, operands: list[np.ndarray]) -> Comparison:
    comparison = Comparison(name, function, operands, is_widened=True)
    if name in _RELATIVE_TO_ONE:
        (values,) = comparison.expected()
        comparison.magnitude = np.maximum(np.abs(values.astype(np.float64)), 1)
    return comparison
