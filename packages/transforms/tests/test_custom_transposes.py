"""`linear_call` and `custom_transpose`: transposes are the given functions, derivatives and batches those of what they say."""

from __future__ import annotations

import numpy as np
import pytest
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.contraction import dot
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.shape import expand_dims
from laminax_ir.ops.slicing import slice_in_dim
from laminax_ir.options.config import check_leaks, enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_transforms import custom_jvp, grad, jvp, linear_call, linear_transpose, linearize, vjp, vmap
from laminax_transforms.custom.custom_transposes import custom_transpose

MATRIX = np.arange(6.0).reshape(2, 3) - 2


@pytest.fixture(autouse=True)
def x64():
    with enable_x64():
        yield


def product(a, x):
    """The matrix product, with its transpose given."""
    return linear_call(lambda a, x: dot(a, x), lambda a, ct: dot(ct, a), a, x)


def identity_with_transpose_of_seven(x):
    return linear_call(lambda _, x: x, lambda _, ct: np.float64(7), (), x)


def transposed(fun, example):
    return lambda ct: linear_transpose(fun, example)(ct)[0]


def jit(fun):
    return lambda *args: call_jaxpr(stage(lambda *xs: [fun(*xs)], [get_aval(x) for x in args]), *args, name="f")[0]


def test_the_call_is_the_function():
    x = np.array([1.0, -1.0, 2.0])
    np.testing.assert_array_equal(product(MATRIX, x), MATRIX @ x)
    closed = stage(lambda a, x: [product(a, x)], [get_aval(MATRIX), get_aval(x)])
    assert [str(eqn.primitive) for eqn in closed.eqns] == ["linear_call"]
    np.testing.assert_array_equal(evaluate(closed, MATRIX, x)[0], MATRIX @ x)


def test_every_transposition_changes_to_the_other_function():
    once = transposed(identity_with_transpose_of_seven, 1.0)
    twice = transposed(once, 1.0)
    assert (float(once(1.0)), float(twice(1.0)), float(transposed(twice, 1.0)(1.0))) == (7.0, 1.0, 7.0)


@pytest.mark.parametrize("wrap", [lambda f: f, jit, lambda f: jit(jit(f))], ids=["plain", "jit", "jit of jit"])
def test_derivatives(wrap):
    """With respect to residuals too, which the function as it is written decides."""
    check_derivatives(wrap(product), MATRIX, np.array([1.0, -1.0, 2.0]))
    check_derivatives(wrap(lambda x: product(MATRIX, op.sin(x))), np.array([1.0, -1.0, 2.0]))
    assert grad(wrap(lambda x: identity_with_transpose_of_seven(op.square(x))))(3.0) == 42.0
    np.testing.assert_array_equal(linearize(wrap(lambda x: product(MATRIX, x)), np.ones(3))[1](np.ones(3)), MATRIX.sum(1))


def test_vmap_is_the_loop():
    xs = np.arange(12.0).reshape(4, 3)
    matrices = MATRIX + np.arange(4.0)[:, None, None]
    check_vmap(product, (matrices, xs), (0, 0))
    check_vmap(product, (MATRIX, xs.T), (None, 1))
    check_vmap(product, (matrices, xs[0]), (0, None))
    check_vmap(lambda a, x: grad(lambda x: reduce_sum(op.sin(product(a, x)), (0,)))(x), (matrices, xs), (0, 0))


def test_the_transpose_of_a_batch_is_the_given_function():
    def batch(x):
        return vmap(identity_with_transpose_of_seven)(x)
    np.testing.assert_array_equal(vjp(batch, np.ones(3))[1](np.ones(3))[0], [7, 7, 7])
    np.testing.assert_array_equal(vmap(transposed(identity_with_transpose_of_seven, 1.0))(np.ones(3)), [7, 7, 7])


def test_both_functions_may_close_over_values():
    def fun(scale, x):
        return linear_call(lambda _, x: x * scale, lambda _, ct: ct * scale, (), x)
    with check_leaks(True):
        assert grad(lambda s: grad(lambda x: fun(s, x) * x)(2.0))(3.0) == 4.0  # d/ds 2 s x
        assert jvp(fun, (3.0, 2.0), (1.0, 0.0)) == (6.0, 2.0)


def test_pytrees_and_several_results():
    def fun(r, x):
        return {"sum": x["a"] + x["b"], "scaled": x["a"] * r}

    def fun_transpose(r, ct):
        return {"a": ct["sum"] + ct["scaled"] * r, "b": ct["sum"]}

    (ct,) = vjp(lambda x: linear_call(fun, fun_transpose, 3.0, x), {"a": 1.0, "b": 2.0})[1]({"sum": 1.0, "scaled": 10.0})
    assert ct == {"a": 31.0, "b": 1.0}
    # only one of the linear arguments is differentiated
    assert grad(lambda a: linear_call(fun, fun_transpose, 3.0, {"a": a, "b": 2.0})["scaled"])(1.0) == 3.0


