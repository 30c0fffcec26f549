"""Composite functions of the library: one compiled call on values, their operations in a trace; and the eager caches."""

import numpy as np
import pytest

from laminax_ir.tracing import source

import laminax
import laminax.numpy as jnp
from laminax._src.compiling import eager
from laminax._src.compiling.fusion import fused


@fused(static_argnames=("axes", "scale"))
def scaled_sum(x, *, axes=(0,), scale=1.0):
    """A sum."""
    return jnp.sum(jnp.sin(x) * scale, axis=tuple(axes))


def test_the_value_is_the_same_everywhere():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = np.sum(np.sin(x) * 2, axis=(0, 1))
    for run in (scaled_sum, laminax.jit(scaled_sum, static_argnames=("axes", "scale"))):
        np.testing.assert_allclose(run(x, axes=(0, 1), scale=2.0), expected, rtol=1e-6)
    np.testing.assert_allclose(scaled_sum(x, axes=[0, 1], scale=2.0), expected, rtol=1e-6)  # a list is made hashable
    np.testing.assert_array_equal(jnp.rot90(x, 1, [1, 0]), np.rot90(x, 1, [1, 0]))  # also one given by position
    with laminax.disable_jit():
        np.testing.assert_allclose(scaled_sum(x, axes=(0, 1), scale=2.0), expected, rtol=1e-6)
    assert scaled_sum.__doc__ == "A sum."


def test_traces_see_the_operations_and_no_call():
    names = [eqn.primitive.name for eqn in laminax.make_jaxpr(scaled_sum)(np.ones(3, np.float32)).eqns]
    assert "sin" in names and "jit" not in names
    np.testing.assert_allclose(laminax.grad(lambda x: scaled_sum(x))(jnp.ones(2)), np.cos(np.ones(2)), rtol=1e-6)


def test_a_function_staged_twice_has_the_positions_of_both_calls():
    def fun(x):
        x = laminax.nn.softmax(x)
        with laminax.named_scope("again"):
            x = laminax.nn.softmax(x)
        return x
    eqns = laminax.make_jaxpr(fun)(np.ones(3, np.float32)).eqns
    first, second = eqns[:len(eqns) // 2], eqns[len(eqns) // 2:]
    assert [eqn.primitive for eqn in first] == [eqn.primitive for eqn in second]
    start = fun.__code__.co_firstlineno
    assert {source.position(eqn.source_info).line - start for eqn in first} == {1}
    assert {source.position(eqn.source_info).line - start for eqn in second} == {3}
    assert {"again" in eqn.source_info.name_stack for eqn in first} == {False}
    assert {"again" in eqn.source_info.name_stack for eqn in second} == {True}
    x = np.array([0.5, -1.0, 2.0], np.float32)
    once = np.exp(x) / np.exp(x).sum()
    np.testing.assert_allclose(laminax.jit(fun)(x), np.exp(once) / np.exp(once).sum(), rtol=1e-6)


@pytest.mark.parametrize("in_axes", [(0, None), (None, 0), (1, 0), (0, 1), (0, 0)])
def test_a_function_mapped_twice_is_called_once(in_axes):
    calls = []

    @fused
    def product(x, y):
        calls.append(1)
        return jnp.sum(jnp.sin(x) * y), y

    def twice(x, y):
        first, y = product(x, y)
        with laminax.named_scope("again"):
            second, y = product(x + 1, y)
        return first - second, y

    x, y = np.arange(9, dtype=np.float32).reshape(3, 3), np.arange(9, 18, dtype=np.float32).reshape(3, 3)
    mapped = laminax.jit(laminax.vmap(twice, in_axes))
    expected = []
    for i in range(3):
        a, b = (v if axis is None else np.take(v, i, axis) for v, axis in zip((x, y), in_axes))
        expected.append((np.sum(np.sin(a) * b) - np.sum(np.sin(a + 1) * b), b))
    for got, want in zip(mapped(x, y), zip(*expected)):
        np.testing.assert_allclose(got, np.stack(want), rtol=1e-5)
    assert len(calls) == 1
    eqns = laminax.make_jaxpr(mapped)(x, y).eqns[0].params["jaxpr"].eqns
    names = [str(eqn.source_info.name_stack) for eqn in eqns if eqn.primitive.name == "sin"]
    assert names == ["vmap()", "vmap(again)"]


def test_functions_of_several_mapped_axes_and_sizes_are_told_apart():
    calls = []

    @fused
    def total(x):
        calls.append(1)
        return jnp.sum(jnp.tanh(x))

    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 10
    for _ in range(2):
        np.testing.assert_allclose(laminax.jit(laminax.vmap(laminax.vmap(total)))(x), np.tanh(x).sum(2), rtol=1e-6)
        np.testing.assert_allclose(laminax.jit(laminax.vmap(laminax.vmap(total, 1)))(x), np.tanh(x).sum(1), rtol=1e-6)
        np.testing.assert_allclose(laminax.jit(laminax.vmap(laminax.vmap(total, 1), 2))(x), np.tanh(x).sum(0).T, rtol=1e-6)
    assert len(calls) == 3


def test_values_without_a_tangent_are_copied_and_those_with_one_differentiated():
    calls = []

    @fused
    def cube(x):
        calls.append(1)
        return x * x * x

    def loss(x, y):
        return jnp.sum(cube(x) * cube(y) + cube(cube(y)))

    x, y = np.array([0.5, 2.0], np.float32), np.array([3.0, -1.0], np.float32)
    np.testing.assert_allclose(laminax.jit(laminax.grad(loss))(x, y), 3 * x**2 * y**3, rtol=1e-6)
    assert len(calls) == 2  # for x, and once for y
    np.testing.assert_allclose(laminax.jit(laminax.vmap(laminax.grad(loss)))(x[None], y[None]), (3 * x**2 * y**3)[None], rtol=1e-6)
    np.testing.assert_allclose(laminax.jit(laminax.grad(lambda x, y: jnp.sum(laminax.vmap(loss)(x, y))))(x[None], y[None]),
                               (3 * x**2 * y**3)[None], rtol=1e-6)


def test_the_cache_of_operations_is_bounded(monkeypatch):
    monkeypatch.setattr(eager, "_LIMIT", 4)
    monkeypatch.setattr(eager, "_functions", {})
    x = jnp.arange(12.0)
    for size in range(1, 12):
        assert laminax.lax.slice_in_dim(x, 0, size).shape == (size,)
        assert len(eager._functions) <= 4
    np.testing.assert_array_equal(laminax.lax.slice_in_dim(x, 0, 1), [0])


def test_arrays_of_the_same_bytes_are_not_the_same_operand():
    """A function kept the program for one array that the traced function closes over, and used it for another with the same bytes."""
    values = np.array([[3, 1], [0, 2]])
    for dtype, expected in [("int8", "int32"), ("uint8", "uint32"), ("int8", "int32")]:
        for x in (jnp.asarray(values.astype(dtype)), jnp.asarray(values.astype(dtype).reshape(1, 4))):
            out = laminax.jit(lambda: jnp.trace(x))()  # noqa: B023  (called at once)
            assert out.dtype == expected and out == values.reshape(x.shape).trace()
    for dtype in ("int8", "uint8", "int8"):
        x = jnp.asarray(np.array(3, dtype))
        assert laminax.jit(lambda: jnp.sinc(x) + jnp.trace(jnp.outer(x, x)))().dtype == "float32"  # noqa: B023
        assert laminax.eval_shape(lambda: jnp.tril(jnp.outer(x, x))).dtype == dtype  # noqa: B023
