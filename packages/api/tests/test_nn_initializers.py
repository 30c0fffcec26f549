"""Initializers against what defines them."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import random
from laminax.nn import initializers


@pytest.mark.parametrize("shape", [(3, 4, 5), (3, 3, 4, 4), (2, 4, 3, 2, 5)])
def test_delta_orthogonal_is_the_orthogonal_matrix_at_the_centre(shape):
    """The draw of the same key, so that numbers are JAX's: a matrix of the kernel's own size, not a part of a square one."""
    key = laminax.random.key(3)
    kernel = np.asarray(initializers.delta_orthogonal(2.0)(key, shape))
    centre = tuple((size - 1) // 2 for size in shape[:-2])
    matrix = kernel[centre]
    np.testing.assert_allclose(matrix @ matrix.T, 4 * np.eye(shape[-2]), atol=1e-5)
    np.testing.assert_array_equal(matrix, initializers.orthogonal(2.0)(key, shape[-2:]))
    rest = kernel.copy()
    rest[centre] = 0
    assert not rest.any()


@pytest.mark.parametrize("distribution, variance, largest",
                         [("normal", 2, None), ("uniform", 2, 2),
                          ("truncated_normal", 2 * (0.96196 / 0.95311) ** 2, 2 / 0.95311 * np.sqrt(2))])
def test_complex_variance_scaling_has_its_variance_and_no_preferred_phase(distribution, variance, largest):
    """Of a truncated one E|z|^2 is 1 - 4 / (e^4 - 1) = 0.96196^2, by integration; it is divided by the number that JAX has."""
    draw = initializers.variance_scaling(2 * 200, "fan_in", distribution)(laminax.random.key(1), (200, 300), np.complex64)
    assert draw.dtype == np.complex64
    z = np.asarray(draw, np.complex128)
    np.testing.assert_allclose(np.mean(np.abs(z) ** 2), variance, rtol=0.02)  # four standard errors of 60,000 draws
    np.testing.assert_allclose([np.mean(z), np.mean(z**2)], 0, atol=0.05)
    if largest is not None:
        assert 0.95 * largest < np.abs(z).max() <= largest * (1 + 1e-6)


def test_normal_values_are_one_product_away_from_the_inverse_error_function():
    """JAX's order of the arithmetic: (sqrt(2) * stddev) * erf_inv(u); the other order has other last bits."""
    key, shape = random.key(3), (5, 7)
    u = random.uniform(key, shape, minval=np.nextafter(np.float32(-1), np.float32(0)), maxval=1.0)
    inverse = laminax.lax.erf_inv(u)
    for stddev in (0.01, 0.3):
        expected = jnp.asarray(np.float32(np.sqrt(2)) * np.float32(stddev)) * inverse
        np.testing.assert_array_equal(initializers.normal(stddev)(key, shape), expected)
    scaled = initializers.variance_scaling(2.0, "fan_in", "normal")(key, shape)
    np.testing.assert_array_equal(scaled, jnp.asarray(np.float32(np.sqrt(2)) * np.sqrt(np.float32(2.0 / 5))) * inverse)


def test_weights_without_elements_and_vectors_with_a_named_axis():
    assert initializers.lecun_normal()(random.key(0), (0, 3)).shape == (0, 3)
    vector = initializers.variance_scaling(1.0, "fan_in", "normal", in_axis=0, out_axis=())(random.key(0), (10000,))
    np.testing.assert_allclose(np.std(vector), 0.01, rtol=0.03)  # 4 standard errors, each 1/sqrt(2 n)
    with pytest.raises(ValueError, match="Must be at least 2D"):
        initializers.lecun_normal()(random.key(0), (3,))


@pytest.mark.parametrize("name, variance", [
    ("glorot_normal", 2 / 700), ("glorot_uniform", 2 / 700), ("xavier_normal", 2 / 700), ("xavier_uniform", 2 / 700),
    ("he_normal", 2 / 300), ("he_uniform", 2 / 300), ("kaiming_normal", 2 / 300), ("kaiming_uniform", 2 / 300),
    ("lecun_normal", 1 / 300), ("lecun_uniform", 1 / 300)])
def test_variances_of_the_named_scalings(name, variance):
    """Glorot and Bengio (2010), He et al. (2015), LeCun et al. (1998), of a kernel with 300 inputs and 400 outputs."""
    kernel = np.asarray(getattr(initializers, name)()(random.key(5), (300, 400)), np.float64)
    np.testing.assert_allclose(np.var(kernel), variance, rtol=0.02)  # five standard errors of 120,000 draws
    np.testing.assert_allclose(np.mean(kernel), 0, atol=5 * np.sqrt(variance / kernel.size))
    largest = np.sqrt(3 * variance) if name.endswith("uniform") else 2 * np.sqrt(variance) / 0.87962566103423978
    assert 0.99 * largest < np.abs(kernel).max() <= largest * (1 + 1e-6)


def test_constants():
    np.testing.assert_array_equal(initializers.zeros(random.key(0), (2, 3)), np.zeros((2, 3)))
    np.testing.assert_array_equal(initializers.ones(random.key(0), (2,), np.int32), np.ones(2))
    np.testing.assert_array_equal(initializers.constant(2.5)(random.key(0), (3,)), np.full(3, 2.5))
