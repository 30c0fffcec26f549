"""The hypergeometric function 2F1 against SciPy, closed forms and central differences."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special as sp

import laminax
import laminax.numpy as jnp
from laminax.scipy.special import hyp2f1

N = 60


@pytest.fixture
def x64():
    with laminax.enable_x64(True):
        yield


def _uniform(rng, low, high):
    return rng.uniform(low, high, N)


REGIONS = {
    "around zero": lambda r: (_uniform(r, -3, 5), _uniform(r, -3, 5), _uniform(r, 0.2, 6), _uniform(r, -1, 0.75)),
    "near one": lambda r: (_uniform(r, 0.1, 2), _uniform(r, 0.1, 2), _uniform(r, 4.2, 6), 1 - 10 ** _uniform(r, -15, -1)),
    "growing": lambda r: (_uniform(r, 1, 3), _uniform(r, 1, 3), _uniform(r, 0.3, 1.8), _uniform(r, 0.75, 0.99)),
    "integers": lambda r: (np.round(_uniform(r, 1, 4)), np.round(_uniform(r, 1, 4)), np.round(_uniform(r, 1, 6)), _uniform(r, 0.5, 1)),
    "left": lambda r: (_uniform(r, 0.1, 3), _uniform(r, 0.1, 3), _uniform(r, 0.2, 6), -10 ** _uniform(r, -1, 2)),
    "polynomials": lambda r: (-np.round(_uniform(r, 0, 4)), _uniform(r, -3, 3), _uniform(r, 0.2, 6), _uniform(r, -3, 3)),
    "at one": lambda r: (_uniform(r, -2, 2), _uniform(r, -2, 2), _uniform(r, 4.1, 6), np.ones(N)),
}


@pytest.mark.parametrize("region", REGIONS)
def test_hyp2f1_is_scipys(region, x64):
    args = REGIONS[region](np.random.default_rng(2))
    np.testing.assert_allclose(hyp2f1(*args), sp.hyp2f1(*args), rtol=1e-10, atol=1e-13)  # SciPy itself errs by about 1e-12


def test_closed_forms(x64):
    x = np.array([-1e10, -20.0, -1.0, -0.3, 0.2, 0.9, 0.999, 1 - 1e-12])
    np.testing.assert_allclose(hyp2f1(1.0, 1.0, 2.0, x), -np.log1p(-x) / x, rtol=1e-13)
    np.testing.assert_allclose(hyp2f1(0.7, 1.3, 1.3, x), (1 - x) ** -0.7, rtol=1e-13)
    x = 1 - np.logspace(-15, -1, 8)  # with c = a + b, where formulas with gamma functions have poles
    np.testing.assert_allclose(hyp2f1(0.5, 0.5, 1.0, x) * np.pi / 2, sp.ellipkm1(1 - x), rtol=1e-12)


def test_single_precision():
    a, b, c, x = (v.astype(np.float32) for v in REGIONS["left"](np.random.default_rng(3)))
    out = hyp2f1(a, b, c, x)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, sp.hyp2f1(*(v.astype(np.float64) for v in (a, b, c, x))), rtol=2e-4)  # sums of terms to 1e2 at 1e-7
    assert hyp2f1(1, 1, 2, 0.5).dtype == np.float32


@pytest.mark.parametrize("args", [
    (0.5, 1.0, -2.0, 0.5), (0.5, 1.0, -2.0, 0.0), (0.0, 1.0, -2.0, 0.5), (-3.0, 1.0, -2.0, 0.5), (-1.0, 1.0, -2.0, 0.5),
    (-2.0, 1.0, -2.0, 0.5),
    (0.5, 1.0, 1.0, 1.0), (0.5, 1.0, 2.0, 1.5), (-2.0, 3.0, 4.0, 1.5), (-2.0, 3.0, 4.0, -1e3), (-1.0, -3.0, -2.0, 0.5),
    (3.0, -2.0, 1.5, 7.0),
    (np.nan, 1.0, 2.0, 0.5), (1.0, 1.0, 2.0, np.nan),
])
def test_special_places(args, x64):
    np.testing.assert_allclose(hyp2f1(*args), sp.hyp2f1(*args), rtol=1e-13)


def test_what_is_too_far_to_the_left_is_not_a_number(x64):
    assert np.isnan(hyp2f1(0.5, 0.6, 1.2, -1e20))


def _slopes(a, b, c, x):
    """The derivative in x: DLMF 15.5.1."""
    return a * b / c * sp.hyp2f1(a + 1, b + 1, c + 1, x)


def test_derivatives(x64):
    points = np.array([
        (0.7, 1.3, 2.6, 0.4), (0.7, 1.3, 2.6, -5.0), (1.2, 0.4, 2.9, 0.97), (2.2, 1.4, 1.9, 0.9),
        (0.7, 1.3, 2.6, 0.0), (-2.0, 1.3, 2.6, 0.4), (-2.0, 1.3, 2.6, -3.0), (0.7, 1.3, 1.3, 0.4), (1.0, 1.0, 2.0, 0.9),  # special places
        (-2.0, 1.3, 2.6, 1.7), (0.3, 0.4, 2.6, 1.0), (-1.0, 2.5, -3.0, 0.5)]).T
    found = laminax.grad(lambda args: jnp.sum(hyp2f1(*args)))(jnp.asarray(points))
    for i, derivative in enumerate(found):
        step = np.zeros((4, 1))
        step[i] = 1e-5
        up, down = points[:, :9] + step, points[:, :9] - step
        np.testing.assert_allclose(derivative[:9], (sp.hyp2f1(*up) - sp.hyp2f1(*down)) / 2e-5, rtol=1e-6, atol=1e-10)
    np.testing.assert_allclose(found[3], _slopes(*points), rtol=1e-11)


def test_vmap_is_a_loop(x64):
    x = np.linspace(-4, 0.99, 7)
    mapped = laminax.vmap(lambda x: hyp2f1(0.7, 1.3, 2.6, x))(x)
    np.testing.assert_allclose(mapped, [hyp2f1(0.7, 1.3, 2.6, float(v)) for v in x], rtol=1e-13)
    assert hyp2f1(jnp.ones((0, 1)), 1.0, 2.0, jnp.ones(3)).shape == (0, 3)


def test_complex_arguments_are_refused():
    with pytest.raises(TypeError, match="hyp2f1: c must be real, got .*complex arguments are not supported"):
        hyp2f1(1.0, 1.0, 1j, 0.5)
