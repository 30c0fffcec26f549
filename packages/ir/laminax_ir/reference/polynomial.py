"""NumPy meaning of polynomials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from laminax_ir.ops.polynomial import polynomial_p
from laminax_ir.reference.evaluate import reference_rule
from laminax_ir.reference.widening import widened

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike


@reference_rule(polynomial_p)
def _polynomial(x: np.ndarray, *coeffs: np.ndarray, unroll: int | None = None) -> ArrayLike:
    at, *terms = np.broadcast_arrays(*(widened(v) for v in (x, *coeffs)))
    result = terms[-1]
    for c in terms[-2::-1]:
        result = result * at + c
    return result
