"""Reflections and rotations through XLA and LAPACK against the reference; what is a program elsewhere runs here too."""

import numpy as np
import pytest
from stablehlo_runner import check

from laminax_ir.ops import orthogonal as op
from laminax_ir.ops.linalg import EighImplementation, EigImplementation, SvdAlgorithm, eig, eigh, geqrf, matmul, svd
from laminax_ir.ops.polar import qdwh
from laminax_ir.options.config import enable_x64
from laminax_lowering.rules import orthogonal as rules

TOLERANCES = {"float32": 1e-5, "float64": 1e-13, "complex64": 1e-5, "complex128": 1e-13}


@pytest.fixture(autouse=True)
def x64():
    with enable_x64():
        yield


def random(dtype, *shape):
    rng = np.random.default_rng(0)
    return (rng.normal(size=shape) + (1j * rng.normal(size=shape) if dtype[0] == "c" else 0)).astype(dtype)


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("kernel", ["lapack", "program"])
@pytest.mark.parametrize("shape", [(4, 2), (2, 2, 3), (0, 2, 2), (3, 0)])
def test_ormqr(shape, kernel, dtype, monkeypatch):
    if kernel == "program":
        from laminax_lowering.writing import registry
        monkeypatch.setitem(registry.platform_rules, (op.ormqr_p, "cpu"), rules._ormqr)
        monkeypatch.setattr("laminax_lowering.writing.registry._found", {})
    *batch, m, _ = shape
    x, c = random(dtype, *shape), random(dtype, *batch, m, 2)
    for transpose in (False, True):
        check(lambda x, c: [op.ormqr(*geqrf(x), c, transpose=transpose)], x, c, atol=TOLERANCES[dtype])
        check(lambda x, c: [op.ormqr(*geqrf(x), c, left=False, transpose=transpose)], x, np.swapaxes(c, -1, -2).copy(),
              atol=TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("shape", [(2, 3, 3), (1, 1), (0, 2, 2)])
def test_tridiagonal(shape, dtype):
    for lower in (False, True):
        check(lambda x: list(op.tridiagonal(x, lower=lower)), random(dtype, *shape), atol=TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 3), (0, 0), (2, 1, 3, 3)])
def test_cholesky_update(shape, dtype):
    check(lambda r, w: [op.cholesky_update(r, w)], random(dtype, *shape), random(dtype, *shape[:-1]), atol=TOLERANCES[dtype])


def test_cholesky_update_of_zero():
    check(lambda r, w: [op.cholesky_update(r, w)], np.zeros((2, 2)), np.array([0.0, -3.0]))


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_polar_decomposition(dtype):
    check(lambda x: list(qdwh(x)), random(dtype, 4, 3), atol=10 * TOLERANCES[dtype])


@pytest.mark.parametrize("algorithm", [SvdAlgorithm.DEFAULT, SvdAlgorithm.QR, SvdAlgorithm.DIVIDE_AND_CONQUER])
def test_svd_algorithms(algorithm):
    for shape in ((4, 3), (2, 2, 4)):
        x = random("float64", *shape)
        check(lambda x: [svd(x, compute_uv=False, algorithm=algorithm)], x, atol=1e-13)
        # The vectors have signs of their own, which their product has not.
        check(lambda x: [matmul(*svd(x, full_matrices=False, algorithm=algorithm)[::2])], x, atol=1e-13)


def test_other_algorithms_are_refused_by_name():
    x = random("float64", 3, 3)
    for fun, words in ((lambda x: [svd(x, compute_uv=False, algorithm=SvdAlgorithm.POLAR)],
                        "svd: SvdAlgorithm.POLAR is not available on cpu"),
                       (lambda x: list(eigh(x, implementation=EighImplementation.JACOBI)), "one of EighImplementation.QR"),
                       (lambda x: eig(x, implementation=EigImplementation.MAGMA), "one of EigImplementation.LAPACK")):
        with pytest.raises(NotImplementedError, match=words):
            check(fun, x)
    check(lambda x: [eigh(x, implementation=EighImplementation.QR, sort_eigenvalues=False)[1]], x, atol=1e-13)
