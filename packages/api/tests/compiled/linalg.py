"""Factorizations and solutions, and Fourier transforms: errors are counted relative to the largest number of the operands.

Factors that are not unique (signs of vectors) are compared through the matrices they factor. Factors of ill-conditioned matrices
may be anything: matrices are drawn with small condition numbers where factors themselves are compared.
"""

from __future__ import annotations

from typing import Iterator

import numpy as np
from compiled.comparison import Comparison
from compiled.drawing import COMPLEX, Draw

from laminax_ir.ops import elementwise, orthogonal
from laminax_ir.ops import linalg as op
from laminax_ir.ops.fft import fft
from laminax_ir.ops.shape import expand_dims

_REAL = (np.dtype(np.float32), np.dtype(np.float64))
_STABLE_BACKWARDS = ("eigh", "svd", "eig", "schur", "symmetric_product")  # values and products of factors, whatever the condition


def comparisons(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    """Every factorization of a batch of small matrices of the dtype."""
    if dtype not in (*_REAL, *COMPLEX):
        return
    batch = draw.integers(0 if draw.integer(0, 4) == 0 else 1, 2, draw.integer(0, 2))
    m, n = draw.integer(1, 4), draw.integer(1, 4)
    a, square = _well_conditioned(draw.normal(dtype, (*batch, m, n))), _well_conditioned(draw.normal(dtype, (*batch, n, n)))
    hermitian = (square + _adjoint(square)).astype(dtype)
    positive = (square @ _adjoint(square) + 2 * np.eye(n)).astype(dtype)
    triangle = (square / 4 + 2 * np.eye(n)).astype(dtype)
    # What reflections leave below the diagonal stays away from zero, where the next reflection would be of any direction.
    below, beside = (square + 8 * np.eye(n, k=-1)).astype(dtype), (hermitian + 8 * (np.eye(n, k=-1) + np.eye(n, k=1))).astype(dtype)
    b = draw.normal(dtype, (*batch, n, m))
    for name, function, operands in [
            ("cholesky", op.cholesky, [positive]), ("lu", op.lu, [a]), ("qr", lambda x: op.qr(x, full_matrices=False), [a]),
            ("qr", op.qr, [a]), ("geqrf", op.geqrf, [a]), ("hessenberg", op.hessenberg, [below]),
            ("eigh", lambda x: _spectral(op.eigh(x)), [hermitian]), ("svd", lambda x: _singular(op.svd(x, full_matrices=False)), [a]),
            ("svd", lambda x: op.svd(x, compute_uv=False), [a]), ("eig", lambda x: _diagonalised(x, *op.eig(x)), [square]),
            ("schur", lambda x: _similar(*op.schur(x)), [square]),
            ("householder_product", lambda x: op.householder_product(*op.geqrf(x)), [square]),
            ("ormqr", lambda x, c, t=bool(draw.integer(0, 1)): orthogonal.ormqr(*op.geqrf(x), c, transpose=t), [square, b]),
            ("tridiagonal", lambda x: [elementwise.abs(v) for v in orthogonal.tridiagonal(x)[1:3]], [beside]),
            ("tridiagonal_solve", op.tridiagonal_solve, [*_diagonals(draw, dtype, batch, n), b]),
            ("symmetric_product", lambda a, c: op.symmetric_product(a, c, alpha=2.0, beta=0.5), [square, hermitian])]:
        yield _of(name, function, operands)
    if dtype in _REAL:
        factor, column = np.triu(triangle).astype(dtype), draw.normal(dtype, (*batch, n))
        yield _of("cholesky_update", orthogonal.cholesky_update, [factor, column])
    for flags in range(16):
        options = dict(zip(("lower", "transpose_a", "conjugate_a", "unit_diagonal"), [bool(flags >> i & 1) for i in range(4)]))
        yield _of("triangular_solve", lambda a, b, o=options: op.triangular_solve(a, b, left_side=True, **o), [triangle, b])
    yield _of("triangular_solve", lambda a, b: op.triangular_solve(a, b), [triangle, draw.normal(dtype, (*batch, m, n))])
    pivots = np.array([draw.integer(i, m - 1) for i in range(m)], np.int32)
    yield Comparison("lu_pivots_to_permutation", lambda p: op.lu_pivots_to_permutation(p, m), [pivots])
    yield from _transforms(draw, dtype)


def _of(name: str, function, operands: list[np.ndarray]) -> Comparison:
    size = max(1.0, *[float(np.abs(x).max(initial=0)) for x in operands])
    comparison = Comparison(name, function, operands, size ** 2 if name == "symmetric_product" else size)
    comparison.terms = max(operands[0].shape[-2:]) * _condition(name, operands)
    return comparison


def _well_conditioned(x: np.ndarray) -> np.ndarray:
    """The matrices with singular values between 1 and 3."""
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return ((u * np.clip(s, 1, 3)[..., None, :]) @ vh).astype(x.dtype)


def _condition(name: str, operands: list[np.ndarray]) -> float:
    """The largest condition number of the matrices that an operation factors or divides by."""
    matrices = operands[:1]
    if name in _STABLE_BACKWARDS:
        return 1.0
    if name == "tridiagonal_solve":
        lower, middle, upper = [x[..., None] for x in operands[:3]]
        one = np.eye(middle.shape[-2])
        matrices = [one * middle + np.roll(one, -1, 1) * lower + np.roll(one, 1, 1) * upper]  # the corners are zeros
    elif name == "triangular_solve":
        triangles = [np.tril(operands[0]), np.triu(operands[0])]
        one = np.eye(triangles[0].shape[-1])
        matrices = [*triangles, *[np.where(one, one, x) for x in triangles]]
    return max(float(np.linalg.cond(x).max(initial=1)) for x in matrices) if operands[0].size else 1.0


def _adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def _scaled(vectors, values):
    return elementwise.mul(vectors, elementwise.convert_element_type(expand_dims(values, (len(values.shape) - 1,)), vectors.dtype))


def _spectral(factors):
    vectors, values = factors
    return values, op.matmul(_scaled(vectors, values), op.adjoint(vectors))


def _singular(factors):
    u, s, vh = factors
    return s, op.matmul(_scaled(u, s), vh)


def _diagonalised(x, values, left, right):
    """Zeros: the equations of the left and the right eigenvectors."""
    wide = elementwise.convert_element_type(x, values.dtype)
    return (elementwise.sub(op.matmul(wide, right), _scaled(right, values)),
            elementwise.sub(op.matmul(op.adjoint(wide), left), _scaled(left, elementwise.conj(values))))


def _similar(t, z):
    return op.matmul(op.matmul(z, t), op.adjoint(z)), op.matmul(op.adjoint(z), z)


def _diagonals(draw: Draw, dtype: np.dtype, batch, n: int) -> list[np.ndarray]:
    lower, middle, upper = (draw.normal(dtype, (*batch, n)) for _ in range(3))
    lower[..., 0], upper[..., -1] = 0, 0
    return [lower, (middle + 5).astype(dtype), upper]


def _transforms(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    lengths = draw.integers(1, 7, draw.integer(1, 2))
    shape = (draw.integer(0, 3), *lengths)
    count, terms = np.prod(lengths), sum(lengths)
    if dtype in COMPLEX:
        x = draw.normal(dtype, shape)
        yield Comparison("fft", lambda x: fft(x, "FFT", lengths), [x], _size(x), terms=terms)
        yield Comparison("fft", lambda x: fft(x, "IFFT", lengths), [x], _size(x) / count, terms=terms)
        half = draw.normal(dtype, (*shape[:-1], lengths[-1] // 2 + 1))
        half = np.fft.rfftn(np.fft.irfftn(half, lengths, tuple(range(-len(lengths), 0))), axes=tuple(range(-len(lengths), 0))).astype(dtype)
        yield Comparison("fft", lambda x: fft(x, "IRFFT", lengths), [half], 2 * _size(half) / count, terms=terms)
    else:
        x = draw.normal(dtype, shape)
        yield Comparison("fft", lambda x: fft(x, "RFFT", lengths), [x], _size(x), terms=terms)


def _size(x: np.ndarray) -> float:
    """The largest number that a transform of one of the arrays may have; the smallest one that counts, where there is none."""
    return float(np.abs(x.astype(np.complex128)).sum(tuple(range(1, x.ndim))).max(initial=1e-30))
