"""Operations that have CPU kernels, as users call them: under jit, grad and vmap, with the option cpu_kernels and without, and exported."""

import numpy as np
import pytest

from laminax_ir.options import config
from laminax_runtime import _jaxlib

import laminax
import laminax.numpy as jnp
from laminax import export, lax, random

RNG = np.random.default_rng(0)
X = np.where(RNG.random(4000) < 0.2, RNG.choice([np.nan, 0.0, -0.0, np.inf], 4000), RNG.normal(size=4000)).astype(np.float32)
MATRICES = (RNG.normal(size=(50, 3, 3)) + 3 * np.eye(3)).astype(np.float32)
LONG = RNG.uniform(-10, 10, 20_000).astype(np.float32)
IMAGES = RNG.normal(size=(2, 8, 8, 3)).astype(np.float32)


def pooled(x):
    return lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


# What tells of the kernel for floating-point numbers alone: a comparator that only compares, where the compiler needs no other.
OF_SORT = "stablehlo.compare LT, %arg1, %arg2, FLOAT" if _jaxlib.has_new_cpu_compiler else "stablehlo.shift_left"

PROGRAMS = {  # the function, its argument, what is in the text only of the kernel and only of the rule; whether the bits are equal
    "sort": (jnp.sort, X, OF_SORT, "TOTALORDER", True),
    "argsort": (jnp.argsort, X, "stablehlo.shift_left", "TOTALORDER", True),
    "median": (jnp.median, X[np.isfinite(X)], OF_SORT, "TOTALORDER", True),
    "gradient of sort": (laminax.grad(lambda x: (jnp.sort(x) * jnp.arange(4000)).sum()), np.nan_to_num(X, posinf=1), "stablehlo.shift_left",
                         "TOTALORDER", True),
    "sort of rows by vmap": (laminax.vmap(jnp.sort), X.reshape(40, 100), OF_SORT, "TOTALORDER", True),
    "inverse": (jnp.linalg.inv, MATRICES, "xla_cpu_small_call", "lapack_sgetrf", False),
    "gradient of inverse": (laminax.grad(lambda x: (jnp.linalg.inv(x) ** 2).sum()), MATRICES, "xla_cpu_small_call", "lapack_sgetrf", False),
    "cholesky by vmap": (laminax.vmap(jnp.linalg.cholesky), MATRICES @ MATRICES.swapaxes(1, 2), "xla_cpu_small_call", "lapack_spotrf",
                         False),
    "gradient of pooling": (laminax.grad(lambda x: (pooled(x) ** 2).sum()), IMAGES, "stablehlo.pad", "stablehlo.select_and_scatter", True),
    "cumulative sum": (lambda x: laminax.vmap(jnp.cumsum)(x), np.nan_to_num(X[:2000], posinf=1).reshape(40, 50), "xla_cpu_small_call",
                       "stablehlo.reduce_window", False),
    "power": (lambda x: x**1.5, np.abs(X), "stablehlo.sqrt", "stablehlo.power", False),
    "gradient of power": (laminax.grad(lambda x: (x**2.5).sum()), np.nan_to_num(np.abs(X), posinf=1), "stablehlo.sqrt", "stablehlo.power",
                          False),
    "sine": (lambda x: jnp.sin(x) * 2, LONG, "f64", "stablehlo.sine", False),
    "gradient of a product of sines": (laminax.grad(lambda x: (jnp.sin(x) * jnp.cos(3 * x)).sum()), LONG, "f64", "stablehlo.sine", False),
    "tangent by vmap": (laminax.vmap(jnp.tan), LONG.reshape(100, 200), "f64", "stablehlo.tan", False),
    "inverse sine": (lambda x: jnp.arcsin(x / 20), LONG, "f64", "chlo.asin", False),
    "gradient of angles": (laminax.grad(lambda x: (jnp.arctan2(x, x[::-1]) ** 2).sum()), LONG, "f64", "stablehlo.atan2", False),
    "modulo": (lambda x: x % 0.7, LONG, "f64", "stablehlo.remainder", True),
    "whole quotients": (lambda x: x // (x[::-1] + 20), LONG, "f64", "stablehlo.remainder", True),
    "cube root": (jnp.cbrt, LONG, "f64", "stablehlo.cbrt", False),
    "categorical": (lambda x: random.categorical(random.key(0), x), np.resize(X[np.isfinite(X)], (80, 80)),
                    "stablehlo.optimization_barrier", "no text", True),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_are_taken_and_give_what_the_rules_give(name):
    fun, x, of_kernel, of_rule, has_equal_bits = PROGRAMS[name]
    results = []
    for is_on in (True, False):
        with config.cpu_kernels(is_on):
            jitted = laminax.jit(lambda x: fun(x))
            text = jitted.lower(x).as_text()
            assert (of_kernel in text, of_rule in text and of_rule != "no text") == (is_on, not is_on and of_rule != "no text")
            results.append(np.asarray(jitted(x)))
    if has_equal_bits:
        assert results[0].tobytes() == results[1].tobytes()
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-5)  # of matrices with condition numbers of about 10


def test_a_change_of_the_option_compiles_again():
    jitted = laminax.jit(jnp.sort)
    with config.cpu_kernels(True):
        with_kernels = jitted.lower(X).as_text()
    with config.cpu_kernels(False):
        assert jitted.lower(X).as_text() != with_kernels


def test_exported_programs_are_the_rules():
    for platforms in (None, ("cpu", "cuda")):
        exported = export.export(laminax.jit(jnp.sort), platforms=platforms)(laminax.ShapeDtypeStruct(X.shape, X.dtype))
        assert "shift_left" not in exported.mlir_module() and "TOTALORDER" in exported.mlir_module()


def test_against_numpy():
    np.testing.assert_array_equal(jnp.sort(X), np.sort(X))
    np.testing.assert_array_equal(jnp.argsort(X), np.argsort(X, stable=True))
    np.testing.assert_allclose(jnp.linalg.inv(MATRICES), np.linalg.inv(MATRICES.astype(np.float64)), rtol=1e-4, atol=1e-5)
    grid = IMAGES.reshape(2, 4, 2, 4, 2, 3)
    np.testing.assert_array_equal(pooled(IMAGES), grid.max((2, 4)))
    of_numpy = np.where(grid == grid.max((2, 4), keepdims=True), 2 * grid, 0).reshape(IMAGES.shape)
    np.testing.assert_array_equal(laminax.grad(lambda x: (pooled(x) ** 2).sum())(IMAGES), of_numpy)
    cumulative, weights = np.cumsum([0.1, 0.2, 0.3, 0.4]), np.array([0.1, 0.2, 0.3, 0.4], np.float32)
    drawn = np.asarray(random.choice(random.key(3), 4, (20_000,), p=weights))
    np.testing.assert_allclose(np.bincount(drawn) / 20_000, np.diff(cumulative, prepend=0), atol=0.02)  # five standard deviations


NOTHING, ONES = np.full((7000, 4, 4), -0.0, np.float32), np.ones((7000, 4, 4), np.float32)
SUMS = {
    "short sums": (lambda x, y: x.sum(-1), NOTHING, ONES),
    "short sums in a loop": (lambda x, y: lax.fori_loop(0, 3, lambda _, total: x.sum(-1), y[..., 0]), NOTHING, ONES),
    "a batch of products": (lambda x, y: x @ y, NOTHING, ONES),
    "products in a loop": (lambda x, y: lax.fori_loop(0, 3, lambda _, total: x @ y, x), NOTHING[0], ONES[0]),
    "a depthwise convolution": (lambda x, y: lax.conv_general_dilated(x, y, (1, 1), "VALID", feature_group_count=16),
                                NOTHING.reshape(-1)[:2 * 16 * 2500].reshape(2, 16, 50, 50), ONES.reshape(-1)[:144].reshape(16, 1, 3, 3)),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("kernels", [True, False])
def test_sums_of_negative_zeros_are_zero(name, kernels):
    """As reductions begin with 0: with -0 an angle is -pi instead of pi, and a reciprocal -inf."""
    f, x, y = SUMS[name]
    with config.cpu_kernels(kernels):
        total = np.asarray(laminax.jit(lambda x, y: f(x, y))(x, y))
    np.testing.assert_array_equal(np.arctan2(total, -1), np.full(total.shape, np.pi, np.float32))
