"""Equations whose derivatives are equations."""

from __future__ import annotations

from laminax_ir.ops.linalg import cholesky, matmul, swap_last, triangle, triangular_solve
from laminax_transforms.custom.custom_solve import custom_linear_solve

from .case import Case
from .linalg import DTYPES, matrix, with_sides


def solved(a, b):
    """By the lower triangle, whose transpose is an upper one."""
    def lower(x):
        return triangular_solve(a, x, left_side=True, lower=True)

    def transposed(x):
        return triangular_solve(a, x, left_side=True, lower=True, transpose_a=True)

    return custom_linear_solve(lambda x: matmul(triangle(a), x), b, lambda _, x: lower(x), lambda _, x: transposed(x))


def symmetric(a, b):
    """With a matrix of which one half is the transpose of the other."""
    full = matmul(a, swap_last(a))
    factor = cholesky(full)

    def solve(_, x):
        return triangular_solve(factor, triangular_solve(factor, x, left_side=True, lower=True), left_side=True, lower=True,
                                transpose_a=True)

    return custom_linear_solve(lambda x: matmul(full, x), b, solve, solve, symmetric=True)


def real_with_sides(numbers, size):
    return [matrix(numbers, size), matrix(numbers, size, n=1)]


CASES = {
    "custom_linear_solve": Case(solved, with_sides, DTYPES, rtol=400),
    "symmetric custom_linear_solve": Case(symmetric, real_with_sides, DTYPES[:2], rtol=1000),
}
