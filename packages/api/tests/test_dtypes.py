"""The module of element types."""

import warnings

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


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="older versions of NumPy do not ask for it")
def test_numpy_warns_of_an_array_in_the_place_of_a_dtype():
    x = laminax.numpy.arange(3)
    with pytest.warns(DeprecationWarning, match=r"Implicit conversion of an array to a dtype is deprecated.*type i32\[3\]") as caught:
        assert np.dtype(x) == np.int32
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="Implicit conversion"):
        laminax.jit(lambda x: np.zeros(2, x))(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.dtype(x.dtype) == laminax.numpy.zeros(2, x).dtype == np.asarray(x).dtype == np.result_type(x.dtype, np.int8) == np.int32
