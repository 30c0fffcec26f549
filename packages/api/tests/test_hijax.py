"""Types and operations of one's own, and names of references, as libraries define and import them; values that change are refused."""

import pytest

import laminax
import laminax.numpy as jnp
from laminax._src.names import core
from laminax._src.names.state.types import AbstractRef, RefEffect
from laminax.experimental import cur_qdd, hijax
from laminax.extend.core import Effect
from laminax.ref import new_ref


def test_operations_and_types_can_be_defined_and_not_used():
    class Double(hijax.HiPrimitive):
        pass

    class Box:
        pass

    class BoxType(hijax.MutableHiType):
        get = hijax.aval_method(lambda self: 1)
        size = hijax.aval_property(fget=lambda self: 1)

    hijax.register_hitype(Box, lambda box: BoxType())
    with pytest.raises(NotImplementedError, match="operation double: Double must define the method `abstract_eval`"):
        Double("double").bind(1.)
    with pytest.raises(NotImplementedError, match="type BoxType, whose values change"):
        laminax.jit(lambda box: 1)(Box())
    with pytest.raises(ValueError, match="Box has a type already"):
        hijax.register_hitype(Box, lambda box: None)
    with pytest.raises(TypeError, match="expected a class"):
        hijax.register_hitype(1, len)


class ScaledType(hijax.HiType):
    """Bytes with a scale."""

    def __init__(self, size):
        self.size_of_axis = size

    def __hash__(self):
        return hash(self.size_of_axis)

    def __eq__(self, other):
        return type(other) is ScaledType and self.size_of_axis == other.size_of_axis

    def lo_ty(self):
        return [laminax.core.ShapedArray((self.size_of_axis,), jnp.dtype("int8")), laminax.core.ShapedArray((), jnp.dtype("float32"))]

    def lower_val(self, value):
        return [value.numbers, value.scale]

    def raise_val(self, numbers, scale):
        return Scaled(numbers, scale)

    def to_tangent_aval(self):
        return laminax.core.ShapedArray((self.size_of_axis,), jnp.dtype("float32"))


class Scaled:
    def __init__(self, numbers, scale):
        self.numbers, self.scale = numbers, scale


hijax.register_hitype(Scaled, lambda x: ScaledType(x.numbers.shape[0]))


class Quantize(hijax.HiPrimitive):
    def abstract_eval(self, aval, *, most):
        return ScaledType(aval.shape[0]), set()

    def to_lojax(self, x, *, most):
        scale = jnp.max(jnp.abs(x)) / most
        return Scaled(jnp.round(x / scale).astype("int8"), scale)

    def jvp(self, primals, tangents, *, most):
        return self.bind(*primals, most=most), tangents[0] * 1.0


class Parts(hijax.HiPrimitive):
    """The half and the triple of an array."""

    multiple_results = True

    def abstract_eval(self, aval):
        return [aval, aval], set()

    def to_lojax(self, x):
        return x / 2, x * 3

    def jvp(self, primals, tangents):
        return self.bind(*primals), self.bind(*tangents)

    def transpose(self, cts, x):
        assert hijax.is_undefined_primal(x) and x.aval.shape == (3,)
        first, second = map(hijax.instantiate_zeros, cts)
        return [first / 2 + second * 3]


class Dequantize(hijax.HiPrimitive):
    def abstract_eval(self, aval):
        return laminax.core.ShapedArray((aval.size_of_axis,), jnp.dtype("float32")), set()

    def to_lojax(self, q):
        return q.numbers * q.scale

    def jvp(self, primals, tangents):
        return self.bind(*primals), tangents[0] * 1.0


quantize_p, dequantize_p, parts_p = Quantize("quantize"), Dequantize("dequantize"), Parts("parts")


