"""Taylor-mode rules that users give to their own operations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from laminax_ir.programs.primitive import Primitive

import laminax
from laminax import lax
from laminax.experimental import jet as taylor
from laminax.extend.core import Primitive as UserPrimitive
from laminax.interpreters import mlir


def made(name, function, count=1):
    """An operation of one's own that computes a function."""
    primitive = UserPrimitive(name)
    primitive.def_abstract_eval(lambda *avals: avals[0])
    primitive.def_impl(function)
    mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=False))
    return primitive


def derivatives(primitive, x, order=4):
    """The derivatives of an operation at a point: its series along x + t."""
    value, terms = taylor.jet(primitive.bind, (x,), ([1.0, *[0.0] * (order - 1)],))
    return [float(value), *map(float, terms)]


SINE = [f(0.7) for f in (math.sin, math.cos, lambda x: -math.sin(x), lambda x: -math.cos(x), math.sin)]


def test_by_a_first_derivative():
    wave = made("wave_by_derivative", lax.sin)
    taylor.def_deriv(wave, lax.cos)
    np.testing.assert_allclose(derivatives(wave, 0.7), SINE, rtol=1e-5)


def test_by_a_composition():
    wave = made("wave_by_composition", lax.sin)
    taylor.def_comp(wave, lambda x, shift: lax.cos(x - shift), shift=math.pi / 2)
    np.testing.assert_allclose(derivatives(wave, 0.7), SINE, rtol=1e-4)


def test_linear_and_constant_ones():
    twice = made("twice_in_jet", lambda x: x * 2)
    taylor.deflinear(twice)
    assert derivatives(twice, 3.0) == [6, 2, 0, 0, 0]
    below = made("below_in_jet", lax.floor)
    taylor.defzero(below)
    assert derivatives(below, 3.5) == [3, 0, 0, 0, 0]


def test_a_rule_of_coefficients():
    """x exp(x), by the coefficients of exp."""
    product = made("product_in_jet", lambda x: x * lax.exp(x))

    def rule(primals_in, series_in):
        (x,), (terms,) = primals_in, series_in
        y, ys = taylor.jet_rules[lax.exp_p](primals_in, series_in)
        xs, ys = [x, *terms], [y, *ys]
        first, *rest = [sum(xs[j] * ys[k - j] for j in range(k + 1)) for k in range(len(xs))]
        return first, rest

    taylor.jet_rules[product] = rule
    assert taylor.jet_rules[product] is rule and isinstance(product, Primitive)
    np.testing.assert_allclose(derivatives(product, 0.5), [(0.5 + k) * math.exp(0.5) for k in range(5)], rtol=1e-5)
    jitted = laminax.jit(lambda x: taylor.jet(product.bind, (x,), ([1.0, 0.0],)))
    np.testing.assert_allclose(jitted(0.5)[1], [1.5 * math.exp(0.5), 2.5 * math.exp(0.5)], rtol=1e-5)


def test_zeros_in_a_rule():
    square = made("square_in_jet", lambda x: x * x)
    zeros = [taylor.zero_term, taylor.zero_term]
    taylor.jet_rules[square] = lambda primals, series: (primals[0] ** 2, [2 * primals[0] * series[0][0], *zeros])
    assert derivatives(square, 3.0, 3) == [9, 6, 0, 0]
    taylor.jet_rules[square] = lambda primals, series: (primals[0] ** 2, taylor.zero_series)
    assert derivatives(square, 3.0, 3) == [9, 0, 0, 0]
    taylor.jet_rules[square] = lambda primals, series: (primals[0] ** 2, [])
    with pytest.raises(ValueError, match="rule of square_in_jet returned 0 coefficients, and there must be 3"):
        derivatives(square, 3.0, 3)


def test_factorials():
    np.testing.assert_allclose([taylor.fact(n) for n in range(6)], [1, 1, 2, 6, 24, 120], rtol=1e-5)
