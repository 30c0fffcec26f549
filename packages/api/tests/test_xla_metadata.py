"""`set_xla_metadata`: attributes in programs as they are lowered and compiled, and that caches do not mix them up."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.experimental.scheduling_groups import scheduling_group
from laminax.experimental.xla_metadata import must_fuse_call, set_xla_metadata, xla_metadata_call, xla_metadata_call2


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


def calls(lowered):
    """The attributes of the calls in a program, as texts, in order."""
    lines = [line for line in lowered.as_text().splitlines() if " call @" in line]
    return [line.partition("mhlo.frontend_attributes = {")[2].partition("}")[0] for line in lines]


def test_calls_with_attributes_and_their_derivatives():
    @xla_metadata_call(inlineable="false", level=3, ratio=0.5)
    def f(x):
        return jnp.sin(x) * 2

    expected = 'inlineable = "false", level = "3", ratio = "0.5"'
    x = np.arange(3, dtype=np.float32)
    lowered = laminax.jit(lambda x: f(f(x)).sum()).lower(x)
    assert calls(lowered) == [expected] * 2 and lowered.as_text().count("func.func private @xla_metadata_call") == 1
    assert 'inlineable="false"' in lowered.compile().as_text()
    derivative = laminax.jit(laminax.grad(lambda x: f(x).sum()))
    assert calls(derivative.lower(x)) == [expected] * 2  # the forward and the backward pass
    np.testing.assert_allclose(derivative(x), 2 * np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(f(x), 2 * np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(laminax.vmap(f)(x), 2 * np.sin(x), rtol=1e-6)
    np.testing.assert_allclose(laminax.grad(laminax.checkpoint(lambda x: f(x).sum()))(x), 2 * np.cos(x), rtol=1e-6)


def test_operations_in_a_call_have_the_attributes_around_it():
    f = xla_metadata_call(jnp.sin, stage="call", only=True)

    @laminax.jit
    def g(x):
        with set_xla_metadata(stage="around", other=1):
            return f(x)

    lowered = g.lower(1.0)
    assert calls(lowered) == ['only = "true", other = "1", stage = "call"']
    assert attributes(lowered, "sine") == 'other = "1", stage = "around"'
    assert attributes(laminax.jit(f).lower(1.0), "sine") == ""


@pytest.mark.parametrize("decorator, expected", [
    (must_fuse_call("1"), 'MUST_FUSE = "1"'), (scheduling_group(name="a:b"), 'scheduling_group = "a:b"'),
    (xla_metadata_call2({"jaxpr": "v", "f": "w"}), 'f = "w", jaxpr = "v"'), (xla_metadata_call2(metadata={"a": False}), 'a = "false"'),
])
def test_decorators(decorator, expected):
    @decorator
    def f(x, *, y):
        """What it says."""
        return {"sum": x + y}

    jitted = laminax.jit(lambda x: f(x, y=2.0))
    assert calls(jitted.lower(1.0)) == [expected] and jitted(1.0)["sum"] == 3 and f.__doc__ == "What it says."


@pytest.mark.parametrize("call, error, message", [
    (lambda: xla_metadata_call(abs, bad=object()), TypeError, "metadata values must be str, bool, int, or float, got bad=<object"),
    (lambda: xla_metadata_call(3, a=1), TypeError, "xla_metadata_call"),
    (lambda: xla_metadata_call2(abs, "text"), TypeError, "metadata must be a dict of attributes by name, got 'text'"),
    (lambda: xla_metadata_call2(abs, {}, ad_metadata="typo"), TypeError, "ad_metadata must be 'same', 'drop' or a dict, got 'typo'"),
    (lambda: xla_metadata_call2(abs, {}, ad_metadata={"a": []}), TypeError, "metadata values must be str, bool, int, or float"),
    (lambda: xla_metadata_call2(3, {}), TypeError, "expected a callable, got 3 of type int"),
])
def test_what_is_no_call_with_attributes(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("ad_metadata, backward", [("same", 'tag = "x"'), ("drop", None), ({"tag": "back"}, 'tag = "back"'),
                                                   ({"other": 1}, 'other = "1"')])
def test_attributes_of_the_calls_that_derivatives_make(ad_metadata, backward):
    f = xla_metadata_call2(lambda x: jnp.sin(x) * x, {"tag": "x"}, ad_metadata=ad_metadata)
    computed = laminax.jit(laminax.value_and_grad(f))
    text = computed.lower(1.0).as_text()
    lines = [line for line in text.splitlines() if "frontend_attributes" in line and "call @" in line]
    assert [line.count('tag = "x"') for line in lines][0] == 1 and len(lines) == (1 if backward is None else 2)
    assert backward is None or backward in lines[1]
    np.testing.assert_allclose(computed(1.0)[1], np.sin(1.0) + np.cos(1.0), rtol=1e-6)
    forward = laminax.jit(lambda x, t: laminax.jvp(f, (x,), (t,))).lower(1.0, 1.0).as_text()
    assert forward.count('tag = "x"') == 1


def test_a_derivative_inside_of_the_function_has_its_attributes():
    f = xla_metadata_call2(laminax.grad(lambda x: jnp.sin(x) * x), {"tag": "x"}, ad_metadata="drop")
    assert laminax.jit(f).lower(1.0).as_text().count('tag = "x"') == 1


def test_equations_tell_their_attributes():
    @set_xla_metadata(a="b")
    @laminax.jit
    def f(x):
        y = jnp.sin(x)
        with set_xla_metadata(a=None, c=True):
            return y * 2
    sine, product = f.trace(1.0).jaxpr.eqns
    assert sine.ctx.xla_metadata == {"a": "b"} and product.ctx.xla_metadata == {"c": "true"}
    assert laminax.make_jaxpr(jnp.cos)(1.0).eqns[0].ctx.xla_metadata == {}
