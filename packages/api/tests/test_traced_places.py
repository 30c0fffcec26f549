"""What only an array has, asked of a traced value: the answer of the array behind it, or an error that says what to do."""

from __future__ import annotations

import pytest

import laminax
import laminax.numpy as jnp
from laminax.errors import ConcretizationTypeError

PROPERTIES = ("addressable_shards", "committed", "device", "global_shards", "is_fully_addressable", "is_fully_replicated")
METHODS = ("devices", "is_deleted", "on_device_size_in_bytes", "unsafe_buffer_pointer", "delete")


@pytest.mark.parametrize("name", PROPERTIES)
def test_properties(name):
    @laminax.jit
    def f(x):
        assert not hasattr(x, name) and getattr(x, name, "none") == "none"
        with pytest.raises(ConcretizationTypeError, match=f"Abstract tracer value .* `{name}` of"):
            getattr(x, name)
        return x

    f(jnp.ones(3))


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    @laminax.jit
    def f(x):
        with pytest.raises(ConcretizationTypeError, match=f"`{name}` of .*\n?.*Ask for `{name}` outside"):
            getattr(x, name)()
        return x

    f(jnp.ones(3))


def test_types_say_where_memory_is():
    @laminax.jit
    def f(x):
        with pytest.raises(AttributeError, match="typeof"):
            x.memory_space
        assert x.to_concrete_value() is None and x.full_lower() is x
        return x

    f(jnp.ones(3))


def test_of_a_value_that_is_known():
    x = jnp.ones(3)

    def f(y):
        assert y.devices() == x.devices() and not y.is_deleted() and y.to_concrete_value() is x
        return y.sum()

    laminax.grad(f)(x)
