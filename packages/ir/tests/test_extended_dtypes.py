"""Extended dtypes that libraries define: how they are stored, converted, moved and pickled, and which conversions are refused."""

import pickle
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.ops.elementwise import convert_element_type, eq
from laminax_ir.ops.shape import full
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.extended_dtypes import ExtendedDType, extended, rule_of, tangent_dtype_of


class vector_type(extended):
    pass


class VectorRules:
    allow_conversion = True

    @staticmethod
    def physical_element_aval(dtype):
        return SimpleNamespace(shape=dtype.shape, dtype=dtype.stored)

    @staticmethod
    def tangent_dtype(dtype):
        return np.dtype(dtype.stored)


@dataclass(frozen=True)
class Vector(ExtendedDType):
    """Small arrays as elements."""

    shape: tuple
    stored: str = "int32"
    name = "vector"
    type = vector_type
    _rules = VectorRules


PAIR = Vector((2,))


def test_a_dtype_says_how_it_is_stored_and_what_its_tangents_are():
    aval = ShapedArray((3,), PAIR)
    assert physical_aval(aval) is ShapedArray((3, 2), np.int32) and (PAIR.itemsize, aval.str_short()) == (8, "vector[3]")
    assert aval.to_tangent_aval() is ShapedArray((3,), np.int32)
    assert dtypes.issubdtype(PAIR, vector_type) and dtypes.issubdtype(PAIR, extended) and not dtypes.issubdtype(PAIR, np.number)
    assert tangent_dtype_of(dtypes.key_dtype("rbg")) == dtypes.float0
    with pytest.raises(NotImplementedError, match=r"the dtype vector of the class Vector has no rule 'zero'"):
        rule_of(PAIR, "zero")


def test_arrays_are_indexed_and_pickled_by_elements():
    stored = np.arange(12, dtype=np.int32).reshape(3, 2, 2)
    made = convert_element_type(stored, PAIR)
    assert (made.shape, made.ndim, made.size, made.nbytes, len(made)) == ((3, 2), 2, 6, 48, 3)
    np.testing.assert_array_equal(convert_element_type(made[1], np.int32), stored[1])
    np.testing.assert_array_equal(convert_element_type(made.reshape(2, 3), np.int32), stored.reshape(2, 3, 2))
    again = pickle.loads(pickle.dumps(made))
    assert again.dtype == PAIR and get_aval(again) is get_aval(made)
    np.testing.assert_array_equal(np.asarray(eq(again, made)), np.ones((3, 2), bool))
    with pytest.raises(TypeError, match="cannot be converted to a NumPy array. Convert it with lax.convert_element_type to int32"):
        np.asarray(made)


@pytest.mark.parametrize("call, message", [
    (lambda: convert_element_type(np.zeros((5, 3), np.int32), PAIR), r"can only convert to extended dtype vector .* last axes .*\(2,\)"),
    (lambda: convert_element_type(np.zeros((), np.int32), PAIR), "can only convert to extended dtype vector"),
    (lambda: convert_element_type(np.zeros((5, 2), np.float32), PAIR), "can only convert to extended .* int32, got f32"),
    (lambda: convert_element_type(convert_element_type(np.zeros(2, np.int32), PAIR), np.float32),
     "can only convert from extended .* int32, got the dtype float32"),
    (lambda: convert_element_type(convert_element_type(np.zeros(2, np.int32), PAIR), Vector(())),
     "cannot directly convert between extended dtypes.*vector -> int32 -> int32 -> vector"),
    (lambda: convert_element_type(np.zeros(2, np.uint32), dtypes.key_dtype("threefry2x32")), "random keys cannot be converted"),
])
def test_other_conversions_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_rules_decide_on_conversions():
    class OneWay(VectorRules):
        @staticmethod
        def convert_to(old, dtype):
            return old == dtype.stored

        @staticmethod
        def convert_from(dtype, new):
            return False

    @dataclass(frozen=True)
    class Sealed(Vector):
        _rules = OneWay

    made = convert_element_type(np.zeros(2, np.int32), Sealed((2,)))
    with pytest.raises(ValueError, match="Cannot convert_element_type from vector to int32: the rules of the extended dtype"):
        convert_element_type(made, np.int32)


def test_full_asks_the_rule_of_the_dtype():
    class Filled(VectorRules):
        @staticmethod
        def full(shape, fill_value, dtype):
            return convert_element_type(full((*shape, *dtype.shape), fill_value, dtype.stored), dtype)

    @dataclass(frozen=True)
    class Fillable(Vector):
        _rules = Filled

    np.testing.assert_array_equal(full((3,), 7, Fillable((2,))).base, np.full((3, 2), 7))
    with pytest.raises(NotImplementedError, match="no rule 'full'"):
        full((3,), 7, PAIR)


def test_numbers_with_tangents_of_another_dtype():
    dtype = dtypes.primal_tangent_dtype("int8", "bfloat16")
    assert dtype == dtypes.primal_tangent_dtype("int8", "bfloat16") != dtypes.primal_tangent_dtype("int8", "float32")
    assert repr(dtype) == "PrimalTangentDType{i8/bf16}" and repr(dtypes.primal_tangent_dtype("int8", "int8", name="mine")) == "mine"
    assert ShapedArray((3,), dtype).to_tangent_aval() is ShapedArray((3,), dtypes.bfloat16)
    assert pickle.loads(pickle.dumps(dtype)) == dtype and hash(dtype) == hash(pickle.loads(pickle.dumps(dtype)))
    program = stage(lambda x: [convert_element_type(convert_element_type(x, dtype), np.int8)], [ShapedArray((3,), np.int8)], "f")
    assert [str(eqn.primitive) for eqn in program.eqns] == ["to_edtype", "from_edtype"]
