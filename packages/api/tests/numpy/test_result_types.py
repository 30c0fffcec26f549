"""Dtypes and last bits of elementwise functions and order statistics where JAX and the first version here parted. Oracle: NumPy."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp

SMALL_INTEGERS = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32"]


@pytest.mark.parametrize("dtype", SMALL_INTEGERS)
def test_small_integers_stay_float32_with_x64(dtype):
    """As JAX documents for functions that need floats: by the size of the array's dtype, not together with a Python float."""
    x = np.array([1, 0, 1, 1], dtype)
    with laminax.enable_x64(True):
        for got, expected in [(jnp.median(x), 1), (jnp.nanmedian(x), 1), (jnp.quantile(x, 0.5), 1), (jnp.true_divide(x, x[:1]), x)]:
            assert got.dtype == np.float32
            np.testing.assert_array_equal(got, expected)
        assert jnp.quantile(x, np.float64(0.5)).dtype == np.float32  # q has no say


@pytest.mark.parametrize("dtype", SMALL_INTEGERS)
def test_rint_of_integers_is_the_default_float(dtype):
    x = np.array([1, 0], dtype)
    assert jnp.rint(x).dtype == np.float32
    with laminax.enable_x64(True):
        assert jnp.rint(x).dtype == np.float64
        np.testing.assert_array_equal(jnp.rint(x), x)


def test_python_scalars_stay_weak():
    assert jnp.rint(2.5).weak_type and jnp.sinc(1.0).weak_type and jnp.angle(1j).weak_type
    assert not jnp.rint(np.float32(2.5)).weak_type and not jnp.rint(2).weak_type


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_spacing_at_zero_is_the_smallest_number(dtype):
    got = np.asarray(jnp.spacing(np.array([0.0, -0.0], dtype)))
    np.testing.assert_array_equal(np.abs(got), np.finfo(dtype).smallest_subnormal)
    assert not np.signbit(got[0]) and np.signbit(got[1])
    x = np.array([1.0, -3.0], np.float32)
    np.testing.assert_array_equal(jnp.spacing(x), np.spacing(x))


def test_logarithms_are_right_at_powers():
    x = np.array([1, 10, 100, 1e5], np.float32)
    np.testing.assert_array_max_ulp(np.asarray(jnp.log10(x)), np.log10(x), 1)
    whole = np.arange(1.0, 9)
    with laminax.enable_x64(True):
        np.testing.assert_array_equal(jnp.logaddexp2(whole, whole), whole + 1)  # 2^n + 2^n
        x, y = np.array([0.5, -3.0, np.inf, -np.inf, np.nan]), np.array([2.0, -3.5, 1.0, -np.inf, 1.0])
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(jnp.logaddexp2(x, y), np.logaddexp2(x, y), rtol=4e-16)
        assert jnp.log10(2.0) == np.log10(2.0)
        weights = [laminax.grad(jnp.logaddexp2, argnums=i)(0.5, 2.0) for i in (0, 1)]
        np.testing.assert_allclose(weights, np.exp2([0.5, 2.0]) / np.exp2([0.5, 2.0]).sum(), rtol=1e-15)


def test_an_array_of_rank_zero_is_a_scalar():
    assert jnp.isscalar(np.array(2)) and jnp.isscalar(jnp.array(2)) and not jnp.isscalar(np.array([2])) and not jnp.isscalar(None)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "float16"])
def test_trace_counts_bools_and_widens_narrow_integers(dtype):
    x = np.eye(3, 4).astype(dtype)
    trace = jnp.trace(x)
    assert trace == 3 and trace.dtype == (np.float16 if dtype == "float16" else np.int32)
    assert jnp.asarray(x).trace(offset=1) == 0


def test_unsigned_powers_are_exact_modulo_the_width():
    x, y = np.array([5, 3, 0], np.uint32), np.array([2**32 - 1, 40, 0], np.uint32)
    np.testing.assert_array_equal(jnp.asarray(x) ** y, [pow(int(a), int(b), 2**32) for a, b in zip(x, y)])


@pytest.mark.parametrize("is_wide", [False, True])
def test_positions_and_counts_are_the_default_integer(is_wide):
    x = np.array([3, 1, 3, 2, 2], np.float32)
    with laminax.enable_x64(is_wide):
        for size in (None, 4):
            got = jnp.unique(x, return_index=True, return_inverse=True, return_counts=True, size=size)
            for a, b in zip(got, np.unique(x, return_index=True, return_inverse=True, return_counts=True)):
                np.testing.assert_array_equal(a[:len(b)], b)
            common, *places = jnp.intersect1d(x, x[1:3], return_indices=True, size=size)
            np.testing.assert_array_equal(common[:2], [1, 3])
            np.testing.assert_array_equal([place[:2] for place in places], [[1, 0], [0, 1]])
            assert {a.dtype for a in (*got[1:], *places)} == {np.dtype(np.int64 if is_wide else np.int32)}


def test_gradients_of_integers_and_tri_are_float32_with_x64():
    x = np.array([[1, 4], [2, 0], [7, 1]], np.int8)
    with laminax.enable_x64(True):
        along_0, along_1 = jnp.gradient(x)
        assert along_0.dtype == along_1.dtype == jnp.tri(2).dtype == np.float32
        np.testing.assert_array_equal(along_0, np.gradient(x.astype(float), axis=0))
        np.testing.assert_array_equal(along_1, np.gradient(x.astype(float), axis=1))


@pytest.mark.parametrize("call", [
    jnp.tril, jnp.triu, lambda x: jnp.diag(x[0]), lambda x: jnp.convolve(x[0], x[1]), lambda x: jnp.interp(x, x[0], x[1]),
    lambda x: jnp.intersect1d(x, x), lambda x: jnp.degrees(x[0, 0]), lambda x: jnp.sinc(x[0, 0])])
def test_weak_types_pass_through(call):
    x = jnp.broadcast_to(jnp.asarray(0.5), (3, 3))
    assert x.weak_type and call(x).weak_type and not call(x.astype(np.float32)).weak_type


@pytest.mark.parametrize("call", [jnp.degrees, jnp.radians, jnp.sinc, lambda x: jnp.vander(x, 2)])
def test_weak_arrays_become_strong_where_a_constant_of_their_dtype_meets_them(call):
    """As in JAX: then bfloat16 beside them is widened."""
    x = jnp.broadcast_to(jnp.asarray(0.5), (3,))
    assert x.weak_type and not call(x).weak_type


def test_powers_of_narrow_integers_are_narrow():
    assert jnp.vander(np.array([1, 2, 3], np.int8)).dtype == np.int8


def test_int_and_its_like_are_the_widest_dtypes():
    """Aliases as in NumPy, whatever the setting of enable_x64; what is made of them is as wide as the setting allows."""
    assert (jnp.int_, jnp.uint, jnp.float_, jnp.complex_) == (jnp.int64, jnp.uint64, jnp.float64, jnp.complex128)
    assert jnp.result_type(jnp.int_) == (np.int64 if laminax.config.enable_x64 else np.int32)


@pytest.mark.parametrize("name", ["dot", "matmul", "inner", "vdot", "vecdot", "tensordot"])
def test_products_say_in_which_dtype_they_sum(name):
    function = (lambda x, y: jnp.tensordot(x, y, 1)) if name == "tensordot" else getattr(jnp, name)
    (dtype,) = [eqn.params["preferred_element_type"]
                for eqn in laminax.make_jaxpr(function)(np.ones(2, np.int32), np.ones(2, np.float32)).jaxpr.eqns
                if eqn.primitive.name == "dot_general"]
    assert dtype == np.float32