@pytest.mark.parametrize("fun_transpose, error, message", [
    (lambda r, ct: (ct, ct), TypeError, "transpose output pytree .*<lambda> returns a result that is a tuple.*, linear_args is a dict with "
                                        "keys "),
    (lambda r, ct: {"x": slice_in_dim(ct, 0, 1)}, ValueError, r"<lambda> returns f64\[1\] for linear_args\['x'\], which is f64\[3\]"),
    (lambda r, ct: {"x": op.convert_element_type(ct, np.float32)}, ValueError, r"returns f32\[3\] for .*, which is f64\[3\]"),
    (lambda r, ct: {"x": "text"}, TypeError, "the result of <lambda>.*is not an array"),
])
def test_a_transpose_that_does_not_fit(fun_transpose, error, message):
    with pytest.raises(error, match=message):
        grad(lambda x: reduce_sum(linear_call(lambda r, x: x["x"], fun_transpose, (), {"x": x}), (0,)))(np.ones(3))


def test_residuals_are_not_transposed():
    with pytest.raises(TypeError, match="linear_call: <lambda> cannot be transposed with respect to its residual arguments"):
        linear_transpose(lambda r: linear_call(lambda r, x: x * r, lambda r, ct: ct * r, r, 2.0), 1.0)(1.0)


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="linear_call: Expected a callable value, got 3"):
        linear_call(lambda r, x: x, 3, (), 1.0)
    with pytest.raises(TypeError, match=r"linear_call: linear_args\['w'\] is not an array: got 'a'"):
        grad(lambda x: linear_call(lambda r, x: x, lambda r, x: x, x, {"w": "a"}))(1.0)


def test_a_transpose_may_be_recursive():
    """It is traced when the call is transposed: it was at once, again and again."""
    def fun(x):
        return linear_call(lambda _, x: 2.0 * x, lambda _, ct: fun(ct) + ct, (), x)

    assert float(jit(fun)(3.0)) == 6
    assert [float(f(1.0)) for f in (transposed(fun, 1.0), transposed(transposed(fun, 1.0), 1.0))] == [3, 2]


# custom_transpose

F64 = ShapedArray((), np.dtype(float))


def levels(fun, count=4):
    """What a function of 1 is, what its transpose is, the transpose of that, ..."""
    for _ in range(count):
        yield float(fun(1.0))
        fun = transposed(fun, 1.0)


def batch_of_one(fun):
    return lambda x: reduce_sum(vmap(fun)(expand_dims(x, (0,))), (0,))


@pytest.mark.parametrize("wrap", [lambda f: f, jit, batch_of_one], ids=["plain", "jit", "vmap"])
def test_the_transpose_is_what_was_given(wrap):
    plain, decorated = custom_transpose(lambda c, x: c * x), custom_transpose(lambda c, x: c * x)
    plain.def_transpose(lambda c, ct: (c + 1.0) * ct)

    @decorated.def_transpose
    @custom_transpose
    def first(c, ct):
        return (c + 5.0) * ct

    first.def_transpose(lambda c, ct: 7.0 * ct)
    recursive = custom_transpose(lambda c, x: c * x)
    recursive.def_transpose(lambda c, ct: recursive(F64, c + 1.0, ct))
    found = [list(levels(wrap(lambda x: f(F64, 2.0, x)))) for f in (plain, decorated, recursive)]  # noqa: B023
    assert found == [[2, 3, 3, 3], [2, 7, 7, 7], [2, 3, 4, 5]]


def test_a_derivative_rule_with_a_transpose_of_its_own():
    tangent = custom_transpose(lambda x, x_dot: op.cos(x) * x_dot)
    tangent.def_transpose(lambda x, ct: 10.0 * op.cos(x) * ct)
    sine = custom_jvp(lambda x: op.sin(x))
    sine.defjvp(lambda primals, tangents: (sine(*primals), tangent(F64, *primals, *tangents)))
    with check_leaks(True):
        assert float(jvp(sine, (0.5,), (1.0,))[1]) == np.cos(0.5) and float(grad(jit(sine))(0.5)) == 10 * np.cos(0.5)
    np.testing.assert_allclose(vmap(grad(sine))(np.ones(3)), 10 * np.cos(np.ones(3)))


def test_pytrees_with_none():
    f = custom_transpose(lambda r, x: [x["a"] * r, x["a"]])
    f.def_transpose(lambda r, cts: {"a": 100.0 * cts[0], "b": None})
    assert float(grad(lambda a: f([F64, F64], 3.0, {"a": a, "b": None})[0])(1.0)) == 100


def test_custom_transpose_checks_what_it_gets():
    f = custom_transpose(lambda r, x: x)
    with pytest.raises(AttributeError, match="No transpose defined for custom_transpose function <lambda> using def_transpose"):
        f(F64, (), 1.0)
    f.def_transpose(lambda r, ct: (ct, ct))
    with pytest.raises(TypeError, match=r"out_types says that the result is f64\[2\], but it is f64\[\]"):
        f(ShapedArray((2,), np.dtype(float)), (), 1.0)
    with pytest.raises(TypeError, match="custom_transpose: the transpose output pytree must be that of the linear arguments"):
        grad(lambda x: f(F64, (), x))(1.0)
