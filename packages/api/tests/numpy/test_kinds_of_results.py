"""Whether functions with several results return tuples or lists, and in which fields: what NumPy or the reference documents of each."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax

M = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]], np.float32)
V = M[0]


@pytest.mark.parametrize("name, args", [
    ("meshgrid", ()), ("meshgrid", (V,)), ("meshgrid", (V, V)), ("broadcast_arrays", ()), ("broadcast_arrays", (V, 1.0)),
    ("broadcast_arrays", (V, V)), ("atleast_1d", ()), ("atleast_1d", (1.0, 2.0)), ("atleast_2d", (1.0, 2.0)), ("atleast_3d", (1.0, 2.0)),
    ("split", (M, 3)), ("array_split", (V, 2)), ("hsplit", (M, 3)), ("vsplit", (M, 3)), ("unstack", (M,)), ("nonzero", (V,)),
    ("modf", (V,)), ("frexp", (V,)), ("divmod", (V, 2.0)), ("ix_", ([0], [1])), ("tril_indices", (2,)), ("diag_indices", (2,)),
    ("histogram", (V,)), ("unravel_index", (np.array([1]), (2, 2)))])
def test_as_in_NumPy(name, args):
    found, expected = getattr(jnp, name)(*map(_traceable, args)), getattr(np, name)(*args)
    assert type(found) is type(expected) and len(found) == len(expected)


def _traceable(x):
    return jnp.array(x) if isinstance(x, list) else x


@pytest.mark.parametrize("run", [lambda f: f, laminax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name, kind", [
    ("lu", list), ("tridiagonal", list), ("hessenberg", list), ("schur", list), ("eigh", tuple), ("svd", tuple), ("qr", tuple),
    ("qdwh", tuple), ("eig", list)])
def test_factorizations_of_lax(name, kind, run):
    found = run(getattr(lax.linalg, name))(M)
    assert type(found) is kind and len(found) > 1


def test_other_functions():
    assert type(lax.approx_max_k(V, 2)) is list and type(lax.approx_min_k(V, 2)) is list and type(lax.top_k(V, 2)) is list
    assert type(laminax.scipy.linalg.schur(M)) is list and type(laminax.scipy.linalg.lu(M)) is tuple


def test_gmres_says_whether_it_failed():
    solve = laminax.scipy.sparse.linalg.gmres
    x, info = solve(jnp.asarray(M), jnp.asarray(V))
    np.testing.assert_allclose(M @ x, V, rtol=1e-4)
    assert info == 0
    assert solve(jnp.asarray(M), jnp.asarray(V), jnp.full(3, jnp.nan))[1] == -1
