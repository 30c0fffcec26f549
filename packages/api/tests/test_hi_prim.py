"""Operations of one's own with all their rules: each rule is asked for where it is needed, and gives the derivative that it says."""

import numpy as np
import pytest

import laminax
from laminax import lax
from laminax import numpy as jnp
from laminax.ad import DidntWant, DontWant
from laminax.experimental.hijax import (
    HiPrim,
    HiType,
    NullAccum,
    RefAccum,
    ValAccum,
    VJPHiPrimitive,
    Zero,
    bdims_at_front,
    instantiate_zeros,
    jvp_from_lin,
    linearize_from_jvp,
    unmap_avals,
    vjp_from_jvp,
    vjp_from_lin,
    vmap_rule,
)


class Unary(HiPrim):
    def __init__(self, aval, **params):
        self.in_avals, self.out_aval, self.params = (aval,), aval, params
        super().__init__()

    @classmethod
    def of(cls, x, **params):
        return cls(laminax.typeof(x), **params)(x)


class Power(Unary):  # every rule is the user's own
    def expand(self, x):
        return x ** self.power

    def slope(self, x):
        return self.power * x ** (self.power - 1)

    def jvp(self, primals, tangents):
        (x,), (dot,) = primals, tangents
        return self(x), self.slope(x) * dot

    def lin(self, nzs_in, x):
        assert nzs_in == (True,)
        return self(x), x

    def linearized(self, x, dot):
        return self.slope(x) * dot

    def vjp_fwd(self, nzs_in, x):
        return self(x), {"x": x}

    def vjp_bwd_retval(self, res, ct):
        return (7 * self.slope(res["x"]) * ct,)  # seven times too much, so that one can see whose rule is asked

    def batch(self, axis, args, axes):
        assert axis.size == 4
        return Power.of(args[0], power=self.power), axes[0]


def cube(x):
    return Power.of(x, power=3)


@pytest.mark.parametrize("transform", [lambda f: f, laminax.jit], ids=["eager", "jit"])
def test_each_transformation_asks_its_rule(transform):
    f, x, xs = transform(cube), 2.0, np.arange(4.0, dtype=np.float32)
    assert f(x) == 8
    assert laminax.jvp(f, (x,), (1.0,)) == (8, 12)
    assert laminax.grad(f)(x) == 7 * 12
    y, tangent = laminax.linearize(f, x)
    assert y == 8 and tangent(1.0) == 12
    np.testing.assert_allclose(laminax.vmap(f)(xs), xs**3)
    np.testing.assert_allclose(laminax.vmap(laminax.grad(f))(xs), 21 * xs**2)
    np.testing.assert_allclose(laminax.vmap(laminax.linearize(f, x)[1])(xs), 12 * xs)
    twice = transform(laminax.grad(lambda x: lax.scan(lambda x, _: (f(x), None), x, None, length=2)[0]))
    np.testing.assert_allclose(twice(1.5), 7 * 3 * 1.5**2 * 7 * 3 * 1.5**6)
    np.testing.assert_allclose(laminax.grad(laminax.checkpoint(f))(x), 7 * 12)


def test_an_equation_holds_the_operation():
    (eqn,) = laminax.make_jaxpr(cube)(2.0).eqns
    assert eqn.primitive.name == "call_hi_primitive" and str(eqn.params["operation"]) == "Power[power=3]"
    assert hash(Power(laminax.typeof(2.0), power=3)) == hash(Power(laminax.typeof(1.0), power=3))
    assert Power(laminax.typeof(2.0), power=3) == Power(laminax.typeof(1.0), power=3) != Power(laminax.typeof(1.0), power=2)


def test_expand_sees_numbers_where_nothing_is_traced():
    class Branch(Unary):
        def expand(self, x):
            return x if x > 0 else -x

    assert Branch.of(jnp.float32(-3.0)) == 3
    with pytest.raises(laminax.errors.TracerBoolConversionError):
        laminax.jit(Branch.of)(-3.0)