@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit])
def test_operations_in_the_older_form(wrap):
    x = jnp.array([1.0, -2.0, 4.0])
    q = wrap(lambda x: quantize_p.bind(x, most=4))(x)
    assert isinstance(q, Scaled) and q.numbers.tolist() == [1, -2, 4] and float(q.scale) == 1.0
    assert wrap(dequantize_p.bind)(q).tolist() == [1, -2, 4]
    total = wrap(laminax.grad(lambda x: (dequantize_p.bind(quantize_p.bind(x, most=4)) ** 2).sum()))(x)
    assert total.tolist() == [2, -4, 8]  # as of the numbers themselves
    scanned = wrap(lambda q: laminax.lax.fori_loop(0, 3, lambda i, q: quantize_p.bind(2 * dequantize_p.bind(q), most=4), q))(q)
    assert scanned.numbers.tolist() == [1, -2, 4] and float(scanned.scale) == 8.0
    assert "quantize" in str(laminax.make_jaxpr(lambda x: dequantize_p.bind(quantize_p.bind(x, most=4)))(x))


@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit])
def test_operations_in_the_older_form_are_transposed_by_their_rule(wrap):
    def loss(x):
        half, triple = parts_p.bind(x)
        return (half * jnp.array([1.0, 10.0, 100.0])).sum() + triple[0]

    assert wrap(laminax.grad(loss))(jnp.ones(3)).tolist() == [3.5, 5, 50]


def test_wrong_uses_of_the_older_form():
    with pytest.raises(TypeError, match="quantize: the parameter most must be hashable, got"):
        quantize_p.bind(jnp.ones(3), most=[4])

    class Loud(hijax.HiPrimitive):
        def abstract_eval(self, aval):
            return aval, {"noise"}

    with pytest.raises(NotImplementedError, match="operation loud: effects are not supported"):
        Loud("loud").bind(1.0)
    with pytest.raises(NotImplementedError, match="quantize must implement `batch`"):
        laminax.vmap(lambda x: quantize_p.bind(x, most=4))(jnp.ones((2, 3)))


@pytest.mark.parametrize("use", [lambda: hijax.AvalQDD("f32[]", 1), lambda: hijax.AvalMutableQDD("f32[]", 1), lambda: cur_qdd(1.)])
def test_what_needs_such_values_is_refused(use):
    with pytest.raises(NotImplementedError, match="is not supported"):
        use()


def test_kinds_of_effects_of_ones_own_need_no_name_and_are_allowed_everywhere():
    class Shout(Effect):
        pass

    hijax.control_flow_allowed_effects.add_type(Shout)
    assert hijax.control_flow_allowed_effects.contains(Shout()) and str(Shout()) == "Shout" and Shout() == Shout()
    with pytest.raises(TypeError, match="class of effects"):
        hijax.control_flow_allowed_effects.add_type(Shout())


def test_a_reference_is_known_by_its_type_as_libraries_ask():
    ref = new_ref(1.)
    assert isinstance(ref, laminax.Ref) and core.Ref is laminax.Ref and isinstance(laminax.typeof(ref), AbstractRef)
    assert not isinstance(ref, laminax.Array) and issubclass(RefEffect, Effect)


def test_a_type_that_names_an_attribute_as_arrays_do_leaves_that_of_arrays_alone():
    class Stack:
        def __init__(self, base):
            self.base = base

        def sum(self):
            return self.base.sum() + 1

    class StackType(hijax.HiType):
        def __eq__(self, other):
            return isinstance(other, StackType)

        def __hash__(self):
            return 1

        def lo_ty(self):
            return [laminax.core.ShapedArray((3,), jnp.float32)]

        def lower_val(self, stack):
            return [stack.base]

        def raise_val(self, base):
            return Stack(base)

        sum = hijax.aval_method(lambda stack: base_of(stack).sum() + 1)

    class BaseOf(hijax.HiPrim):
        def __init__(self):
            self.in_avals, self.out_aval, self.params = (StackType(),), laminax.core.ShapedArray((3,), jnp.float32), {}
            super().__init__()

        def expand(self, stack):
            return stack.base

    def base_of(stack):
        return BaseOf()(stack)

    hijax.register_hitype(Stack, lambda stack: StackType())
    x = jnp.arange(3.)
    assert laminax.jit(lambda stack, y: stack.sum() + y.sum())(Stack(x), x) == Stack(x).sum() + 3 == 7
    assert laminax.vmap(lambda y: y.sum())(x.reshape(1, 3)).tolist() == [3.0] and laminax.grad(lambda y: y.sum())(x).tolist() == [1.] * 3
