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
    assert not np.signbit(got[0]) and np.signbit(got[1]) == (dtype == "float32")  # float16 goes upwards, as in NumPy
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
    assert trace == 3 and trace.dtype == {"float16": np.float16, "uint8": np.uint32}.get(dtype, np.int32)
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


def test_gradients_of_integers_are_float32_with_x64():
    x = np.array([[1, 4], [2, 0], [7, 1]], np.int8)
    with laminax.enable_x64(True):
        along_0, along_1 = jnp.gradient(x)
        assert along_0.dtype == along_1.dtype == np.float32
        np.testing.assert_array_equal(along_0, np.gradient(x.astype(float), axis=0))
        np.testing.assert_array_equal(along_1, np.gradient(x.astype(float), axis=1))


@pytest.mark.parametrize("call", [
    jnp.tril, jnp.triu, lambda x: jnp.diag(x[0]), lambda x: jnp.convolve(x[0], x[1]), lambda x: jnp.interp(x, x[0], x[1]),
    lambda x: jnp.intersect1d(x, x), lambda x: jnp.degrees(x[0, 0]), lambda x: jnp.sinc(x[0, 0]), jnp.log2])
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


def weak(x):
    return x.aval.weak_type


def test_functions_with_typed_constants_are_strong_where_there_is_an_array():
    """As JAX has it: constants of a dtype make arrays strongly typed; scalars stay weak. Values by NumPy."""
    whole = np.arange(1, 4)
    for function, expected, is_weak in [(jnp.hypot, np.hypot, True), (jnp.heaviside, np.heaviside, False)]:  # hypot has none in JAX 0.12
        got = function(jnp.asarray(whole), 0.5)
        np.testing.assert_allclose(got, expected(whole, 0.5), rtol=1e-6)
        assert weak(got) is is_weak and weak(function(2.0, 0.5)) and weak(function(np.int32(2), 0.5))
    assert not weak(jnp.gcd(np.array([True, True]), 3)) and weak(jnp.gcd(4, 6)) and not weak(jnp.lcm(np.array([True]), 2))
    for function in (jnp.degrees, jnp.radians, jnp.reciprocal, jnp.sinc):
        assert weak(function(0.5)) and weak(function(0.5j)) and not weak(function(np.complex64(0.5j)))


def test_the_sign_does_not_make_a_strong_number_weak():
    assert not weak(jnp.copysign(2.0, np.float32(-1))) and not weak(jnp.copysign(jnp.asarray(2.0), np.ones(2, np.float32)))
    assert weak(jnp.copysign(2.0, -1)) and weak(jnp.copysign(2.0, np.int32(-1)))
    assert not weak(jnp.copysign(2, np.uint8(1)))
    half = jnp.ones(2, jnp.bfloat16)
    assert (half * jnp.copysign(2.0, np.float32(-1))).dtype == np.float32


def test_weakness_of_truth_values_and_of_replaced_numbers():
    assert weak(jnp.logical_not(0.5)) and not weak(jnp.logical_not(np.float32(0.5))) and not weak(jnp.logical_not(True))
    assert not weak(jnp.signbit(2)) and not weak(jnp.isin(2, 3))
    for x in (0.5, 0.5j, jnp.asarray(0.5)):
        assert not weak(jnp.nan_to_num(x))
    assert not weak(jnp.diagflat(2.0)) and weak(jnp.diag(jnp.ones_like(jnp.broadcast_to(2.0, (2,)))))


def test_a_number_known_as_the_exponent_leaves_the_dtype_of_the_base():
    """Such a power is a repeated product, whatever the exponent's dtype; only an array of exponents takes part in promotion."""
    base = np.array([2, 3], np.uint8)
    for exponent in (3, np.int32(3), jnp.asarray(3), jnp.int16(3)):
        got = jnp.power(base, exponent)
        assert got.dtype == np.uint8
        np.testing.assert_array_equal(got, base ** np.uint8(3))
    assert jnp.power(base, np.array([3, 3])).dtype == np.int32
    for got in (jnp.power(2, np.uint8(3)), jnp.power(2, True), jnp.power(jnp.asarray(2), 3)):
        assert got.dtype == np.int32 and weak(got)
    for got in (jnp.power(True, np.uint8(2)), jnp.array([True]) ** 2, jnp.power(np.array([True]), np.int8(2))):
        assert got.dtype == np.int32 and not weak(got) and got.all() == 1
    with pytest.raises(TypeError, match="Integers cannot be raised to negative powers.*i8.*-1.*Make the base a float"):
        jnp.power(np.int8(2), np.int32(-1))


