"""Factorizations and equations of batches of matrices.

Singular and eigenvectors are determined up to a phase; the functions of them here do not depend on it.
"""

from __future__ import annotations

import numpy as np

from laminax_ir.ops import linalg as op
from laminax_ir.ops.elementwise import abs as magnitude
from laminax_ir.ops.elementwise import convert_element_type, square
from laminax_ir.ops.linalg import symmetrize

from .case import COMPLEX, WIDE, Case, joined

DTYPES = (*WIDE, *COMPLEX)


def matrix(numbers, size, m: int | None = None, n: int | None = None):
    """A batch of matrices, by default square ones, with singular values that are apart."""
    *batch, last = size or (2,)
    m, n = m or last, n or last
    return numbers(*batch[:1], m, n) - 1.2 + 2 * np.arange(1, m + 1)[:, None] * np.eye(m, n)


def square_matrix(numbers, size):
    return [matrix(numbers, size)]


def with_sides(numbers, size):
    return [matrix(numbers, size), matrix(numbers, size, n=2)]


def sized(m: int, n: int):
    return lambda numbers, size: [matrix(numbers, size[:1] + (1,), m, n)]


def diagonals(numbers, size):
    *batch, n = (size or (2,))[-2:]
    return numbers(*batch, n), numbers(*batch, n) + 4, numbers(*batch, n), numbers(*batch, n, 2)


def positive(x):
    """A Hermitian, positive definite matrix with eigenvalues that are apart."""
    return symmetrize(op.matmul(x, op.adjoint(x)))


def weights(x):
    """Squares of magnitudes: what there is of vectors without their phases."""
    return convert_element_type(square(magnitude(x)), x.dtype)


def eigen(x):
    v, w = op.eigh(positive(x))
    return joined(weights(v), convert_element_type(w, x.dtype))


def singular(x):
    u, s, vh = op.svd(x, full_matrices=False)
    return joined(convert_element_type(s, x.dtype), weights(u), weights(vh))


CASES = {
    "cholesky": Case(lambda x: op.cholesky(positive(x)), square_matrix, DTYPES, rtol=200),
    **{f"triangular_solve {left=} {lower=} {unit=}": Case(
        lambda a, b, left=left, lower=lower, unit=unit: op.triangular_solve(a, b if left else op.swap_last(b), left_side=left, lower=lower,
                                                                            unit_diagonal=unit),
        with_sides, DTYPES, rtol=200) for left, lower, unit in ((True, True, False), (False, False, False), (True, False, True))},
    "triangular_solve adjoint": Case(lambda a, b: op.triangular_solve(a, b, left_side=True, transpose_a=True, conjugate_a=True), with_sides,
                                     DTYPES, rtol=200),
    "lu": Case(lambda x: op.lu(x)[0], square_matrix, DTYPES, rtol=200),
    "lu of a tall matrix": Case(lambda x: op.lu(x)[0], sized(3, 2), DTYPES, rtol=200),
    "lu of a wide matrix": Case(lambda x: op.lu(x)[0], sized(2, 3), DTYPES, rtol=200),
    "qr": Case(lambda x: joined(*op.qr(x)), square_matrix, DTYPES, rtol=200),
    "qr of a tall matrix": Case(lambda x: joined(*op.qr(x, full_matrices=False)), sized(3, 2), DTYPES, rtol=200),
    "qr of a wide matrix": Case(lambda x: joined(*op.qr(x)), sized(2, 3), DTYPES, rtol=200),
    "eigh": Case(eigen, square_matrix, DTYPES, rtol=400),
    "singular values": Case(lambda x: op.svd(x, compute_uv=False), square_matrix, DTYPES, rtol=200),
    "svd": Case(singular, square_matrix, DTYPES, rtol=400),
    "svd of a tall matrix": Case(singular, sized(3, 2), DTYPES, rtol=400),
    "svd of a wide matrix": Case(singular, sized(2, 3), DTYPES, rtol=400),
    "eig with vectors": Case(lambda x: joined(*op.eig(x, enable_eigvec_derivs=True)), square_matrix, DTYPES, rtol=1000),
    "tridiagonal_solve": Case(op.tridiagonal_solve, diagonals, DTYPES, rtol=200),
    "symmetric_product": Case(lambda a, c: op.symmetric_product(a, op.matmul(a, op.swap_last(a)), alpha=2.0, beta=-1.0), with_sides, DTYPES,
                              rtol=200),
}
# Further derivatives of eigenvalues take those of eigenvectors, which have to be asked for.
FIRST_ORDER = {
    "eig": Case(lambda x: op.eig(x, compute_left_eigenvectors=False, compute_right_eigenvectors=False)[0], square_matrix, DTYPES, rtol=400),
}
