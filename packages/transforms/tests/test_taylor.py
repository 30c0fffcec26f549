"""Taylor mode against repeated forward mode, and against the series of textbooks."""

from __future__ import annotations

import math

import numpy as np
import pytest

from laminax_ir.ops import (
    calls,
    contraction,
    control_flow,
    convolution,
    cumulative,
    fft,
    indexing,
    loops,
    reduction,
    shape,
    slicing,
    special,
    stacking,
    windows,
)
from laminax_ir.ops import elementwise as op
from laminax_ir.options import config
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_transforms import checkpoint, custom_jvp, custom_vjp, grad, jvp, stop_gradient, vmap
from laminax_transforms.taylor.taylor import jet

ORDER = 4


@pytest.fixture(autouse=True)
def x64():
    with config.enable_x64(True):
        yield


def repeated_jvp(function, primals, series):
    """The derivatives of function(x(t)) at 0, where x(t) is the polynomial with these derivatives."""
    def along(t):
        args = []
        for x, terms in zip(primals, series):
            value = x
            for n, term in enumerate(terms, 1):
                value = op.add(value, op.mul(op.mul(op.integer_pow(t, n), 1 / math.factorial(n)), term))
            args.append(value)
        return function(*args)

    derivatives = [along]
    for _ in series[0]:
        derivatives.append(lambda t, f=derivatives[-1]: jvp(f, (t,), (np.float64(1.0),))[1])
    return [np.asarray(f(np.float64(0.0))) for f in derivatives]


def check(function, *primals, order=ORDER, rtol=1e-9, atol=1e-9):
    rng = np.random.default_rng(1)
    primals = [np.asarray(x) for x in primals]
    series = [[0.5 * rng.normal(size=x.shape).astype(x.dtype) for _ in range(order)] for x in primals]
    result, terms = jet(function, primals, series)
    expected = repeated_jvp(function, primals, series)
    assert len(terms) == order
    for found, wanted in zip([result, *terms], expected):
        assert np.asarray(found).dtype == wanted.dtype and np.shape(found) == wanted.shape
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


X = np.array([0.4, -0.7, 0.2])
POSITIVE = np.array([0.3, 1.7, 2.2])

UNARY = [(f, X) for f in (
    op.exp, op.exp2, op.expm1, op.sin, op.cos, op.tan, op.tanh, op.sinh, op.cosh, op.logistic, op.log1p, op.asin, op.acos, op.atan,
    op.asinh, op.atanh, op.square, op.abs, op.sign, op.floor, op.neg, special.erf, special.erfc, special.erf_inv)]
UNARY += [(f, POSITIVE) for f in (op.log, op.sqrt, op.rsqrt, op.cbrt, special.lgamma, special.digamma)] + [(op.acosh, POSITIVE + 1)]


@pytest.mark.parametrize("function, x", UNARY, ids=[f.__name__ for f, _ in UNARY])
def test_functions_of_one_operand(function, x):
    check(function, x)


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 3, 7])
def test_whole_powers(n):
    check(lambda x: op.integer_pow(x, n), X)
    if n >= 0:
        check(lambda x: op.pow(x, float(n)), np.array([-0.3, 1.5]))
        found, terms = jet(lambda x: op.pow(x, float(n)), (0.0,), ((1.0, 0.0, 0.0, 0.0),))  # t**n
        np.testing.assert_array_equal([found, *terms], [math.factorial(n) * (k == n) for k in range(5)])


ARITHMETIC = [op.add, op.sub, op.mul, op.div, op.atan2, op.rem, op.max, op.min, op.pow]


@pytest.mark.parametrize("function", ARITHMETIC, ids=lambda f: f.__name__)
def test_functions_of_two_operands(function):
    y = np.array([1.1, 0.6, 0.9])
    check(function, POSITIVE, y)
    check(lambda x: function(x, y), POSITIVE)
    check(lambda x: function(y, x), POSITIVE)
    check(lambda x, y: function(x, y), POSITIVE, np.float64(0.8))  # a scalar beside an array


@pytest.mark.parametrize("function", [
    lambda x: op.exp(op.complex(x, op.sin(x))), lambda x: op.abs(op.complex(x, op.exp(x))), lambda x: op.sign(op.complex(x, op.exp(x))),
    lambda x: op.imag(op.log(op.conj(op.complex(op.cos(x), x)))), lambda x: op.real(fft.fft(op.complex(x, op.square(x)), "FFT", (3,))),
], ids=["exp", "abs", "sign", "parts", "fft"])
def test_complex(function):
    check(function, X)


