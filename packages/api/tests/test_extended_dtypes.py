"""Extended dtypes of libraries' own, compiled: arguments and results of programs, derivatives, loops, devices."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax._src.names import dtypes as names
from laminax.experimental import primal_tangent_dtype

INT8 = primal_tangent_dtype("int8", "bfloat16")


class largest(laminax.dtypes.extended):
    pass


class LargestRules:
    """As Flax has them for what it remembers of numbers of eight bits: of several cotangents the largest counts."""

    @staticmethod
    def physical_element_aval(dtype):
        return SimpleNamespace(shape=(), dtype=dtype.float_dtype)

    @staticmethod
    def convert_from(dtype, other):
        return dtype.float_dtype == other

    @staticmethod
    def convert_to(other, dtype):
        return dtype.float_dtype == other

    @staticmethod
    def add(dtype, x, y):
        x, y = lax.convert_element_type(x, dtype.float_dtype), lax.convert_element_type(y, dtype.float_dtype)
        return lax.convert_element_type(lax.max(x, y), dtype)

    @staticmethod
    def zero(dtype):
        return lax.convert_element_type(np.array(-np.inf, dtype.float_dtype), dtype)

    @staticmethod
    def tangent_dtype(dtype):
        return dtype

    @staticmethod
    def full(shape, fill_value, dtype):
        return lax.convert_element_type(lax.full(shape, fill_value, dtype.float_dtype), dtype)


@dataclass(frozen=True)
class Largest(names.ExtendedDType):
    float_dtype: np.dtype
    name = "largest32"
    type = largest
    _rules = LargestRules


LARGEST = Largest(np.dtype("float32"))


def test_arrays_are_arguments_results_and_constants_of_programs():
    x = jnp.arange(6, dtype="int8").reshape(2, 3).astype(INT8)
    assert isinstance(x, laminax.Array) and x.dtype == INT8 and x.shape == (2, 3)
    doubled = laminax.jit(lambda x: (x.astype("int8") * 2).astype(INT8))(x)
    np.testing.assert_array_equal(doubled.astype("int8"), 2 * np.arange(6).reshape(2, 3))
    turned = laminax.jit(lambda: jnp.concatenate([x, doubled], 1).T[::-1])()
    expected = np.concatenate([np.arange(6).reshape(2, 3), 2 * np.arange(6).reshape(2, 3)], 1).T[::-1]
    np.testing.assert_array_equal(turned.astype("int8"), expected)
    assert laminax.eval_shape(lambda x: x[0], x).dtype == INT8
    for move in (lambda x: x.at[0].set(x[1]), lambda x: jnp.where(np.array([True, False, True]), x, x[1]), lambda x: jnp.take(x, 1, 0)):
        np.testing.assert_array_equal(laminax.jit(move)(x).astype("int8"), move(np_like(x)))


class np_like:
    """What the moves above do, by NumPy."""

    def __new__(cls, x):
        return jnp.asarray(np.asarray(x.astype("int8")))


@pytest.mark.parametrize("is_compiled", [False, True])
def test_the_largest_cotangent_counts(is_compiled):
    @laminax.custom_vjp
    def noted(x, scale, history):
        return x

    def forward(x, scale, history):
        return x, (x, history)

    def backward(residuals, ct):
        x, history = residuals
        history = lax.convert_element_type(history, "float32")
        seen = jnp.roll(history, 1).at[0].set(jnp.max(jnp.abs(x)))
        return ct, lax.convert_element_type(jnp.max(seen)[None], LARGEST), lax.convert_element_type(seen, LARGEST)

    noted.defvjp(forward, backward)

    def loss(x, scale, history):
        scale, history = lax.convert_element_type(scale, LARGEST), lax.convert_element_type(history, LARGEST)
        out, _ = lax.scan(lambda carry, _: (noted(carry, scale, history) * 0.5, None), x[None], None, length=3)
        return out[0]

    step = laminax.grad(loss, (0, 1, 2))
    step = laminax.jit(step) if is_compiled else step
    x_bar, scale, history = step(jnp.float32(2), jnp.ones(1), jnp.zeros(3))
    assert (float(x_bar), float(scale[0])) == (0.125, 2.0)
    np.testing.assert_array_equal(history, [2, 0, 0])
    _, scale, history = step(jnp.float32(1), scale, history)
    np.testing.assert_array_equal(history, [1, 2, 0])
    assert float(scale[0]) == 2.0


def test_full_and_zeros_ask_the_dtype():
    np.testing.assert_array_equal(lax.convert_element_type(jnp.full((2,), 3, LARGEST), "float32"), [3, 3])


def test_derivatives_of_integers():
    @laminax.custom_gradient
    def double(x):
        return x.astype("int8").astype("bfloat16") * 2, lambda ct: (2 * ct,)

    def run(x):
        result, pull = laminax.vjp(double, x)
        return result, pull(jnp.ones(3, "bfloat16"))[0]

    x = jnp.array([1, 2, 3], "int8").astype(INT8)
    for result, ct in (run(x), laminax.jit(run)(x)):
        np.testing.assert_array_equal(result.astype("float32"), [2, 4, 6])
        assert ct.dtype == jnp.bfloat16 and ct.tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="requires real- or complex-valued inputs"):
        laminax.grad(lambda x: double(x).sum())(x)


def test_what_cannot_be_done_with_them_says_so():
    x = jnp.array([1, 2, 3], "int8").astype(INT8)
    with pytest.raises(TypeError, match="add does not accept dtype"):
        x + x
    with pytest.raises(ValueError, match="values of the extended dtype .* cannot be written"):
        laminax.export.export(laminax.jit(lambda x: x))(x).serialize()
    with pytest.raises(TypeError, match="of random keys or other extended dtypes"):
        laminax.pure_callback(lambda x: x, laminax.ShapeDtypeStruct((3,), "int8"), x)
