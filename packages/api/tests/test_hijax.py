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
        def impl(self, x):
            return 2 * x

    class Box:
        pass

    class BoxType(hijax.MutableHiType):
        get = hijax.aval_method(lambda self: 1)
        size = hijax.aval_property(fget=lambda self: 1)

    hijax.register_hitype(Box, lambda box: BoxType())
    with pytest.raises(NotImplementedError, match="operation double, .* is not supported"):
        Double("double").bind(1.)
    with pytest.raises(NotImplementedError, match="type BoxType, whose values change"):
        laminax.jit(lambda box: 1)(Box())
    with pytest.raises(ValueError, match="Box has a type already"):
        hijax.register_hitype(Box, lambda box: None)
    with pytest.raises(TypeError, match="expected a class"):
        hijax.register_hitype(1, len)


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
