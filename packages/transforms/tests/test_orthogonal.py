"""Batches of reflections and rotations, in any axis; and the polar decomposition under vmap and in forward mode."""

import numpy as np
import pytest
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops import orthogonal as op
from laminax_ir.ops.linalg import geqrf
from laminax_ir.ops.polar import qdwh

X = np.random.default_rng(0).normal(size=(4, 3, 3)).astype(np.float32)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_vmap(axis):
    a, taus = geqrf(X)
    moved = np.moveaxis(X, 0, axis)
    check_vmap(lambda c: op.ormqr(a[0], taus[0], c, transpose=True), [moved], [axis])
    check_vmap(lambda a, taus: op.ormqr(a, taus, X[0], left=False), [np.moveaxis(a, 0, axis), taus], [axis, 0])
    check_vmap(lambda x: list(op.tridiagonal(x)), [moved], [axis])
    factors = np.moveaxis(np.triu(X), 0, axis)
    check_vmap(op.cholesky_update, [factors, X[0, 0]], [axis, None])
    check_vmap(op.cholesky_update, [np.triu(X[0]), X[:, 0]], [None, 0])


def test_polar_decomposition():
    check_vmap(lambda x: qdwh(x)[0], [X], [0])
    check_derivatives(lambda x: qdwh(x, eps=1e-30)[0], X[0].astype(np.float64), order=1, reverse=False)
