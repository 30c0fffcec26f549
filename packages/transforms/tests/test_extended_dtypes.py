"""Derivatives and batches of arrays of extended dtypes: their rules say what tangents are, and how cotangents are added."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.elementwise import convert_element_type, max, mul
from laminax_ir.ops.loops import scan
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.extended_dtypes import ExtendedDType, extended
from laminax_transforms import custom_vjp, grad, jvp, vjp, vmap


class largest(extended):
    pass


class LargestRules:
    """Numbers whose cotangents are not added: the largest one counts."""

    allow_conversion = True

    @staticmethod
    def physical_element_aval(dtype):
        return SimpleNamespace(shape=(), dtype="float32")

    @staticmethod
    def tangent_dtype(dtype):
        return dtype

    @staticmethod
    def add(dtype, x, y):
        return convert_element_type(max(convert_element_type(x, "float32"), convert_element_type(y, "float32")), dtype)

    @staticmethod
    def zero(dtype):
        return convert_element_type(np.float32(-np.inf), dtype)


@dataclass(frozen=True)
class Largest(ExtendedDType):
    name = "largest"
    type = largest
    _rules = LargestRules


LARGEST = Largest()
INT8 = dtypes.primal_tangent_dtype("int8", "float32")


@custom_vjp
def recorded(x, record):
    return x


def _recorded_fwd(x, record):
    return recorded(x, record), (x, record)


def _recorded_bwd(residuals, ct):
    x, record = residuals
    return mul(ct, 2.0), convert_element_type(x, LARGEST)


recorded.defvjp(_recorded_fwd, _recorded_bwd)


def test_cotangents_are_added_by_the_rule():
    def loss(x, scale):
        record = convert_element_type(scale, LARGEST)
        return recorded(mul(recorded(x, record), -3.0), record)

    x_bar, record_bar = grad(loss, (0, 1))(np.float32(2.0), np.float32(0.0))
    assert (float(x_bar), float(record_bar)) == (-12.0, 2.0)  # of 2 and -6, where a sum would be -4


def test_cotangents_are_added_by_the_rule_in_loops():
    def loss(x, scale):
        record = convert_element_type(scale, LARGEST)
        return scan(lambda carry, _: (mul(recorded(carry, record), -2.0), None), x, None, length=3)[0]

    x_bar, record_bar = grad(loss, (0, 1))(np.float32(1.0), np.float32(0.0))
    assert (float(x_bar), float(record_bar)) == (-64.0, 4.0)  # of 1, -2 and 4


def test_backward_rules_may_return_cotangents_of_an_extended_dtype():
    """For an operand of an ordinary dtype, when the rule before it converts them back."""
    @custom_vjp
    def twice(x):
        return x

    twice.defvjp(lambda x: (x, None), lambda _, ct: (convert_element_type(ct, LARGEST),))

    @custom_vjp
    def back(x):
        return x

    back.defvjp(lambda x: (x, None), lambda _, ct: (convert_element_type(ct, "float32"),))

    def loss(x):
        x = back(x)
        return twice(x) + mul(twice(x), 5.0)

    assert float(grad(loss)(np.float32(3.0))) == 5.0  # the larger one, not 6


@custom_vjp
def product(w, x):
    return mul(convert_element_type(convert_element_type(w, "int8"), "float32"), x)


product.defvjp(lambda w, x: (product(w, x), (w, x)),
               lambda res, ct: (mul(ct, res[1]), mul(ct, convert_element_type(convert_element_type(res[0], "int8"), "float32"))))


def test_integers_with_tangents():
    w, x = convert_element_type(np.int8([1, -2, 3]), INT8), np.float32([4, 5, 6])
    result, pull = vjp(product, w, x)
    np.testing.assert_array_equal(result, [4, -10, 18])
    w_bar, x_bar = pull(np.float32([1, 10, 100]))
    np.testing.assert_array_equal(w_bar, [4, 50, 600])
    np.testing.assert_array_equal(x_bar, [1, -20, 300])


def test_integers_with_tangents_in_branches():
    def loss(x, flag):
        w = convert_element_type(np.int8([1, -2, 3]), INT8)
        return cond(flag, lambda: reduce_sum(product(w, x), axes=(0,)), lambda: np.float32(0))

    np.testing.assert_array_equal(grad(loss)(np.float32([4, 5, 6]), True), [1, -2, 3])
    np.testing.assert_array_equal(grad(loss)(np.float32([4, 5, 6]), False), [0, 0, 0])


def test_conversions_convert_tangents():
    def there_and_back(x):
        return convert_element_type(convert_element_type(x, dtypes.primal_tangent_dtype("float32", "bfloat16")), "float32")

    result, tangent = jvp(there_and_back, (np.float32([1, 2]),), (np.float32([1.001, 3]),))
    np.testing.assert_array_equal(result, [1, 2])
    np.testing.assert_array_equal(tangent, [1, 3])  # as bfloat16 rounds them
    assert get_aval(tangent).dtype == np.float32
    zero = jvp(lambda x: convert_element_type(x, "int8"), (convert_element_type(np.int8([1]), INT8),), (np.float32([2]),))[1]
    assert zero.dtype == dtypes.float0


def test_elements_that_are_arrays_have_no_tangents_of_one_number():
    class Pairs(LargestRules):
        @staticmethod
        def physical_element_aval(dtype):
            return SimpleNamespace(shape=(2,), dtype="float32")

        @staticmethod
        def tangent_dtype(dtype):
            return np.dtype("float32")

    @dataclass(frozen=True)
    class Pair(ExtendedDType):
        name = "pair"
        type = largest
        _rules = Pairs

    with pytest.raises(NotImplementedError, match="derivative of a conversion .* is not defined: tangents would be"):
        jvp(lambda x: convert_element_type(x, Pair()), (np.ones((3, 2), np.float32),), (np.ones((3, 2), np.float32),))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_batches_of_conversions(axis):
    class Rows(LargestRules):
        @staticmethod
        def physical_element_aval(dtype):
            return SimpleNamespace(shape=(4,), dtype="float32")

    @dataclass(frozen=True)
    class Row(ExtendedDType):
        name = "row"
        type = largest
        _rules = Rows

    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    batch = np.moveaxis(x, 0, axis)
    made = vmap(lambda x: convert_element_type(x, Row()), in_axes=axis)(batch)
    assert made.shape == (2, 3) and made.dtype == Row()
    np.testing.assert_array_equal(convert_element_type(made, "float32"), x)
    np.testing.assert_array_equal(vmap(lambda r: convert_element_type(r, "float32"), in_axes=1, out_axes=1)(made), np.moveaxis(x, 1, 1))