class Sine(Unary):
    def expand(self, x):
        return jnp.sin(x)

    def jvp(self, primals, tangents):
        (x,), (dot,) = primals, tangents
        return self(x), jnp.cos(x) * dot

    lin, linearized = linearize_from_jvp

    def batch_dim_rule(self, axis, axes):
        return axes[0]


class SineFromJVP(Sine):
    vjp_fwd, vjp_bwd_retval = vjp_from_jvp


class SineFromLin(Sine):
    vjp_fwd, vjp_bwd_retval = vjp_from_lin


@pytest.mark.parametrize("kind", [SineFromJVP, SineFromLin])
@pytest.mark.parametrize("transform", [lambda f: f, laminax.jit], ids=["eager", "jit"])
def test_derived_rules_are_those_of_sine_to_any_order(kind, transform):
    f, xs = transform(kind.of), np.linspace(-1, 2, 5, dtype=np.float32)
    np.testing.assert_allclose(laminax.grad(f)(0.3), np.cos(0.3), rtol=1e-6)
    np.testing.assert_allclose(laminax.grad(laminax.grad(f))(0.3), -np.sin(0.3), rtol=1e-6)
    np.testing.assert_allclose(laminax.hessian(f)(0.3), -np.sin(0.3), rtol=1e-6)
    np.testing.assert_allclose(laminax.linearize(f, 0.3)[1](2.0), 2 * np.cos(0.3), rtol=1e-6)
    np.testing.assert_allclose(laminax.vmap(laminax.grad(f))(xs), np.cos(xs), rtol=1e-6)
    np.testing.assert_allclose(laminax.vmap(laminax.vmap(f), in_axes=1)(np.stack([xs, 2 * xs])),
                               np.sin(np.stack([xs, 2 * xs], 1)), rtol=1e-6)
    np.testing.assert_allclose(laminax.grad(lambda x: laminax.vmap(f)(x).sum())(xs), np.cos(xs), rtol=1e-6)


def test_derived_rules_called_by_hand():
    for kind in (SineFromJVP, SineFromLin):
        x, dot = jnp.array([0.3, 0.4]), jnp.array([2.0, 3.0])
        expected = np.stack([np.sin(x), dot * np.cos(x)])
        sine = kind(laminax.typeof(x))
        result, residuals = sine.lin((True,), x)
        (saved,) = laminax.tree.leaves(residuals)  # values, so that they can be results of a compiled function
        np.testing.assert_allclose(saved, np.cos(x), rtol=1e-6)
        np.testing.assert_allclose([result, sine.linearized(residuals, dot)], expected, rtol=1e-6)
        result, residuals = sine.vjp_fwd((True,), x)
        np.testing.assert_allclose([result, *sine.vjp_bwd_retval(residuals, dot)], expected, rtol=1e-6)


def test_jvp_from_lin():
    class Scale(Unary):
        def expand(self, x):
            return 3 * x

        def lin(self, nzs_in, x):
            return self(x), 3.0

        def linearized(self, scale, dot):
            return scale * dot

        jvp = jvp_from_lin
        vjp_fwd, vjp_bwd_retval = vjp_from_lin

    assert laminax.jvp(Scale.of, (2.0,), (5.0,)) == (6, 15)
    assert laminax.grad(Scale.of)(2.0) == 3

    class Circle(Sine):
        jvp = jvp_from_lin

    with pytest.raises(TypeError, match="can't set both `jvp = jvp_from_lin`"):
        laminax.jvp(Circle.of, (2.0,), (5.0,))


class Product(VJPHiPrimitive):
    def __init__(self, x, y):
        self.in_avals, self.out_aval, self.params = (x, {"y": y}), [x], {}
        self.seen = []
        super().__init__()

    def expand(self, x, given):
        return [x * given["y"]]

    def jvp(self, primals, tangents):
        (x, given), (x_dot, given_dot) = primals, tangents
        self.seen.append((type(x_dot), type(given_dot["y"])))
        return self(x, given), [instantiate_zeros(x_dot) * given["y"] + x * instantiate_zeros(given_dot["y"])]

    def vjp_fwd(self, nzs_in, x, given):
        return self(x, given), (x, given["y"])

    def vjp_bwd(self, res, ct, x_accum, given_accum):
        self.seen.append((type(x_accum), type(given_accum["y"])))
        x, y = res
        x_accum.accum(ct[0] * y)
        given_accum["y"].accum(ct[0] * x)
        given_accum["y"].accum(None)
        return {"ct": ct[0]}


