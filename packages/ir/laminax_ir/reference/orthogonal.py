"""NumPy meaning of reflections and rotations, one matrix at a time. The tridiagonal form comes from SciPy's LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np

from laminax_ir.ops import orthogonal as op
from laminax_ir.reference.linalg import define_per_matrix, scipy_module


def _ormqr(a: np.ndarray, taus: Any, c: np.ndarray, *, left: bool, transpose: bool) -> np.ndarray:
    order = range(len(taus))
    for i in reversed(order) if left != transpose else order:  # Q c applies the last reflection first
        v = np.concatenate([np.zeros(i), np.ones(1), a[i + 1:, i]]).astype(a.dtype)
        tau = taus[i].conj() if transpose else taus[i]
        c = c - tau * (np.outer(v, v.conj() @ c) if left else np.outer(c @ v, v.conj()))
    return c


def _tridiagonal(a: np.ndarray, *, lower: bool) -> tuple[np.ndarray, ...]:
    name = "hetrd" if np.iscomplexobj(a) else "sytrd"
    routine, = scipy_module("scipy.linalg.lapack").get_lapack_funcs((name,), (a,))
    return routine(a, lower=lower)[:4]


def _cholesky_update(r: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Rotates w into R, row by row: each rotation zeroes an element of w."""
    r, w = np.triu(r), w.copy()
    for k in range(len(w)):
        length = np.hypot(r[k, k], w[k])
        cosine, sine = (r[k, k] / length, w[k] / length) if length else (r.dtype.type(1), r.dtype.type(0))
        r[k], w = cosine * r[k] + sine * w, cosine * w - sine * r[k]
        w[k] = 0  # but for rounding it is already
    return r


define_per_matrix(op.ormqr_p, _ormqr, 2, 1, 2)
define_per_matrix(op.tridiagonal_p, _tridiagonal)
define_per_matrix(op.cholesky_update_p, _cholesky_update, 2, 1)
