"""The module of element types."""

import ml_dtypes
import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import dtypes


@pytest.mark.parametrize("dtype, bits",
                         [("bool", 8), ("int8", 8), ("complex64", 64), ("float64", 64), (ml_dtypes.int4, 4), (dtypes.bfloat16, 16)])
def test_bits_of_an_element(dtype, bits):
    assert dtypes.itemsize_bits(dtype) == bits


def test_dtypes_without_a_common_one():
    with laminax.numpy_dtype_promotion("strict"), pytest.raises(dtypes.TypePromotionError):
        dtypes.result_type(np.int8, np.int16)


def test_float0_is_at_hand():
    assert laminax.float0 is dtypes.float0


def test_limits_of_an_arrays_dtype():
    for x in (jnp.ones(2), np.ones(2, np.float16), jnp.ones((), jnp.bfloat16), jnp.ones(2, jnp.complex64)):
        assert jnp.finfo(x).eps == jnp.finfo(x.dtype).eps and jnp.finfo(x).dtype == jnp.finfo(x.dtype).dtype
    assert jnp.iinfo(jnp.arange(3, dtype=jnp.int8)).max == 127
    assert laminax.jit(lambda x, n: (x * jnp.finfo(x).eps, n * jnp.iinfo(n).max))(np.float32(1), np.int16(1)) == (2.0**-23, 2**15 - 1)
    with pytest.raises(ValueError, match="int32 is not a floating-point"):
        jnp.finfo(jnp.arange(3))
