"""64-bit dtypes that are asked for without `enable_x64`: narrowed with a warning, an error, or made and kept to the last bit."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
import laminax.scipy.special
from laminax import lax

TENTH, LARGE = 0.1, 2**53 + 1  # neither is a number of 32 bits

ASKED = [
    (lambda: jnp.array([TENTH], dtype="float64"), np.float64([TENTH])),
    (lambda: jnp.array(np.float64([TENTH]), dtype=np.float64), np.float64([TENTH])),
    (lambda: jnp.asarray([np.uint64(7)], jnp.int64), np.int64([7])),
    (lambda: jnp.float64(TENTH), np.float64(TENTH)),
    (lambda: jnp.full((2,), LARGE, np.uint64), np.full(2, LARGE, np.uint64)),
    (lambda: jnp.full((2,), TENTH + 1j * TENTH, np.complex128), np.full(2, TENTH + 1j * TENTH)),
    (lambda: jnp.zeros(3, "int64"), np.zeros(3, np.int64)),
    (lambda: jnp.ones_like(3, dtype=np.int64), np.int64(1)),
    (lambda: jnp.eye(2, dtype=np.float64), np.eye(2)),
    (lambda: jnp.arange(3, dtype=np.float64), np.arange(3.0)),
    (lambda: jnp.ones(3, jnp.float32).astype("float64"), np.ones(3)),
    (lambda: jnp.ones(3, jnp.float32).sum(dtype=np.float64), np.float64(3)),
    (lambda: lax.convert_element_type(TENTH, np.float64), np.float64(TENTH)),
    (lambda: lax.iota(np.int64, 3), np.arange(3)),
    (lambda: lax.full((2,), TENTH, np.float64), np.full(2, TENTH)),
    (lambda: jnp.zeros(4, np.float32).view(np.float64), np.zeros(2)),
]


@pytest.mark.parametrize("make, expected", ASKED, ids=range(len(ASKED)))
def test_what_becomes_of_them(make, expected):
    with laminax.enable_x64(False):
        with set_mode("allow"):
            for result in (make(), laminax.jit(make)()):
                assert result.dtype == np.asarray(expected).dtype
                np.testing.assert_array_equal(result, expected)
        with set_mode("error"), pytest.raises(ValueError, match="Explicitly requested dtype .* is not available"):
            make()
        with pytest.warns(UserWarning) if not is_of_lax(make) else set_mode("warn"):
            assert make().dtype.itemsize == np.asarray(expected).dtype.itemsize // 2


def is_of_lax(make):
    """Whether the function narrows without a warning, as those of `lax` do."""
    return "lax" in make.__code__.co_names


class set_mode:
    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        laminax.config.update("jax_explicit_x64_dtypes", self.mode)

    def __exit__(self, *_):
        laminax.config.update("jax_explicit_x64_dtypes", "warn")


def test_values_that_nobody_asked_to_be_wide_are_narrow():
    with laminax.enable_x64(False), set_mode("allow"):
        for x in (jnp.asarray(np.ones(3)), jnp.arange(3), jnp.ones(3), jnp.asarray(1.5), laminax.jit(lambda x: x)(np.ones(3)),
                  laminax.device_put(np.arange(3)), jnp.array([1, 2], dtype=int), jnp.uint32(1) + jnp.int32(1)):
            assert x.dtype.itemsize == 4


def test_operations_keep_every_bit():
    """Against NumPy in double precision. Python's numbers beside such arrays are weak float32, as in JAX: these ones are exact."""
    x = np.linspace(0.1, 2, 7)
    functions = [
        lambda np, x: x * 0.5 + 0.25, lambda np, x: np.exp(-x) / (1 + x * x), lambda np, x: np.sqrt(x).sum() + x.mean(),
        lambda np, x: np.where(x > 1, x, 0.5), lambda np, x: np.linalg.norm(x) + np.var(x), lambda np, x: np.cumsum(x)[2:] @ x[2:],
        lambda np, x: np.clip(x, 0.25, 1.5) ** 3, lambda np, x: np.sort(-x), lambda np, x: np.interp(x + 0.125, x, x * x),
        lambda np, x: np.linalg.solve(np.outer(x, x) + np.eye(7, dtype="float64"), x), lambda np, x: np.fft.fft(x),
    ]
    with laminax.enable_x64(False), set_mode("allow"):
        wide = jnp.array(x, dtype=np.float64)
        for f in functions:
            for transformed in (f, lambda np, x, f=f: laminax.jit(lambda x: f(np, x))(x)):
                result = transformed(jnp, wide)
                assert result.dtype in (np.float64, np.complex128)
                np.testing.assert_allclose(result, f(np, x), rtol=1e-13, atol=1e-13)
        integers = jnp.full((3,), LARGE, np.int64)
        np.testing.assert_array_equal(integers + 2 - (integers // 3), LARGE + 2 - np.full(3, LARGE) // 3)


def test_derivatives_keep_every_bit():
    x = np.linspace(0.1, 2, 5)
    with laminax.enable_x64(False), set_mode("allow"):
        wide = jnp.array(x, dtype=np.float64)
        np.testing.assert_allclose(laminax.grad(lambda x: jnp.sum(0.5 * jnp.sin(x)))(wide), 0.5 * np.cos(x), rtol=1e-15)
        np.testing.assert_allclose(laminax.hessian(lambda x: jnp.sum(0.5 * x**3))(wide), np.diag(3 * x), rtol=1e-15)
        np.testing.assert_allclose(laminax.jacfwd(lambda x: x / 3)(wide), np.eye(5) / 3, rtol=1e-15)


def test_arrays_from_where_x64_holds_have_gradients_outside():
    with laminax.enable_x64(True):
        x = jnp.linspace(0.1, 2, 5)
    with laminax.enable_x64(False):
        gradient = laminax.grad(lambda x: (x * x).sum())(x)
        assert gradient.dtype == np.float64
        np.testing.assert_array_equal(gradient, 2 * np.asarray(x))


def test_random_numbers_of_64_bits_need_x64():
    with laminax.enable_x64(False), set_mode("allow"):
        with laminax.enable_x64(True):
            expected = laminax.random.bits(laminax.random.key(0), (3,), np.uint64)
        np.testing.assert_array_equal(laminax.random.bits(laminax.random.key(0), (3,), np.uint64), expected)
        with pytest.raises(NotImplementedError, match="are drawn where enable_x64 holds"):
            laminax.random.normal(laminax.random.key(0), (3,), np.float64)


@pytest.mark.parametrize("mode", ["warn", "error", "allow"])
def test_defaults_stay_narrow(mode):
    """Nobody asks for 64 bits where a function chooses the dtype itself."""
    x, i = jnp.arange(4, dtype=np.float32), jnp.arange(4, dtype=np.int32)
    with laminax.enable_x64(False), set_mode(mode):
        for f in (lambda: jnp.result_type(None), lambda: jnp.mean(i), lambda: jnp.sum(i), lambda: jnp.linspace(0, 1, 3), lambda: i / i,
                  lambda: jnp.argsort(x), lambda: jnp.argmax(x), lambda: jnp.cumsum(i), lambda: jnp.fft.fft(i), lambda: jnp.var(i),
                  lambda: jnp.histogram(x)[0], lambda: jnp.bincount(i), lambda: jnp.unique(i, return_counts=True)[1], lambda: jnp.eye(2),
                  lambda: jnp.searchsorted(x, x), lambda: jnp.nonzero(i)[0], lambda: laminax.random.normal(laminax.random.key(0)),
                  lambda: laminax.random.randint(laminax.random.key(0), (2,), 0, 9), lambda: laminax.nn.one_hot(i, 4),
                  lambda: jnp.linalg.norm(i), lambda: jnp.quantile(i, 0.5), lambda: laminax.scipy.special.gammaln(i),
                  lambda: jnp.hanning(4),
                  lambda: laminax.lax.top_k(x, 2)[1], lambda: jnp.trapezoid(i), lambda: jnp.percentile(i, 50), lambda: jnp.fft.fftfreq(4),
                  lambda: jnp.logspace(0, 1, 3), lambda: jnp.indices((2, 2)), lambda: jnp.tri(3), lambda: jnp.median(i)):
            result = f()
            dtype = np.dtype(getattr(result, "dtype", result))
            assert dtype.itemsize <= (8 if dtype.kind == "c" else 4)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("forward", [False, True])
def test_derivatives_of_custom_rules_that_enable_x64_within(forward, x64, order):
    """Derivatives run outside of the block, whose values have 64 bits; so cotangents need 64 bits there, too."""
    if forward:
        @laminax.custom_jvp
        def power(x):
            return x ** 2.0

        power.defjvp(lambda primals, tangents: (power(primals[0]), tangents[0] * jnp.sin(primals[0])))
    else:
        power = laminax.custom_vjp(lambda x: x ** 2.0)
        power.defvjp(lambda x: (power(x), jnp.sin(x)), lambda residual, ct: (residual * ct,))

    def within(x):
        with laminax.enable_x64(True):
            return power(jnp.array(x, np.float64))

    derivative, expected = within, [np.sin, np.cos, lambda x: -np.sin(x)][order - 1]
    with laminax.enable_x64(x64):
        for _ in range(order):
            derivative = laminax.grad(derivative)
        found = derivative(5.0)
    assert found.dtype == (np.float64 if x64 else np.float32)
    np.testing.assert_allclose(found, expected(5.0), rtol=1e-6)
