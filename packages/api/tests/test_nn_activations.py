"""Activation functions of host values in a trace, and the strength of their types. Oracle: the same on arrays, and formulas in NumPy."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import nn

FUNCTIONS = [nn.gelu, nn.elu, nn.selu, nn.leaky_relu, nn.hard_tanh, nn.hard_sigmoid, nn.hard_silu, nn.sparse_plus, nn.sparse_sigmoid,
             nn.soft_sign, nn.silu, nn.mish, nn.log_sigmoid]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16, np.int8])
def test_numpy_arrays_in_a_trace_are_computed_as_arrays(function, dtype):
    """NumPy's own operators took them: bfloat16 became float32 on the way, an int8 array float64."""
    x = np.array([-2, 0, 1], dtype)
    inside, outside = laminax.jit(lambda: function(x))(), function(jnp.asarray(x))
    assert inside.dtype == outside.dtype and inside.weak_type == outside.weak_type
    np.testing.assert_allclose(np.asarray(inside, np.float32), np.asarray(outside, np.float32), rtol=1e-2)


@pytest.mark.parametrize("function", [nn.elu, nn.leaky_relu, nn.hard_tanh, nn.selu, nn.sparse_plus, nn.log1mexp])
def test_complex_scalars_in_a_trace_are_compared_in_lexicographic_order(function):
    got = laminax.jit(lambda: function(0.5 + 1j))()  # Python cannot compare complex numbers
    np.testing.assert_allclose(got, function(jnp.array([0.5 + 1j]))[0], rtol=1e-6)


def test_gelu_of_a_number_is_strong():
    assert not nn.gelu(0.5).weak_type and not nn.gelu(0.5, approximate=False).weak_type
    cube = 0.5 + 0.044715 * 0.5 ** 3
    np.testing.assert_allclose(nn.gelu(0.5), 0.25 * (1 + np.tanh(np.sqrt(2 / np.pi) * cube)), rtol=1e-6)


def test_lists_are_refused():
    with pytest.raises(TypeError, match=r"leaky_relu requires ndarray or scalar arguments, got <class 'list'> at position 0"):
        nn.leaky_relu([1.0])
