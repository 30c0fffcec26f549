"""Avals: interning, printing, tangent types, and the avals of Python and NumPy values."""

from __future__ import annotations

import copy
import gc
import pickle

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.options.config import enable_x64
from laminax_ir.types import dtypes
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.avals import ShapedArray, get_aval, is_array_like, register_value_type
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct
from laminax_ir.types.type_shardings import TypeSharding

F32 = np.dtype(np.float32)


def test_equal_avals_are_the_same_object():
    aval = ShapedArray((2, 3), F32)
    for same in (ShapedArray([2, 3], "float32"), ShapedArray((np.int64(2), 3), np.float32), copy.deepcopy(aval), copy.copy(aval),
                 pickle.loads(pickle.dumps(aval)), aval.update(), aval.strip_weak_type(), aval.update(shape=(2, 3))):
        assert same is aval
    others = [ShapedArray((3, 2), F32), ShapedArray((2, 3), np.float16), ShapedArray((2, 3), F32, True),
              ShapedArray((2, 3), F32, named_shape={"i": 2}), ShapedArray((6,), F32)]
    assert len({*others, aval}) == 6


@settings(max_examples=30, derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=4), st.sampled_from(["float32", "int8", "bool", "bfloat16"]), st.booleans(),
       st.dictionaries(st.sampled_from("ij"), st.integers(1, 3)))
def test_interning_is_equality_of_descriptions(shape, dtype, weak, named):
    make = lambda: ShapedArray(tuple(shape), dtypes.canonicalize_dtype(dtype), weak, named_shape=named)  # noqa: E731
    aval = make()
    assert make() is aval and aval.shape == tuple(shape) and aval.weak_type is weak and aval.named_shape == named
    assert aval.size == int(np.prod(shape)) and aval.ndim == len(shape)
    assert pickle.loads(pickle.dumps(aval)) is aval


def test_the_order_of_named_axes_does_not_matter():
    assert ShapedArray((), F32, named_shape={"i": 2, "j": 3}) is ShapedArray((), F32, named_shape={"j": 3, "i": 2})


def test_avals_that_nobody_uses_are_forgotten():
    from laminax_ir.types import avals
    ShapedArray((7, 11, 13), F32)
    gc.collect()
    assert not any(key[0] == (7, 11, 13) and ref() is not None for key, ref in list(avals._interned.items()))


@pytest.mark.parametrize("aval, text", [
    (ShapedArray((2, 3), F32), "f32[2,3]"), (ShapedArray((), np.int32), "i32[]"), (ShapedArray((0,), bool), "bool[0]"),
    (ShapedArray((1,), ml_dtypes.bfloat16), "bf16[1]"), (ShapedArray((), np.uint8), "u8[]"), (ShapedArray((), np.complex64), "c64[]"),
    (ShapedArray((2,), F32, named_shape={"i": 4}), "f32[2]{V:i}"),
], ids=str)
def test_printed_form(aval, text):
    assert aval.str_short() == text


def test_repr_tells_weak_types():
    assert repr(ShapedArray((2,), F32)) == "ShapedArray(float32[2])"
    assert repr(ShapedArray((), F32, True)) == "ShapedArray(float32[], weak_type=True)"


def test_tangent_types():
    assert ShapedArray((2,), F32).to_tangent_aval() is ShapedArray((2,), F32)
    for dtype in (np.int32, bool, np.uint8):
        assert ShapedArray((2,), dtype).to_tangent_aval() is ShapedArray((2,), dtypes.float0)


def test_avals_are_immutable_and_well_formed():
    with pytest.raises(AttributeError, match=r"immutable; use update\(shape=\.\.\.\)"):
        ShapedArray((2,), F32).shape = (3,)
    with pytest.raises(ValueError, match=r"shape \(2, -1\) has a negative axis size"):
        ShapedArray((2, -1), F32)
    with pytest.raises(TypeError):
        ShapedArray((2.5,), "nonsense")
    with pytest.raises(TypeError, match="unsized"):
        len(ShapedArray((), F32))


@pytest.mark.parametrize("value, dtype, wide, weak", [
    (True, "bool", "bool", False), (3, "int32", "int64", True), (2.5, "float32", "float64", True), (1j, "complex64", "complex128", True),
    (np.float64(1), "float32", "float64", False), (np.ones((2, 1), np.int64), "int32", "int64", False),
    (np.int8(1), "int8", "int8", False), (ml_dtypes.bfloat16(1), "bfloat16", "bfloat16", False),
    (np.zeros(3, np.uint64), "uint32", "uint64", False),
], ids=repr)
def test_avals_of_values(value, dtype, wide, weak):
    assert get_aval(value) is ShapedArray(np.shape(value), np.dtype(dtype), weak)
    with enable_x64():
        assert get_aval(value) is ShapedArray(np.shape(value), np.dtype(wide), weak)


@pytest.mark.parametrize("value", ["text", None, [1.0], object(), {}], ids=repr)
def test_what_is_not_an_array(value):
    assert not is_array_like(value)
    with pytest.raises(TypeError,
                       match="is not an array: .*Expected an array, a NumPy array or scalar, or a Python bool, int, float or complex"):
        get_aval(value)


def test_types_of_others():
    class Mine:
        pass

    class Wrapper:
        def __jax_array__(self):
            return np.ones((2,), np.float32)

    register_value_type(Mine, lambda value: ShapedArray((5,), F32))
    assert get_aval(Mine()) is get_aval(type("Sub", (Mine,), {})()) is ShapedArray((5,), F32)
    assert get_aval(Wrapper()) is ShapedArray((2,), F32) and is_array_like(Wrapper())


def test_shape_dtype_struct():
    struct = ShapeDtypeStruct((2, np.int64(3)), "float32", sharding="s")
    assert (struct.shape, struct.dtype, struct.ndim, struct.size, len(struct), struct.sharding) == ((2, 3), F32, 2, 6, 2, "s")
    assert struct == ShapeDtypeStruct([2, 3], np.float32, sharding="s") != ShapeDtypeStruct((2, 3), np.float32)
    assert hash(struct) == hash(struct.update()) and struct.update(shape=(1,)).shape == (1,)
    assert repr(ShapeDtypeStruct((2,), np.int8)) == "ShapeDtypeStruct(shape=(2,), dtype=int8)"
    with pytest.raises(ValueError, match="dtype must be specified"):
        ShapeDtypeStruct((), None)
    with pytest.raises(ValueError, match="shape must be specified"):
        ShapeDtypeStruct(None, np.float32)
    with pytest.raises(TypeError, match="unsized"):
        len(ShapeDtypeStruct((), np.float32))


def test_structs_have_shardings_that_fit_them():
    mesh = AbstractMesh((2,), ("x",), AxisType.Explicit)
    for sharding in (PartitionSpec(None, "x", None), TypeSharding(mesh, PartitionSpec(None, "x", None))):
        with pytest.raises(ValueError, match=r"is only valid for values of rank at least 3, but was applied to a value of rank 2"):
            ShapeDtypeStruct((4, 4), np.float32, sharding=sharding)
