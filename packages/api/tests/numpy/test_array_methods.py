"""Methods of arrays that are not a function of laminax.numpy each: the array API's, and those about bytes and rounding."""

import inspect

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp


def test_array_namespace():
    x = jnp.arange(3)
    assert x.__array_namespace__() is laminax.numpy is x.__array_namespace__(api_version="2025.12")
    with pytest.raises(ValueError, match="api_version='2031.12' is not available; there is '2025.12'"):
        x.__array_namespace__(api_version="2031.12")
    seen = []
    laminax.jit(lambda x: seen.append(x.__array_namespace__()) or x)(x)
    assert seen == [laminax.numpy]


def test_to_device():
    x, device = jnp.arange(3), laminax.devices()[0]
    assert [*inspect.signature(x.to_device).parameters] == ["device", "stream"]
    moved = x.to_device(device)
    assert moved.committed and not x.committed and moved.devices() == {device}
    with pytest.raises(NotImplementedError, match="stream"):
        x.to_device(device, stream=1)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float32", "complex64", "bool"])
def test_byteswap(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    swapped = jnp.asarray(x).byteswap()
    assert swapped.dtype == dtype and swapped.shape == (2, 3)
    assert np.asarray(swapped).tobytes() == x.byteswap().tobytes()
    np.testing.assert_array_equal(laminax.jit(lambda x: x.byteswap().byteswap())(x), x)


def test_byteswap_of_scalars_empty_arrays_and_parts_of_bytes():
    assert int(jnp.int32(1).byteswap()) == 1 << 24
    assert jnp.zeros((0, 2)).byteswap().shape == (0, 2)
    with pytest.raises(TypeError, match="no whole bytes"):
        jnp.zeros(2, "int4").byteswap()


def test_rounding_without_digits_gives_integers():
    for value in (2.5, -1.7, 3.0):  # ties to even, as Python's round
        rounded = round(jnp.float32(value))
        assert rounded.dtype == np.int32 and int(rounded) == round(value)
    assert round(jnp.float32(2.34), 1).dtype == np.float32
    assert float(round(jnp.float32(2.34), 1)) == np.float32(2.3)
    assert laminax.jit(round)(jnp.float32(2.5)).dtype == np.int32


@pytest.mark.parametrize("convert, error, message", [
    (lambda x: bool(x), ValueError, "The truth value of an array with more than one element is ambiguous"),
    (lambda x: bool(x[:0]), ValueError, "The truth value of an empty array is ambiguous"),
    (lambda x: {x}, TypeError, "unhashable type"),
    (lambda x: list(x[:1].reshape(())), TypeError, "iteration over a 0-d array"),
    (lambda x: len(x[:1].reshape(())), TypeError, "len() of unsized object"),
    (lambda x: x.item(), ValueError, "can only convert an array of size 1 to a Python scalar"),
])
def test_refusals_in_the_words_of_numpy(convert, error, message):
    """Each is what NumPy says of the same array, but for hashing. NumPy before 2.2 warns only of empty arrays."""
    says_numpy = "empty array" not in message or np.lib.NumpyVersion(np.__version__) >= "2.2.0"
    for array in (jnp.arange(3), np.arange(3))[:1 + says_numpy]:
        with pytest.raises(error) as caught:
            convert(array)
        assert message in str(caught.value)


@pytest.mark.parametrize("convert, message", [
    (int, "Only scalar arrays can be converted to Python scalars; got arr.ndim=1, shape (3,)"),
    (lambda x: float(x[:1]), "Only scalar arrays can be converted to Python scalars; got arr.ndim=1, shape (1,)"),
    (lambda x: [1, 2][x], "Only integer scalar arrays can be converted to a scalar index. Got i32[3]"),
    (lambda x: [1, 2][x[:1].reshape(()).astype("float32")], "Only integer scalar arrays can be converted to a scalar index. Got f32[]"),
])
def test_only_scalars_become_python_numbers(convert, message):
    for run in (convert, laminax.jit(convert)):
        with pytest.raises(TypeError) as caught:
            run(jnp.arange(3))
        assert message in str(caught.value)


@pytest.mark.parametrize("method", ["tobytes", "tolist", "item"])
def test_what_needs_values_says_so_of_a_traced_array(method):
    with pytest.raises(TypeError, match=rf"The {method}\(\) method was called on traced array"):
        laminax.jit(lambda x: getattr(x, method)())(1.0)


def test_imaginary_parts_are_not_lost_silently():
    for value in (np.array([2 + 1j]), jnp.array([2 + 1j])):
        for call in (jnp.asarray, jnp.array, laminax.jit(lambda x, dtype: jnp.asarray(x, dtype), static_argnums=1)):
            with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
                assert call(value, np.float32)[0] == 2
    for number in (1j, [1.0, 1j]):
        with pytest.raises(TypeError, match="1j cannot become an array of dtype float32"):
            jnp.array(number, np.float32)
    assert jnp.array(1j, bool) and not jnp.array(1j, bool).weak_type


def test_complex_to_real_is_deprecated():
    with pytest.warns(DeprecationWarning, match="Casting from complex to real dtypes"):
        assert jnp.array(2 + 1j).astype(np.float32) == 2


@pytest.mark.parametrize("method", ["var", "std", "mean", "sum", "prod", "max", "min", "argmax", "cumsum", "ravel", "transpose", "round",
                                    "any", "squeeze"])
def test_traced_arrays_have_the_methods_of_arrays(method):
    """`var` was once hidden by an attribute of tracers."""
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    found = laminax.jit(lambda x: getattr(x, method)())(x)
    np.testing.assert_allclose(found, getattr(x, method)(), rtol=1e-5, atol=1e-6)


def test_membership_of_vectors():
    x = jnp.arange(4.0)
    assert 1 in x and jnp.float32(3) in x and np.array(2) in x and 7 not in x and np.nan not in jnp.array([np.nan])
    assert 1 not in jnp.zeros(0) and True in jnp.array([False, True])
    with pytest.raises(laminax.errors.TracerBoolConversionError):
        laminax.jit(lambda x: 1 in x)(x)


@pytest.mark.parametrize("array, element, error, words", [
    (np.zeros((2, 2)), 1, ValueError, r"__contains__: search array must be one-dimensional, got f32\[2,2\]"),
    (np.zeros(()), 1, ValueError, r"__contains__: search array must be one-dimensional, got f32\[\]"),
    (np.zeros(2), np.zeros(2), ValueError, r"__contains__: query value must be a scalar, got f\d\d\[2\]"),
    (np.zeros(2), "a", TypeError, "__contains__: unsupported operand type <class 'str'>"),
])
def test_what_membership_refuses(array, element, error, words):
    with pytest.raises(error, match=words):
        element in jnp.asarray(array, np.float32)
