"""Functions of lax that are compositions of operations."""

import ml_dtypes
import numpy as np
import pytest

from laminax_ir.ops import refused
from laminax_ir.ops.derived import broadcast_like, dtype, empty
from laminax_ir.ops.elementwise import mul, mulhi
from laminax_ir.options.config import enable_x64
from laminax_ir.types.dtypes import key_dtype
from laminax_ir.types.errors import DTypeError

f32 = np.float32


def test_broadcast_like():
    like = np.zeros((2, 3), np.int8)
    for x in (np.arange(3, dtype=f32), np.arange(2, dtype=f32)[:, None], np.ones((1, 1), f32), np.ones((2, 3), f32), f32(2), 7):
        result = broadcast_like(x, like)
        np.testing.assert_array_equal(result, np.broadcast_to(x, (2, 3)))
        assert result.dtype == (np.int32 if type(x) is int else f32)
    with pytest.raises(ValueError, match=r"more axes than like_arr.*got i8\[2,3\] and f32\[3\]"):
        broadcast_like(like, np.zeros(3, f32))
    with pytest.raises(TypeError, match="size 2"):
        broadcast_like(np.zeros(2, f32), like)


def test_dtype():
    values = {np.dtype("int32"): [1, int, np.int64, "int64", np.arange(2), np.dtype("int32")],
              np.dtype("float32"): [1.0, float, np.ones(2)],
              np.dtype("bool"): [True, bool, np.bool_], np.dtype(ml_dtypes.bfloat16): [ml_dtypes.bfloat16, ml_dtypes.bfloat16(1)],
              np.dtype("complex64"): [1j], key_dtype("threefry2x32"): [key_dtype("threefry2x32")]}
    assert all(dtype(x) == expected for expected, xs in values.items() for x in xs)
    with enable_x64():
        assert dtype(np.ones(2)) == dtype(float) == np.float64
    with pytest.raises(TypeError, match="object"):
        dtype(object)


INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, ml_dtypes.int4, ml_dtypes.uint4]


@pytest.mark.parametrize("kind", INTEGERS, ids=lambda t: t.__name__)
def test_mulhi_is_the_high_half_of_the_product(kind):
    info = ml_dtypes.iinfo(kind)
    numbers = [int(info.min), int(info.max), 0, 1, 3, int(info.max) // 3, int(info.min) // 3]
    x, y = (np.array(v, object).astype(kind) for v in zip(*[(a, b) for a in numbers for b in numbers]))
    with enable_x64():
        result = mulhi(x, y)
        assert result.dtype == kind
        assert [int(r) for r in result] == [int(a) * int(b) >> info.bits for a, b in zip(x, y)]
        assert mulhi(x, 1).shape == x.shape
    with pytest.raises(DTypeError, match="mulhi does not accept dtype float32"):
        mulhi(f32(1), f32(2))


@pytest.mark.parametrize("call, instead", [
    (lambda: refused.psend(f32(1), "i", [(0, 1)]), r"ppermute\(x, 'i', \[\(0, 1\)\]\)"),
    (lambda: refused.precv(None, None, "i", []), "ppermute"),
    (lambda: refused.ragged_all_to_all(*[np.ones(2)] * 6, axis_name="i"), r"all_to_all\(..., 'i'\)"),
])
def test_what_is_not_supported_says_what_to_use(call, instead):
    with pytest.raises(NotImplementedError, match=f"is not supported.*{instead}"):
        call()


def test_products_in_another_dtype():
    x = np.array([100, -128], np.int8)
    product = mul(x, x, out_dtype=np.int32)
    assert product.dtype == np.int32 and product.tolist() == [10000, 16384]
    assert mul(x, 3, out_dtype=f32).tolist() == [300, -384] and mul(2.0, 3.0, out_dtype=np.int32) == 6
    with pytest.raises(DTypeError, match="same dtypes"):
        mul(x, x.astype(f32), out_dtype=f32)


def test_empty_arrays_are_zero():
    assert empty((2, 3), np.int8).tolist() == [[0] * 3] * 2
    with pytest.raises(TypeError, match="sharding must be a Sharding"):
        empty((2, 3), np.int8, out_sharding="x")
