"""What programs written for JAX 0.12 count on: words of messages, dtypes of results, None among arguments, points outside of a domain."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.special

import laminax
import laminax.numpy as jnp
from laminax import lax, nn, random
from laminax.experimental import random as stateful
from laminax.sharding import ManualAxisType


@pytest.mark.parametrize("order", [-2, -1, 0, 1, 3])
def test_spherical_harmonics_outside_of_the_polar_angles_are_functions_of_the_cosine(order):
    """SciPy takes sqrt(1 - cos(theta)**2), which is not negative; the sine was taken instead, and odd orders had the wrong sign."""
    theta, degree = np.float32([-1.6, 4.0, -3.0, 0.3, 2.9, 7.0]), 3
    found = laminax.scipy.special.sph_harm_y(np.full(6, degree), np.full(6, order), theta, np.float32(0.7), n_max=3)
    expected = scipy.special.sph_harm_y(degree, order, theta.astype(np.float64), 0.7)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)  # single precision, three steps of the recurrence


@pytest.mark.parametrize("pole, slope", [(0.0, 1.0), (np.pi, -1.0)])
def test_derivatives_of_spherical_harmonics_at_the_poles_are_those_from_within(pole, slope):
    def real_part(theta):
        return laminax.scipy.special.sph_harm_y(np.array([1]), np.array([1]), theta[None], jnp.float32([0.0]), n_max=1)[0].real
    # Y_1^1 = -sqrt(3 / 8 pi) sin(theta) exp(i phi)
    np.testing.assert_allclose(laminax.grad(real_part)(jnp.float32(pole)), -np.sqrt(3 / (8 * np.pi)) * slope, rtol=1e-5)


def test_logsumexps_of_attention_have_the_dtype_of_the_keys_and_no_derivative():
    query = random.normal(random.key(0), (2, 3, 2, 4), np.float16)
    out, residual = nn.dot_product_attention(query, query, query, return_residual=True)
    assert residual.dtype == out.dtype == np.float16
    logits = np.einsum("bqhd,bkhd->bqhk", *[np.asarray(query, np.float64)] * 2) / 2  # 1 / sqrt(4)
    np.testing.assert_allclose(residual, np.log(np.exp(logits).sum(-1)), rtol=2e-3)  # half precision
    gradient = laminax.grad(lambda q: nn.dot_product_attention(q, query, query, return_residual=True)[1].sum())(query)
    np.testing.assert_array_equal(gradient, np.zeros(query.shape))


@pytest.mark.parametrize("value", [-11.0, 123.456, 0.0])
def test_standardized_constants_are_zero(value):
    """mean(x**2) - mean(x)**2 was -1.5e-5 for -11.0 + 3e-6, and its square root with epsilon NaN."""
    x = jnp.full(3, value, np.float32) + 3e-6
    found = nn.standardize(x)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found, 0, atol=2 ** -23 * abs(value) * 2 / np.sqrt(1e-5))  # the mean's rounding over sqrt(epsilon)


@pytest.mark.parametrize("rows, columns", [(0, 0), (0, 3), (2, 0)])
def test_orthogonal_matrices_may_be_empty(rows, columns):
    value = nn.initializers.orthogonal()(random.key(0), (rows, columns), np.float32)
    assert value.shape == (rows, columns) and value.dtype == np.float32


def test_vectorized_functions_may_get_none():
    f = jnp.vectorize(lambda x, y: x if y is None else x + y)
    np.testing.assert_array_equal(f(np.arange(4), None), np.arange(4))
    np.testing.assert_array_equal(f(np.arange(4), np.arange(4)[:, None]), np.arange(4) + np.arange(4)[:, None])
    with pytest.raises(ValueError, match=r"Cannot pass None at locations \{1\} with signature='\(k\),\(k\)->\(k\)'.*excluded"):
        jnp.vectorize(lambda x, y: x, signature="(k),(k)->(k)")(np.arange(4), None)


def test_vectorized_functions_without_a_signature_may_return_arrays():
    f = jnp.vectorize(lambda x: x + jnp.arange(5.0))
    np.testing.assert_array_equal(f(2.0), 2 + np.arange(5.0))
    np.testing.assert_array_equal(f(np.ones((2, 3))), np.broadcast_to(1 + np.arange(5.0), (2, 3, 5)))


def test_types_of_manual_axes_copy_to_themselves():
    mat = ManualAxisType(varying={"x"})
    assert copy.copy(mat) is mat and copy.deepcopy([mat])[0] is mat


def test_types_of_references_say_how_they_are_split():
    assert laminax.typeof(laminax.new_ref(np.zeros((2, 3)))).sharding.spec == laminax.P(None, None)


def _twice(f):
    ref = laminax.new_ref(1.0)
    return f(lambda x_ref, y_ref: x_ref[...] * y_ref[...], ref, ref)


@pytest.mark.parametrize("call, error, words", [
    (lambda: random.key(0, impl="rbg", dtype="rbg"), ValueError, "Cannot specify both `impl` and `dtype`"),
    (lambda: lax.fft(np.ones((2, 14, 15)), "rfft", (14, 12)), ValueError,
     r"RFFT input shape \(2, 14, 15\) minor dimensions must be equal to fft_lengths \(14, 12\)"),
    (lambda: lax.fft(np.ones((2, 14, 15), np.complex64), "irfft", (13, 15)), ValueError,
     r"IRFFT input shape \(2, 14, 15\) minor dimensions must be equal to all except the last fft_length, got fft_lengths=\(13, 15\)"),
    (lambda: nn.initializers.lecun_normal()(random.key(0), (5,)), ValueError,
     r"a 1-dimensional weights tensor with default in_axis. Must be at least 2D or specify in_axis explicitly.*shape \(5,\)"),
    (lambda: lax.platform_dependent(3.0, tpu=lambda x: x), NotImplementedError,
     "platform_dependent: translation rule for a call not found for platform cpu.*functions for tpu"),
    (lambda: laminax.jacrev(lambda ref: ref[...])(laminax.new_ref(2.0)), TypeError,
     r"jacrev cannot differentiate with respect to a Ref, and an argument is one.*ref\[\.\.\.\]"),
    (lambda: stateful.StatefulPRNG(np.array([0, 1], np.uint32), laminax.new_ref(0)), ValueError,
     r"Expected base_key to be a typed PRNG key; got u32\[2\].*random.key"),
    (lambda: stateful.StatefulPRNG(random.key(0), 0), ValueError, "Expected counter to be a scalar integer ref; got 0.*new_ref"),
    (lambda: laminax.vmap(lambda rng, x: x + rng.uniform(), in_axes=(None, 0))(stateful.stateful_rng(1), np.arange(4.0)), ValueError,
     "performing an addupdate operation with vmapped value on an unbatched array reference.*in_axes=0"),
    (lambda: _twice(laminax.vjp), ValueError, "at both x_ref and y_ref"),
])
def test_words_of_messages(call, error, words):
    with pytest.raises(error, match=words):
        call()
