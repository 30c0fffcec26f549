"""Functions that have two names: each has its own `__name__`, and all else is the same."""

import inspect

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp

NUMPY = {"abs": "absolute", "acos": "arccos", "acosh": "arccosh", "amax": "max", "amin": "min", "around": "round", "asin": "arcsin",
         "asinh": "arcsinh", "atan": "arctan", "atan2": "arctan2", "atanh": "arctanh", "bitwise_invert": "bitwise_not",
         "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift", "conj": "conjugate", "deg2rad": "radians",
         "divide": "true_divide", "invert": "bitwise_not", "mod": "remainder", "pow": "power", "rad2deg": "degrees"}


@pytest.mark.parametrize("name", NUMPY)
def test_of_numpy(name):
    alias, function = getattr(jnp, name), getattr(jnp, NUMPY[name])
    assert alias.__name__ == alias.__qualname__ == name and function.__name__ == NUMPY[name]
    assert inspect.signature(alias) == inspect.signature(function) and alias.__doc__ == function.__doc__
    args = (np.array([1, 2], np.int32),) * len([p for p in inspect.signature(function).parameters.values() if p.default is p.empty])
    np.testing.assert_array_equal(alias(*args), function(*args))


@pytest.mark.parametrize("name", [n for n in laminax.tree.__all__ if n != "static"])
def test_of_trees(name):
    assert getattr(laminax.tree, name).__name__ == name
    assert inspect.signature(getattr(laminax.tree, name)) == inspect.signature(getattr(laminax.tree_util, f"tree_{name}"))


def test_of_transformations():
    assert laminax.remat.__name__ == "remat" and laminax.jacobian.__name__ == "jacobian" and laminax.checkpoint.__name__ == "checkpoint"
    assert laminax.tree.map(lambda x: x + 1, [1, 2]) == [2, 3] and laminax.jacobian(lambda x: x**2)(3.0) == 6
    np.testing.assert_allclose(laminax.grad(laminax.remat(jnp.sin))(0.5), np.cos(0.5), rtol=1e-6)
