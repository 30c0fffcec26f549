"""Linear algebra on batches that are split over devices: each device has its own matrices, and none are gathered."""

import numpy as np
import pytest
from meshes import on_mesh, put

import laminax
import laminax.numpy as jnp
from laminax import lax

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 4, 4)).astype(np.float32)
POSITIVE = X @ X.swapaxes(-1, -2) + 5 * np.eye(4, dtype=np.float32)
TOLERANCE = {"rtol": 1e-4, "atol": 1e-4}  # float32 of order 4, with entries up to 20


@pytest.mark.parametrize("fun, expected", [
    (jnp.linalg.cholesky, np.linalg.cholesky(POSITIVE)),
    (lambda a: jnp.linalg.eigh(a)[0], np.linalg.eigh(POSITIVE)[0]),
    (lambda a: jnp.linalg.svd(a, compute_uv=False), np.linalg.svd(POSITIVE)[1]),
    (lambda a: jnp.abs(jnp.linalg.qr(a)[1]), np.abs(np.linalg.qr(POSITIVE)[1])),
    (lambda a: lax.linalg.triangular_solve(a, a, left_side=True, lower=True), np.linalg.solve(np.tril(POSITIVE), POSITIVE)),
    (lambda a: (lambda packed: jnp.tril(packed, -1) @ jnp.triu(packed) + jnp.triu(packed))(lax.linalg.lu(a)[0]), POSITIVE),
    (lambda a: jnp.linalg.det(a), np.linalg.det(POSITIVE)),
], ids=["cholesky", "eigh", "svd", "qr", "triangular_solve", "lu", "det"])
@pytest.mark.parametrize("spec", [("x",), (("x", "y"),), ("x", "y")], ids=str)
def test_batches(fun, expected, spec):
    jitted = laminax.jit(fun, in_shardings=on_mesh(*spec))
    a = put(POSITIVE, *spec)
    result = jitted(a)
    np.testing.assert_allclose(np.asarray(result), expected, **TOLERANCE)
    assert tuple(result.sharding.spec)[0] == spec[0]
    if len(spec) == 1:  # the other specification splits the matrices, too, which are put together first
        assert "all-gather" not in jitted.lower(a).compile().as_text()