def test_a_weak_base_with_an_array_of_integers_is_strong():
    whole = jnp.arange(3)
    np.testing.assert_allclose(2j ** whole, [1, 2j, -4], atol=1e-6)
    for got in (2.0 ** whole, jnp.power(2.0, whole), jnp.asarray(2.0) ** whole, laminax.jit(lambda n: 2.0 ** n)(whole)):
        assert got.dtype == np.float32 and not weak(got)
        np.testing.assert_allclose(got, [1, 2, 4], rtol=1e-6)
    for got in (laminax.jit(lambda n: 2.0 ** n)(np.int32(3)), laminax.lax.pow(2.0, jnp.int32(3)),
                laminax.lax.pow(jnp.asarray(2.0), jnp.int8(3))):
        assert got == 8 and got.dtype == np.float32 and not weak(got)
    assert (weak(2.0 ** jnp.asarray(3)) and weak(laminax.lax.pow(jnp.asarray(2.0), jnp.asarray(3)))
            and weak(jnp.broadcast_to(2.0, (3,)) ** 2.0))


def test_widths_of_sums_and_products():
    narrow = np.ones((2, 2), np.uint8)
    assert jnp.trace(narrow).dtype == jnp.linalg.trace(narrow).dtype == np.uint32
    assert jnp.cumulative_prod(narrow[0]).dtype == np.uint8 and jnp.cumulative_sum(narrow[0]).dtype == np.uint32
    assert jnp.cumulative_prod(np.array([True, False])).dtype == np.int32


def test_dtypes_of_nothing_and_of_numbers():
    assert jnp.result_type(None) == np.float32 and jnp.result_type(None, np.float16) == np.float32
    assert jnp.iinfo(3).max == np.iinfo(np.int64).max and jnp.finfo(3.0).eps == np.finfo(np.float64).eps
    with pytest.raises(ValueError, match="float64 is not an integer dtype"):
        jnp.iinfo(3.0)
    assert jnp.ix_(np.array([]), np.array([1]))[0].dtype == np.int32


@pytest.mark.parametrize("cast", [
    lambda z: jnp.sum(z, dtype=float), lambda z: jnp.mean(z, dtype=float), lambda z: jnp.cumsum(z, dtype=float),
    lambda z: jnp.full(2, z[0], float), lambda z: jnp.full_like(z.real, z), lambda z: jnp.concatenate([z, z], dtype=float),
    lambda z: laminax.lax.convert_element_type(z, np.float32), lambda z: jnp.asarray(z, np.int32), lambda z: jnp.array([z[0], 1], float),
])
def test_an_imaginary_part_is_not_lost_silently(cast):
    """As in NumPy there is a warning, at the line of the program that does it, when that is traced; what was recorded warns as well."""
    z = jnp.array([1 + 2j, 3])
    for run in (laminax.jit(cast), laminax.jit(lambda z: cast(z) + cast(z)), laminax.vmap(lambda part: cast(jnp.stack([part, part])))):
        with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part") as record:
            got = run(z)
        assert not jnp.iscomplexobj(got) and {r.filename for r in record} == {__file__}


def test_what_takes_the_real_part_on_purpose_does_not_warn():
    import warnings
    x, z = jnp.ones(2), jnp.array([1 + 2j, 3])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(laminax.grad(lambda x: (x.astype(complex) * z).real.sum())(x), [1, 3])
        np.testing.assert_array_equal(laminax.grad(lambda x: laminax.lax.dot(x, x, preferred_element_type=np.complex64).real)(x), [2, 2])
        np.testing.assert_array_equal(laminax.grad(lambda x: jnp.abs(x * z)[1])(x), [0, 3])
        assert jnp.asarray(z, bool).all() and laminax.lax.convert_element_type(1j, bool)
    with pytest.warns(DeprecationWarning) as record:
        z.astype(float)
    assert len(record) == 1
