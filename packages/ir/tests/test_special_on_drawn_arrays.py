"""Every special function on every floating dtype, on shapes of rank 0 to 5 with empty axes, NaN and infinities.

Oracles: SciPy in float64, rounded once to the dtype; for the derivative of the incomplete gamma function its power series.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn_arrays import EVERY, FLOATS, cases, covers, drawn, every_operation_is_covered, few, rounded, seeds, sizes, wide
from hypothesis import given

from laminax_ir.ops import special
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.options.config import enable_x64
from laminax_ir.types import dtypes

scipy_special = pytest.importorskip("scipy.special")


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


def no_poles(f):
    """NaN at 0, -1, -2, ..., where SciPy has infinities of either sign."""
    return lambda x: np.where((x <= 0) & (x == np.floor(x)) | (x == -np.inf), np.nan, f(x))


def lgamma(x):
    """SciPy's, but for its -inf at -inf, where C has inf, and its inf at subnormal numbers, where it is -log|x|."""
    return np.where(np.abs(x) < 1e-300, -np.log(np.abs(x)), scipy_special.gammaln(np.where(x == -np.inf, np.inf, x)))


# Functions of one number: the oracle, and in which units of float64's eps it and the reference, two ways of computing in
# float64, may differ: erfc in its tail by x**2, digamma near the pole -n by n over the distance.
FUNCTIONS = {
    "erf": (scipy_special.erf, 8), "erfc": (scipy_special.erfc, 1e3), "erf_inv": (scipy_special.erfinv, 16),
    "lgamma": (lgamma, 64),
    "digamma": (no_poles(scipy_special.psi), 1e5),
    "bessel_i0e": (scipy_special.i0e, 8), "bessel_i1e": (scipy_special.i1e, 8),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@covers(*FUNCTIONS, by="name")
@few
@given(sizes=sizes, seed=seeds)
def test_functions_of_one_number(name, sizes, seed):
    rng = np.random.default_rng(seed)
    oracle, ulps = FUNCTIONS[name]
    for dtype, shape in cases(FLOATS, sizes):
        x = drawn(rng, dtype, shape)
        if name == "erf_inv":
            inside = np.asarray(rng.uniform(-1, 1, shape), dtype)
            x = np.asarray(np.where(rng.random(shape) < 0.7, inside, x), dtype)
        if name == "digamma" and dtype.itemsize > 1:
            x = np.asarray(np.where(wide(x) < -100, -x, x), dtype)
        with np.errstate(all="ignore"):
            exact = np.asarray(oracle(wide(x)))
        # the absolute error is that of lgamma and digamma at their zeros
        rounded(getattr(special, name)(x), exact, dtype, ulps=ulps if dtype == np.float64 else 4, absolute=1e-14)


def igamma_grad_a(a, x):
    """d/da of the series of the incomplete gamma function, DLMF 8.7.1, which converges fast for small x."""
    n = np.arange(60)
    terms = (-x[..., None]) ** n / scipy_special.factorial(n)
    lower = x**a * np.sum(terms / (a[..., None] + n), -1)  # the function, not divided by Γ(a)
    slope = np.log(x) * lower - x**a * np.sum(terms / (a[..., None] + n) ** 2, -1)
    return (slope - scipy_special.psi(a) * lower) / scipy_special.gamma(a)


def random_gamma_grad(a, x):
    return -igamma_grad_a(a, x) * scipy_special.gamma(a) / (x ** (a - 1) * np.exp(-x))


# Functions of several numbers: the oracle, the range of each operand, and the relative error in units of float64's eps.
DOMAINS = {
    "igamma": (scipy_special.gammainc, [(0.1, 40), (0.1, 40)], 64),
    "igammac": (scipy_special.gammaincc, [(0.1, 40), (0.1, 40)], 64),
    "zeta": (scipy_special.zeta, [(1.1, 20), (0.1, 20)], 64),
    "polygamma": (lambda m, x: scipy_special.polygamma(m.astype(int), x), [(0, 6), (0.2, 30)], 1e3),
    "regularized_incomplete_beta": (scipy_special.betainc, [(0.1, 20), (0.1, 20), (0, 1)], 64),
    "igamma_grad_a": (igamma_grad_a, [(0.2, 8), (0.1, 5)], 1e6),
    "random_gamma_grad": (random_gamma_grad, [(0.2, 8), (0.1, 5)], 1e6),
}


@pytest.mark.parametrize("name", DOMAINS)
@covers(*DOMAINS, by="name")
@few
@given(sizes=sizes, seed=seeds)
def test_functions_of_several_numbers(name, sizes, seed):
    rng = np.random.default_rng(seed)
    oracle, ranges, ulps = DOMAINS[name]
    function = special.betainc if name == "regularized_incomplete_beta" else getattr(special, name)
    for dtype, shape in cases(FLOATS, sizes):
        operands = [np.asarray(rng.uniform(low, high, shape), dtype) for low, high in ranges]
        if name == "polygamma":
            operands[0] = np.asarray(rng.integers(0, 5, shape), dtype) if dtype.name != "float8_e8m0fnu" else np.ones(shape, dtype)
        # what rounding to a very narrow type moved out of the domain
        operands = [np.asarray(np.where((wide(x) >= low) & (wide(x) <= high), x, np.ones((), dtype)), dtype)
                    for x, (low, high) in zip(operands, ranges)]
        exact = np.asarray(oracle(*map(wide, operands)))
        # at most a few roundings of float32 for narrow types, of the evaluation in float64 for float64
        rounded(function(*operands), exact, dtype, ulps=ulps if dtype == np.float64 else 4,
                absolute=1e-9 if name.endswith(("grad_a", "grad")) else 0)
        if shape and name != "polygamma":
            with_nan = [np.asarray(np.where(np.arange(math.prod(shape)).reshape(shape) == 0, np.nan, wide(x)), dtype)
                        for x in operands[:1]]
            got = np.asarray(function(*with_nan, *operands[1:]))
            assert not got.size or np.isnan(wide(with_nan[0]).ravel()[0]) <= np.isnan(wide(got).ravel()[0])


@pytest.mark.parametrize("name", [*FUNCTIONS, *DOMAINS])
def test_other_dtypes_are_refused(name):
    count = len(DOMAINS[name][1]) if name in DOMAINS else 1
    function = special.betainc if name == "regularized_incomplete_beta" else getattr(special, name)
    for dtype in EVERY:
        operands = [np.ones(2, dtype)] * count
        if dtype in FLOATS:
            assert function(*operands).dtype == dtype
            if count > 1:  # a Python scalar takes the array's dtype
                one = scalar_like(1.0, dtype)
                np.testing.assert_array_equal(wide(function(1.0, *operands[1:])), wide(function(one, *operands[1:])))
            continue
        with pytest.raises(TypeError, match=f"{name} does not accept dtype {dtypes.dtype_name(dtype)}"):
            function(*operands)


def test_every_operation_of_the_family_is_drawn():
    every_operation_is_covered(__name__)