def test_pytrees_symbolic_zeros_accumulators_and_logs():
    product = Product(*map(laminax.typeof, (2.0, 3.0)))

    def f(x, y):
        return product(x, {"y": y})[0]

    assert laminax.grad(f)(2.0, 3.0) == 3 and laminax.grad(f, 1)(2.0, 3.0) == 2 and laminax.grad(f, (0, 1))(2.0, 3.0) == (3, 2)
    assert product.seen == [(ValAccum, NullAccum), (NullAccum, ValAccum), (ValAccum, ValAccum)]
    assert laminax.jvp(lambda x: f(x, 3.0), (2.0,), (1.0,)) == (6, 3)
    assert product.seen[-1][1] is Zero and product.seen[-1][0] is not Zero
    pullback = laminax.vjp(f, 2.0, 3.0)[1]
    assert pullback.with_logs(5.0) == ((15, 10), {"ct": 5})
    total = laminax.new_ref(1.0)
    (_, y_ct), logs = pullback.with_logs.with_refs(total, DontWant())(5.0)
    assert total[...] == 16 and y_ct == DidntWant() and logs == {"ct": 5}
    with pytest.raises(TypeError, match="forward-mode"):
        laminax.linearize(f, 2.0, 3.0)[1](1.0, 1.0)


def test_results_without_tangents_and_structured_residuals():
    class Square(Unary):
        def expand(self, x):
            return x * x

        def vjp_fwd(self, nzs_in, x):
            return self(x), 2.0, True, {"x": x}

        def vjp_bwd(self, two, saved, ct, accum):
            accum.accum(two * saved["x"] * ct)

    class Constant(Square):
        def vjp_fwd(self, nzs_in, x):
            return self(x), None, False

        def vjp_bwd(self, res, ct, accum):
            assert isinstance(ct, Zero)

    class Short(Square):
        vjp_bwd = HiPrim.vjp_bwd

    assert laminax.grad(Square.of)(3.0) == 6 and laminax.grad(Constant.of)(3.0) == 0
    with pytest.raises(TypeError, match="Short returned structured residuals"):
        laminax.grad(Short.of)(3.0)


def test_a_linear_operation_is_transposed_by_its_rule_or_by_its_program():
    class Double(Unary):
        def expand(self, x):
            return 2 * x

        def jvp(self, primals, tangents):
            return self(*primals), self(*tangents)

    class Odd(Double):
        def transpose(self, ct, accum):
            accum.accum(5 * ct)
            return {"odd": ct}

    assert laminax.grad(Double.of)(3.0) == 2
    pullback = laminax.vjp(Odd.of, 3.0)[1]
    assert pullback.with_logs(1.0) == ((5,), {"odd": 1})


def test_helpers_of_batching_rules():
    class Times(Product):
        def batch(self, axis, args, axes):
            assert laminax.tree.map(lambda a: a.shape, unmap_avals(axis, self.in_avals, axes)) == ((3,), {"y": (3,)})
            x, given = bdims_at_front(axis, args, axes)
            return vmap_rule(axis, self.expand, 0, [1])(x, given), [0]

    x, y = np.arange(3.0, dtype=np.float32), np.float32(2.0)
    with pytest.raises(AssertionError):  # y is not mapped
        laminax.vmap(lambda x: Times(laminax.typeof(x), laminax.typeof(y))(x, {"y": y}))(x)
    rule = laminax.vmap(lambda x, y: Times(laminax.typeof(x), laminax.typeof(y))(x, {"y": y})[0])
    np.testing.assert_allclose(rule(x, x + 1), x * (x + 1))