def _conditional(x):
    """Each branch is taken in some round; one of them returns a result that does not vary."""
    branches = (lambda c: (op.sin(c), op.exp(c)), lambda c: (op.mul(c, 2.0), np.full(3, 7.0)), lambda c: (op.div(1.0, c), op.mul(c, M[0])))
    return loops.scan(lambda c, i: control_flow.switch(i, branches, c), x, np.array([0, 1, 2]))[1]


def _call(x, y):
    """A jit call, with an operand and a result that do not vary, and one result that is an operand."""
    program = stage(lambda x, y, z: [op.sin(op.mul(x, z)), x, op.exp(z), op.mul(x, y)], [get_aval(v) for v in (x, y, M[0])], "program")
    first, second, third, fourth = calls.call_jaxpr(program, x, y, M[0], name="program")
    return op.add(op.mul(first, second), op.mul(third, fourth))


def _loop(x, y):
    def step(carry, row):
        count, state, steady = carry
        state = op.add(op.sin(op.mul(state, row)), y)
        return (op.add(count, 1), state, steady), (op.exp(state), steady)
    (_, state, steady), (ys, rest) = loops.scan(step, (0, y, np.float64(2.0)), x)
    return op.add(op.mul(state, steady), op.add(ys, rest))


def _indexing(x):
    indices = np.array([[2], [0], [7]])
    numbers = indexing.GatherDimensionNumbers((), (0,), (0,))
    read = indexing.gather(op.sin(x), indices, numbers, (1,), mode="fill", fill_value=5.0)
    return indexing.scatter_add(op.cos(x), indices, op.exp(read), indexing.ScatterDimensionNumbers((), (0,), (0,)))


