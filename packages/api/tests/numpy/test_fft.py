"""Fourier transforms against NumPy's, in values, shapes, dtypes and refusals."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp

RNG = np.random.default_rng(0)
REAL = RNG.normal(size=(4, 5)).astype(np.float32)
COMPLEX = (REAL + 1j * RNG.normal(size=(4, 5))).astype(np.complex64)
WIDE = RNG.normal(size=(2, 3, 2, 3, 4)).astype(np.float32)
TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}  # float32 sums of some dozens of terms of size 1


def check(name, x, **kwargs):
    got, expected = getattr(jnp.fft, name)(x, **kwargs), getattr(np.fft, name)(x.astype(np.result_type(x, np.float64)), **kwargs)
    assert got.dtype == (np.complex64 if np.iscomplexobj(expected) else np.float32)
    np.testing.assert_allclose(got, expected, **TOLERANCE)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_one_axis(name, norm):
    check(name, REAL if name in ("rfft", "ihfft") else COMPLEX, norm=norm)


@pytest.mark.parametrize("n", [3, 8])
@pytest.mark.parametrize("name", ["fft", "rfft", "irfft", "hfft", "ihfft"])
def test_the_size_cuts_or_pads(name, n):
    check(name, REAL, n=n, axis=0)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_two_axes(name):
    check(name, REAL if name.startswith("r") else COMPLEX, axes=(1, 0), norm="ortho")


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.parametrize("options", [{}, {"axes": (2, 0, 1)}, {"s": (4, 2), "axes": (-1, 1)}])
def test_several_axes(name, options):
    check(name, WIDE, **options)


@pytest.mark.parametrize("dtype, expected", [(np.int32, np.complex64), (bool, np.complex64), (np.float16, np.complex64)])
def test_other_dtypes(dtype, expected):
    x = np.arange(4).astype(dtype)
    assert jnp.fft.fft(x).dtype == expected
    np.testing.assert_allclose(jnp.fft.rfft(x), np.fft.rfft(x.astype(np.float64)), **TOLERANCE)


def test_double_precision():
    with laminax.enable_x64(True):
        x = REAL.astype(np.float64)
        np.testing.assert_allclose(jnp.fft.irfft(jnp.fft.rfft(x), n=5), x, rtol=1e-12)
        assert jnp.fft.fft(x).dtype == np.complex128


def test_empty():
    assert jnp.fft.fft(np.zeros((0, 4))).shape == (0, 4)
    assert jnp.fft.rfft2(np.zeros((2, 0, 4))).shape == (2, 0, 3)
    np.testing.assert_array_equal(jnp.fft.fftn(REAL, axes=()), REAL)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies(name):
    for n in (5, 6):
        np.testing.assert_allclose(getattr(jnp.fft, name)(n, d=0.5), getattr(np.fft, name)(n, d=0.5), rtol=1e-6)
    assert getattr(jnp.fft, name)(5, dtype=np.float16).dtype == np.float16
    np.testing.assert_allclose(laminax.jit(lambda d: getattr(jnp.fft, name)(5, d))(2.0), getattr(np.fft, name)(5, 2.0), rtol=1e-6)
    with pytest.raises(TypeError):
        getattr(jnp.fft, name)(2.5)
    with pytest.raises(ValueError, match=f"The n argument of laminax.numpy.fft.{name} only takes an int. Got n = .0, 1, 2."):
        getattr(jnp.fft, name)([0, 1, 2])
    with pytest.raises(ValueError, match="The d argument of laminax.numpy.fft.* only takes a single value"):
        getattr(jnp.fft, name)(5, d=[1.0])


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
@pytest.mark.parametrize("axes", [None, 1, (0,)])
def test_shift(name, axes):
    np.testing.assert_array_equal(getattr(jnp.fft, name)(REAL, axes), getattr(np.fft, name)(REAL, axes))


def test_derivative_of_a_power_spectrum():
    """sum |fft(x)|^2 is n sum x^2 (Parseval), so its gradient is 2 n x; the half spectrum counts some terms twice."""
    weights = np.array([1, 2, 2], np.float32)  # of an odd size: only frequency 0 has no mirror image
    for power in (lambda x: jnp.sum(jnp.abs(jnp.fft.fft(x)) ** 2), lambda x: jnp.sum(weights * jnp.abs(jnp.fft.rfft(x)) ** 2)):
        np.testing.assert_allclose(laminax.grad(power)(REAL[0]), 10 * REAL[0], rtol=1e-4)


@pytest.mark.parametrize("n", [3, 8])
def test_transforms_beside_matrices_whose_columns_lie_together(n):
    """What LAPACK takes and gives has another order in memory, which the compiler gave to the transform too: it failed when it ran."""
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=(n, n)) + n * np.eye(n), rng.normal(size=(n, n))

    def solved(b):
        return laminax.lax.linalg.triangular_solve(np.float32(a), jnp.fft.fft(b).real, left_side=True, lower=True)

    def energy(b):
        return jnp.sum(jnp.fft.irfft(3 * jnp.fft.rfft(jnp.linalg.solve(np.float32(a), b)), n) ** 2)

    np.testing.assert_allclose(laminax.jit(solved)(np.float32(b)), np.linalg.solve(np.tril(a), np.fft.fft(b).real), rtol=1e-4, atol=1e-5)
    inverse = np.linalg.inv(a)  # the gradient of |3 A^-1 b|^2
    np.testing.assert_allclose(laminax.jit(laminax.grad(energy))(np.float32(b)), 18 * inverse.T @ inverse @ b, rtol=1e-4, atol=1e-5)


def test_vmap_is_a_loop():
    expected = np.stack([np.fft.ihfft(row, n=6) for row in REAL])
    np.testing.assert_allclose(laminax.vmap(lambda row: jnp.fft.ihfft(row, n=6))(REAL), expected, **TOLERANCE)


@pytest.mark.parametrize("call, message", [
    (lambda: jnp.fft.fft(REAL, norm="other"), "fft: norm must be None or one of .*got 'other'"),
    (lambda: jnp.fft.fft(REAL, n=0), "sizes must be positive, got \\(0,\\)"),
    (lambda: jnp.fft.fft(REAL, axis=(0, 1)), "laminax.numpy.fft.fft does not support multiple axes. Please use laminax.numpy.fft.fftn. "
                                             "Got axis = \\(0, 1\\)"),
    (lambda: jnp.fft.fft(REAL, axis=2), "axis 2"),
    (lambda: jnp.fft.fftn(REAL, axes=(0, 0)), "fftn"),
    (lambda: jnp.fft.fftn(REAL, s=(1, 2, 3)), "more sizes than axes"),
    (lambda: jnp.fft.fftn(REAL, s=(1, 2), axes=(0,)), "must have the same length"),
    (lambda: jnp.fft.fft2(REAL, axes=(0,)), r"laminax.numpy.fft.fft2 only supports 2 axes. Got axes = \(0,\)"),
    (lambda: jnp.fft.rfft(COMPLEX), "only real input is supported"),
])
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_lists_are_refused():
    with pytest.raises(TypeError, match="fft requires ndarray or scalar arguments"):
        jnp.fft.fft([1.0, 2.0])
