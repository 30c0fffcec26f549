"""Bessel functions, spherical harmonics and the confluent hypergeometric function against SciPy in float64."""

import numpy as np
import pytest
import scipy.special

import laminax
from laminax import nn, random
from laminax.scipy import special
from laminax.testing import check_grads


@pytest.fixture(autouse=True)
def double_precision():
    with laminax.enable_x64(True):
        yield


def test_bessel_functions():
    z = np.array([0.0, 1e-3, 0.5, 3.0, -7.5, 20.0])
    expected = [scipy.special.jv(k, z) for k in range(6)]
    np.testing.assert_allclose(special.bessel_jn(z, v=5), expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(special.bessel_jn(2.0, v=0), [scipy.special.jv(0, 2.0)], rtol=1e-12)
    with laminax.numpy_rank_promotion("raise"), laminax.numpy_dtype_promotion("strict"):
        single = special.bessel_jn(z.astype(np.float32).reshape(2, 3), v=2)
    assert single.shape == (3, 2, 3) and single.dtype == np.float32
    np.testing.assert_allclose(single, np.reshape(expected[:3], (3, 2, 3)), rtol=1e-4, atol=1e-6)


def test_spherical_harmonics():
    n, m = np.repeat(np.arange(5), 11), np.tile(np.arange(-5, 6), 5)
    n, m = n[abs(m) <= n], m[abs(m) <= n]
    theta, phi = np.linspace(0, np.pi, 7)[:, None], 1.3
    expected = scipy.special.sph_harm_y(n, m, theta, phi)
    np.testing.assert_allclose(special.sph_harm_y(n, m, theta, phi), expected, rtol=1e-11, atol=1e-14)
    jitted = laminax.jit(lambda n, m: special.sph_harm_y(n, m, theta, phi, n_max=9))(n, m)
    np.testing.assert_allclose(jitted, expected, rtol=1e-11, atol=1e-14)
    assert special.sph_harm_y(1, 2, 0.3, 0.4) == 0 and np.isnan(special.sph_harm_y(-1, 0, 0.3, 0.4))
    assert special.sph_harm_y(5, 2, 0.3, 0.4, n_max=4) == special.sph_harm_y(4, 2, 0.3, 0.4)  # n_max is the largest degree there is
    np.testing.assert_allclose(special.sph_harm_y(40, 17, 1.1, 0.2), scipy.special.sph_harm_y(40, 17, 1.1, 0.2), rtol=1e-9)
    check_grads(lambda t, p: special.sph_harm_y(3, -2, t, p).real, (0.7, 0.4), order=1)


def test_confluent_hypergeometric_function():
    a, b = np.array([0.5, 1.0, 3.2, -2.0])[:, None, None], np.array([0.7, 2.0, 5.5])[:, None]
    x = np.array([0.0, 0.3, 2.0, 25.0, -0.3, -2.0, -25.0, 150.0])
    np.testing.assert_allclose(special.hyp1f1(a, b, x), scipy.special.hyp1f1(a, b, x), rtol=1e-8)
    check_grads(special.hyp1f1, (1.2, 2.3, 0.9), order=1)
    assert np.isinf(special.hyp1f1(1.0, 0.0, 1.0)) and special.hyp1f1(1, 2, 3).dtype == np.float64


def test_log1mexp():
    x = np.array([1e-12, 1e-5, 0.5, 0.69, 0.7, 1.0, 5.0])
    np.testing.assert_allclose(nn.log1mexp(x), np.log(-np.expm1(-x)), rtol=1e-9)
    np.testing.assert_allclose(nn.log1mexp(np.array([40.0, 700.0])), -np.exp([-40.0, -700.0]), rtol=1e-12)
    edges = nn.log1mexp(np.array([0.0, np.inf, -1.0]))
    assert edges[0] == -np.inf and edges[1] == 0 and np.isnan(edges[2])
    np.testing.assert_allclose(laminax.vmap(laminax.grad(nn.log1mexp))(x), 1 / np.expm1(x), rtol=1e-9)


def test_students_t_takes_the_shape_of_its_parameter():
    assert random.t(random.key(0), np.ones((2, 3))).shape == (2, 3)


@pytest.mark.parametrize("dtype, rtol", [(np.float32, 2e-6), (np.float64, 1e-13)])
def test_bessel_functions_next_to_zero(dtype, rtol):
    """The recurrence overflowed there."""
    z = np.array([1e-30, 1e-13, -1e-8, 9e-5, 2e-4, -3e-3], dtype)
    found = special.bessel_jn(z, v=4)
    slopes = laminax.jacobian(lambda z: special.bessel_jn(z, v=2))(np.zeros((), dtype))
    expected = scipy.special.jv(np.arange(5)[:, None], np.float64(z))
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=np.finfo(dtype).tiny)
    np.testing.assert_allclose(slopes, [0, 0.5, 0], atol=1e-7)


@pytest.mark.parametrize("call, error, message", [
    (lambda: special.bessel_jn(1j, v=1), TypeError, "z must be real"),
    (lambda: special.bessel_jn(1.0, v=60), ValueError, "v must be from 0 to less than n_iter, got v=60 and n_iter=50"),
    (lambda: special.sph_harm_y(1.0, 0, 0.1, 0.1), TypeError, "n must be integers"),
    (lambda: special.sph_harm_y(1, 0, 0.1, 0.1, diff_n=1), NotImplementedError, "diff_n is not supported"),
    (lambda: laminax.jit(special.sph_harm_y)(1, 0, 0.1, 0.1), TypeError, "n_max, by default from n,"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