def test_zeros_go_through_vmap_rule():
    class Passed(Unary):
        def expand(self, x):
            return x

        def batch(self, axis, args, axes):
            zero = Zero(laminax.typeof(args[0]))

            def one(x, zero):
                assert isinstance(zero, Zero) and zero.aval.shape == ()
                return 2 * x, zero

            out, out_zero = vmap_rule(axis, one, (axes[0], axes[0]), (0, 0))(args[0], zero)
            assert out_zero.aval.shape == (3,)
            return out, 0

    np.testing.assert_allclose(laminax.vmap(Passed.of)(jnp.arange(3.0)), [0, 2, 4])


def test_vmap_rule_sums_where_results_are_not_mapped():
    class Total(Unary):
        def expand(self, x):
            return x

        def batch(self, axis, args, axes):
            return vmap_rule(axis, lambda x: x, axes, None, sum_match=True)(*args), None

    np.testing.assert_allclose(laminax.vmap(Total.of, out_axes=None)(jnp.arange(4.0)), 6)
    accum = RefAccum(laminax.typeof(1.0))
    assert isinstance(accum.freeze(), Zero)
    assert accum.inst().ref[...] == 0
    accum.accum(2.0)
    assert accum.freeze() == 2


def test_writes_to_references():
    class SquareInPlace(HiPrim):
        def __init__(self, aval):
            self.in_avals, self.out_aval, self.params = (aval,), None, {}
            super().__init__()

        def expand(self, ref):
            ref[...] = ref[...] ** 2

    ref = laminax.new_ref(3.0)
    SquareInPlace(laminax.typeof(ref))(ref)
    assert ref[...] == 9
    laminax.jit(lambda: SquareInPlace(laminax.typeof(ref))(ref))()
    assert ref[...] == 81


def test_what_is_wrong_is_said():
    class Bare(Unary):
        pass

    aval = laminax.typeof(1.0)
    for call, kind, message in [
        (lambda: HiPrim(), AttributeError, "should set `self.in_avals`"),
        (lambda: Bare.of(1.0), NotImplementedError, "Bare must implement `expand`"),
        (lambda: laminax.jvp(NoDerivative.of, (1.0,), (1.0,)), NotImplementedError, "for jvp support, subclass NoDerivative"),
        (lambda: laminax.grad(NoDerivative.of)(1.0), NotImplementedError, "vjp_from_jvp"),
        (lambda: laminax.vmap(NoDerivative.of)(jnp.ones(3)), NotImplementedError, "for vmap support, subclass NoDerivative"),
        (lambda: Sine(aval)([1.0]), TypeError, "structure of in_avals"),
        (lambda: Sine(aval)("x"), TypeError, r"the operand args\[0\] is not an array"),
        (lambda: Sine(HiType())(1.0), TypeError, "operand 0 must be of the type .*HiType"),
        (lambda: Sine("f32[]")(1.0), TypeError, "in_avals and out_aval must be types"),
        (lambda: Wrong.of(1.0), TypeError, "Wrong.expand must return results with the structure of out_aval"),
        (lambda: laminax.grad(WrongForward.of)(1.0), TypeError, "WrongForward.vjp_fwd must return the results and the residuals"),
        (lambda: linearize_from_jvp(), TypeError, "`linearize_from_jvp` is a pair of rules"),
        (lambda: RefAccum(aval).accum(jnp.ones(2)) or ValAccum(aval, jnp.ones(2)), ValueError, "Expected cotangent type"),
    ]:
        with pytest.raises(kind, match=message):
            call()


class NoDerivative(Unary):
    def expand(self, x):
        return x


class Wrong(Unary):
    def expand(self, x):
        return [x]


class WrongForward(NoDerivative):
    def vjp_fwd(self, nzs_in, x):
        return x


def test_closing_over_what_is_differentiated_or_mapped_is_refused():
    def f(y):
        class Close(Unary):
            def expand(self, x):
                return x * y

            def jvp(self, primals, tangents):
                return primals[0], tangents[0]

            def batch(self, axis, args, axes):
                return args[0], axes[0]

        return Close.of(1.0)

    with pytest.raises(Exception, match="closed-over value"):
        laminax.jit(laminax.grad(f))(2.0)
    with pytest.raises(NotImplementedError, match="closes over a mapped value"):
        laminax.vmap(f)(jnp.ones(2))
