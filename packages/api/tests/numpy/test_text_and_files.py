"""`laminax.numpy` functions that write and read: text, files, buffers, iterators, other libraries' arrays. Oracle: NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp


@pytest.mark.parametrize("x", [np.arange(3), np.array([[1.5, -2.25]], np.float32), np.array(True), np.zeros((0, 2), np.float32)])
def test_arrays_as_text_are_as_numpys(x):
    assert jnp.array_str(jnp.asarray(x)) == np.array_str(np.asarray(jnp.asarray(x)))
    assert jnp.array_repr(jnp.asarray(x)) == np.array_repr(np.asarray(jnp.asarray(x))).replace("array(", "Array(")
    assert jnp.array_str(jnp.asarray(x), precision=1) == np.array_str(np.asarray(jnp.asarray(x)), precision=1)


def test_options_of_printing():
    before = jnp.get_printoptions()
    assert before == np.get_printoptions()
    with jnp.printoptions(precision=2):
        assert jnp.get_printoptions()["precision"] == 2
        assert str(jnp.array([1.23456])) == "[1.23]"
    assert jnp.get_printoptions() == before
    jnp.set_printoptions(precision=3)
    try:
        assert jnp.array_str(jnp.array([1.23456])) == "[1.235]"
    finally:
        jnp.set_printoptions(precision=before["precision"])


def test_files(tmp_path):
    x = jnp.arange(6.0).reshape(2, 3)
    jnp.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), x)
    loaded = jnp.load(tmp_path / "x.npy")
    assert isinstance(loaded, laminax.Array) and loaded.dtype == x.dtype
    np.testing.assert_array_equal(loaded, x)
    jnp.savez(tmp_path / "both.npz", a=x, b=x[0])
    with np.load(tmp_path / "both.npz") as both:
        np.testing.assert_array_equal(both["b"], x[0])
    with pytest.raises(NotImplementedError, match="np.fromfile"):
        jnp.fromfile(tmp_path / "x.npy")


def test_buffers_strings_and_iterators():
    data = np.arange(5, dtype=np.int16).tobytes()
    np.testing.assert_array_equal(jnp.frombuffer(data, dtype=np.int16, count=3, offset=2), np.frombuffer(data, np.int16, 3, 2))
    np.testing.assert_array_equal(jnp.fromstring("1 2.5 3", sep=" "), [1, 2.5, 3])
    with pytest.raises(NotImplementedError, match="np.fromiter"):
        jnp.fromiter((i * i for i in range(4)), dtype=np.int32)


def test_arrays_of_other_libraries():
    np.testing.assert_array_equal(jnp.from_dlpack(np.arange(4, dtype=np.float32)), np.arange(4))


def test_functions_that_take_functions():
    np.testing.assert_array_equal(jnp.fromfunction(lambda i, j: 10 * i + j, (2, 3)), np.fromfunction(lambda i, j: 10 * i + j, (2, 3)))
    np.testing.assert_array_equal(jnp.fromfunction(jnp.equal, (3, 3), dtype=int), np.eye(3, dtype=bool))
    x = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(jnp.apply_over_axes(jnp.sum, x, (0, -1)), np.apply_over_axes(np.sum, x, (0, -1)))
    with pytest.raises(ValueError, match="function must return"):
        jnp.apply_over_axes(lambda a, axis: jnp.sum(a), x, (0, 1))
