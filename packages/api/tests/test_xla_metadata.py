"""`set_xla_metadata`: attributes in programs as they are lowered and compiled, and that caches do not mix them up."""

import numpy as np

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.experimental.xla_metadata import set_xla_metadata


def attributes(lowered, operation):
    """The frontend attributes of the only such operation in a program, as text."""
    (line,) = [line for line in lowered.as_text().splitlines() if f"stablehlo.{operation} " in line]
    return line.partition("mhlo.frontend_attributes = {")[2].partition("}")[0]


def test_a_block_inside_of_a_function_and_around_its_call():
    @laminax.jit
    def f(x):
        y = jnp.cos(x)
        with set_xla_metadata(inner=True):
            return jnp.sin(y)

    assert attributes(f.lower(1.0), "sine") == 'inner = "true"' and attributes(f.lower(1.0), "cosine") == ""
    with set_xla_metadata(outer=1):
        assert attributes(f.lower(1.0), "sine") == 'inner = "true", outer = "1"' and attributes(f.lower(1.0), "cosine") == 'outer = "1"'
    assert attributes(f.lower(1.0), "cosine") == ""


def test_compiled_programs_have_them():
    @laminax.jit
    def f(x):
        with set_xla_metadata(mark="here"):
            return jnp.dot(x, x)

    assert 'frontend_attributes={mark="here"}' in f.lower(jnp.ones((64, 64))).compile().as_text()
    np.testing.assert_array_equal(f(jnp.ones((64, 64))), np.full((64, 64), 64.0))


def test_calls_inside_and_outside_of_a_block_are_compiled_apart(caplog):
    @laminax.jit
    def f(x):
        return x * 3

    x = jnp.float32(2)
    with laminax.log_compiles():
        for _ in range(2):
            assert f(x) == 6 and x + 1 == 3
            with set_xla_metadata(a="b"):
                assert f(x) == 6 and x + 1 == 3
    assert [record.message.startswith("Compiling jit(f)") for record in caplog.records].count(True) == 2


def test_decorator_of_functions_jitted_or_not():
    @set_xla_metadata(a=1)
    @laminax.jit
    def outside(x):
        return jnp.sin(x)

    @laminax.jit
    @set_xla_metadata(a=1)
    def inside(x):
        """Its own words."""
        return jnp.sin(x)

    assert outside.__name__ == "outside" and inside.__doc__ == "Its own words."
    for f in (outside, inside):
        assert attributes(f.lower(1.0), "sine") == 'a = "1"' and f(0.0) == 0


def test_a_block_is_entered_inside_of_itself():
    block = set_xla_metadata(a=1)

    def f(x):
        with block, block:
            y = jnp.sin(x)
        return jnp.cos(y)

    lowered = laminax.jit(f).lower(1.0)
    assert attributes(lowered, "sine") == 'a = "1"' and attributes(lowered, "cosine") == ""


def test_branches_composite_functions_and_derivatives():
    def without(x):
        with set_xla_metadata(a=None):
            return jnp.cos(x)

    @laminax.jit
    def branches(x):
        with set_xla_metadata(a=1):
            return lax.cond(x < 0, jnp.sin, without, x)

    assert attributes(branches.lower(1.0), "sine") == 'a = "1"' and attributes(branches.lower(1.0), "cosine") == ""

    @laminax.jit
    def softmax(x):
        y = laminax.nn.softmax(x)  # recorded without
        with set_xla_metadata(a=1):
            return laminax.nn.softmax(jnp.sin(y))

    divisions = [line for line in softmax.lower(jnp.arange(3.0)).as_text().splitlines() if "stablehlo.divide " in line]
    assert ["frontend_attributes" in line for line in divisions] == [False, True]

    @laminax.jit
    def loss(x):
        with set_xla_metadata(a=1):
            return jnp.sin(x)

    assert attributes(laminax.jit(laminax.grad(loss)).lower(1.0), "cosine") == 'a = "1"'


def test_of_values():
    @laminax.jit
    def f(x):
        return jnp.sin(set_xla_metadata({"y": jnp.exp(x)}, a=1, b="c")["y"])

    assert attributes(f.lower(1.0), "exponential") == 'a = "1", b = "c"' and attributes(f.lower(1.0), "sine") == ""
    np.testing.assert_allclose(f(1.0), np.sin(np.exp(1.0)), rtol=1e-6)
    assert set_xla_metadata(jnp.float32(3), a=1) == 3