M = np.random.default_rng(0).normal(size=(3, 3))
PROGRAMS = {
    "dot": (lambda x, y: contraction.dot_general(op.sin(x), y, (((1,), (0,)), ((), ()))), M, M.T + 1),
    "dot with a constant": (lambda x: contraction.dot_general(M, op.sin(x), (((1,), (0,)), ((), ()))), X),
    "convolution": (lambda x, y: convolution.conv_general_dilated(x, op.sin(y), (1,), "SAME"), M.reshape(1, 1, 9), X.reshape(1, 1, 3)),
    "shapes": (lambda x: shape.pad(shape.concatenate([shape.transpose(op.exp(x), (1, 0)), shape.rev(x, (0,))], 0), 1.0,
                                   [(1, 0, 0), (0, 1, 1)]), M),
    "stack": (lambda x: stacking.stack([op.sin(x), np.ones(3)], 0), X),
    "sum": (lambda x: reduction.reduce_sum(op.exp(x), (1,)), M),
    "product": (lambda x: reduction.reduce_prod(op.sin(x), (0,)), M),
    "product at zeros": (lambda x: reduction.reduce_prod(x, (0,)), np.array([0.0, 2.0, 0.0, 3.0])),
    "maximum": (lambda x: reduction.reduce_max(op.sin(x), (1,)), M),
    "minimum": (lambda x: reduction.reduce_min(op.sin(x), (0, 1)), M),
    "cumulative sum": (lambda x: cumulative.cumsum(op.sin(x), 1), M),
    "cumulative product": (lambda x: cumulative.cumprod(op.sin(x), 0, reverse=True), M),
    "cumulative maximum": (lambda x: cumulative.cummax(op.sin(x), 1), M),
    "cumulative minimum": (lambda x: cumulative.cummin(op.sin(x), 1), M),
    "slices": (lambda x: slicing.dynamic_update_slice(op.exp(x), slicing.dynamic_slice(op.sin(x), (1, 0), (2, 1)), (0, 2)), M),
    "indexing": (_indexing, X),
    "window": (lambda x: windows.reduce_window(op.sin(x), 0.0, op.add, (2,), (1,), "VALID"), X),
    "select": (lambda x: op.select(op.gt(x, 0.0), op.exp(x), np.full(3, 2.0)), X),
    "clamp": (lambda x, y: op.clamp(y, op.mul(x, 2.0), np.float64(0.5)), X, np.float64(-0.6)),
    "weak and strong": (lambda x: op.add(op.mul(2.0, x), op.div(1.0, op.convert_element_type(x, np.float64))), X),
    "cond": (_conditional, X),
    "call": (_call, X, POSITIVE),
    "scan": (_loop, X, np.float64(0.3)),
    "checkpoint": (checkpoint(lambda x: op.sin(op.exp(x))), X),
    "vmap inside": (vmap(lambda x: contraction.dot_general(M, op.sin(x), (((1,), (0,)), ((), ())))), M),
    "grad inside": (grad(lambda x: reduction.reduce_sum(op.sin(op.exp(x)), (0,))), X),
    "jvp inside": (lambda x: jvp(op.sin, (op.exp(x),), (x,))[1], X),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    function, *primals = PROGRAMS[name]
    check(function, *primals, order=3)


def test_textbook_series():
    """Taylor coefficients at 0: Abramowitz and Stegun 4.2.1, 4.3.67, 4.5.64, 4.1.24, and the geometric series."""
    def coefficients(function, at=0.0, count=8):
        first, terms = jet(function, (np.float64(at),), ([1.0] + [0.0] * (count - 1),), factorial_scaled=False)
        return np.array([first, *terms])

    k = np.arange(9)
    factorials = np.array([math.factorial(n) for n in k], float)
    np.testing.assert_allclose(coefficients(op.exp), 1 / factorials, rtol=1e-14)
    np.testing.assert_allclose(coefficients(op.tan), [0, 1, 0, 1 / 3, 0, 2 / 15, 0, 17 / 315, 0], rtol=1e-14)
    np.testing.assert_allclose(coefficients(op.tanh), [0, 1, 0, -1 / 3, 0, 2 / 15, 0, -17 / 315, 0], rtol=1e-14)
    np.testing.assert_allclose(coefficients(op.log1p)[1:], (-1.0) ** (k[1:] + 1) / k[1:], rtol=1e-14)
    np.testing.assert_allclose(coefficients(lambda x: op.div(1.0, op.sub(1.0, x))), np.ones(9), rtol=1e-14)
    np.testing.assert_allclose(coefficients(op.sqrt, at=1.0), [math.prod((0.5 - j) / (j + 1) for j in range(n)) for n in k], rtol=1e-13)
    np.testing.assert_allclose(coefficients(special.lgamma, at=1.0)[1:4],
                               [-np.euler_gamma, math.pi ** 2 / 12, -1.2020569031595942854 / 3], rtol=1e-12)  # 6.1.33


def test_faa_di_bruno():
    """sin of z**3: the second derivative of f(h) is f''(h) h'**2 + f'(h) h''."""
    z = 0.5
    h, h_1, h_2 = z ** 3, 3 * z ** 2, 6 * z
    first, (second, third) = jet(op.sin, (h,), ((h_1, h_2),))
    expected = [math.sin(h), math.cos(h) * h_1, -math.sin(h) * h_1 ** 2 + math.cos(h) * h_2]
    np.testing.assert_allclose([first, second, third], expected, rtol=1e-14)
    _, unscaled = jet(op.sin, (h,), ((h_1, h_2 / 2),), factorial_scaled=False)
    np.testing.assert_allclose(unscaled, [second, third / 2], rtol=1e-14)


def test_ties_and_kinks():
    terms = ((1.0, 3.0),)
    assert [float(t) for t in jet(lambda x: op.max(x, op.mul(2.0, x)), (0.0,), terms)[1]] == [1.5, 4.5]
    assert [float(t) for t in jet(op.abs, (0.0,), terms)[1]] == [1.0, 3.0]
    assert [float(t) for t in jet(stop_gradient, (0.0,), terms)[1]] == [0.0, 0.0]
    _, tied = jet(lambda x: reduction.reduce_max(x, (0,)), (np.array([2.0, 1.0, 2.0]),), ((np.array([1.0, 5.0, 3.0]),),))
    np.testing.assert_array_equal(tied, [2.0])


def test_functions_with_rules_of_their_own_are_expanded():
    @custom_jvp
    def sine(x):
        return op.sin(x)
    sine.defjvp(lambda primals, tangents: (op.sin(primals[0]), op.mul(0.0, tangents[0])))

    @custom_vjp
    def cosine(x):
        return op.cos(x)
    cosine.defvjp(lambda x: (op.cos(x), x), lambda x, ct: (op.mul(0.0, ct),))

    for function, derivatives in ((sine, [math.cos(0.3), -math.sin(0.3)]), (cosine, [-math.sin(0.3), -math.cos(0.3)])):
        np.testing.assert_allclose(jet(function, (0.3,), ((1.0, 0.0),))[1], derivatives, rtol=1e-14)
        inside = jet(lambda x: loops.scan(lambda c, _: (function(c), ()), x, None, length=1)[0], (0.3,), ((1.0, 0.0),))
        np.testing.assert_allclose(inside[1], derivatives, rtol=1e-14)


def test_composed_with_other_transformations():
    def third(x):
        return jet(op.sin, (x,), ((1.0, 0.0, 0.0),))[1][2]
    np.testing.assert_allclose(third(0.4), -math.cos(0.4), rtol=1e-14)
    np.testing.assert_allclose(grad(third)(0.4), math.sin(0.4), rtol=1e-14)
    np.testing.assert_allclose(jvp(third, (0.4,), (2.0,))[1], 2 * math.sin(0.4), rtol=1e-14)
    np.testing.assert_allclose(vmap(vmap(third))(M), -np.cos(M), rtol=1e-13)
    nested = jet(lambda x: op.mul(third(x), x), (0.4,), ((1.0, 0.0),))[1]
    np.testing.assert_allclose(nested, [0.4 * math.sin(0.4) - math.cos(0.4), 2 * math.sin(0.4) + 0.4 * math.cos(0.4)], rtol=1e-13)


def test_structures_and_constants():
    results, series = jet(lambda x, y: {"product": op.mul(x, y),
                                        "constant": (np.ones(2), 3, op.convert_element_type(op.floor(x), np.int64))},
                          [np.float64(2.0), np.float64(3.0)], [[1.0, 0.0], [0.0, 1.0]])
    assert [float(t) for t in series["product"]] == [3.0, 2.0]
    np.testing.assert_array_equal(series["constant"][0], np.zeros((2, 2)))
    for values in series["constant"][1:]:  # integers do not vary; their derivatives are floating-point zeros
        assert [(np.asarray(v).dtype, float(v)) for v in values] == [(np.float64, 0.0)] * 2
    assert int(results["constant"][2]) == 2
    assert jet(op.sin, (0.5,), ((),))[1] == []
    value, terms = jet(lambda x: op.sin(op.convert_element_type(x, np.float32)), (2,), ((1, 0),))  # an integer argument
    np.testing.assert_allclose(terms, [math.cos(2), -math.sin(2)], rtol=1e-6)  # float32
    assert np.asarray(value).dtype == np.float32


@pytest.mark.parametrize("call, error, message", [
    (lambda: jet(op.sin, (1.0,), ()), ValueError, "1 primals and 0 series"),
    (lambda: jet(op.sin, (), ()), ValueError, "inconsistent lengths"),
    (lambda: jet(op.add, (1.0, 1.0), ((1.0,), ())), ValueError, r"inconsistent lengths for different arguments: \[1, 0\]"),
    (lambda: jet(op.sin, 1.0, ((1.0,),)), TypeError, "primals must be a tuple or list"),
    (lambda: jet(op.sin, (1.0,), (1.0,)), TypeError, r"series\[0\] must be a tuple or list"),
    (lambda: jet(op.sin, ({"a": 1.0},), ((1.0,),)), ValueError, "primal value at position 0 is not an array"),
    (lambda: jet(op.sin, (1.0,), (([1.0],),)), ValueError, "term 0 for argument 0 is not an array"),
    (lambda: jet(op.sin, ("x",), ((1.0,),)), TypeError, "primal value at position 0 is not an array of numbers, got 'x'"),
    (lambda: jet(op.sin, (np.ones(2),), ((1.0,),)), ValueError, r"term 0 for argument 0 has shape \(\), its primal \(2,\)"),
    (lambda: jet(op.sin, (1.0,), ((1j,),)), TypeError, "term 0 for argument 0 is complex"),
    (lambda: jet(op.neg, (2,), ((1.0,),)), TypeError, "neg of .*, an integer that varies"),
    (lambda: jet(lambda x: "text", (1.0,), ((1.0,),)), TypeError, "the function returned 'text'"),
    (lambda: jet(cumulative.cumlogsumexp, (X,), ((X,),)), NotImplementedError, "'cumlogsumexp' not implemented"),
    (lambda: jet(lambda x: loops.while_loop(lambda c: op.lt(c, 3.0), lambda c: op.mul(c, 2.0), x), (1.0,), ((1.0,),)),
     NotImplementedError, "'while' not implemented"),
])
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()
