"""Computations in other places: what the compiler is told, and values that do not depend on it."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax.experimental.compute_on import compute_on, compute_on2
from laminax.memory import Space

A = np.arange(8.0, dtype=np.float32)
HOST = '_xla_compute_type = "host"'


def attributed(function, *args) -> list[str]:
    """The operations of a program that are told where to run, by name, with the rest of their lines."""
    lines = laminax.jit(function).lower(*args).as_text().splitlines()
    return [line.split(" = ", 1)[1] for line in lines if "_xla_" in line]


@pytest.mark.parametrize("compute_type, attributes", [
    ("device_host", HOST), ("device", '_xla_compute_type = "dense"'), ("tpu_sparsecore", '_xla_compute_type = "sparseoffload"'),
    ("gpu_stream:1", '_xla_stream_annotation = "1"')])
def test_operations_of_a_block(compute_type, attributes):
    def f(x):
        with compute_on(compute_type):
            y = jnp.sin(x)
        return y + 1

    (line,) = attributed(f, A)
    assert line.startswith("stablehlo.sine") and attributes in line and ("inlineable" in line) == compute_type.startswith("gpu")
    for call in (f, laminax.jit(f)):
        np.testing.assert_allclose(call(A), np.sin(A) + 1, rtol=1e-6)


def test_decorated_functions():
    @compute_on("device_host")
    @laminax.jit
    def g(x):
        return jnp.sum(x) * 2

    lines = attributed(lambda x: g(x) * jnp.sum(x), A)
    # the operations of g
    assert ([line.split("(")[0].split(" ")[0] for line in lines] == ["stablehlo.reduce", "stablehlo.multiply"]
            and all(HOST in line for line in lines))
    np.testing.assert_allclose(laminax.jit(lambda x: g(x) * jnp.sum(x))(A), 2 * A.sum() ** 2, rtol=1e-6)
    np.testing.assert_allclose(g(A), 2 * A.sum(), rtol=1e-6)


def test_the_inner_place_counts():
    @compute_on("device_host")
    def inner(x):
        return jnp.cos(x)

    @compute_on("gpu_stream:2")
    def outer(x):
        return jnp.sin(inner(x))

    cos, sin = attributed(outer, A)
    assert cos.startswith("stablehlo.cosine") and HOST in cos and "stream" not in cos and "inlineable" not in cos
    assert sin.startswith("stablehlo.sine") and '_xla_stream_annotation = "2"' in sin and "compute_type" not in sin


def test_transformations_keep_the_place():
    @compute_on("device_host")
    def g(x):
        return jnp.sin(x)

    gradient = laminax.grad(lambda x: g(x).sum())
    assert {line.split(" ", 1)[0] for line in attributed(gradient, A)} >= {"stablehlo.cosine", "stablehlo.multiply"}
    np.testing.assert_allclose(gradient(A), np.cos(A), rtol=1e-6)
    assert len(attributed(laminax.vmap(g), A)) == 1

    def loop(xs):
        def step(carry, x):
            with compute_on("device_host"):
                return carry, x + carry
        return laminax.lax.scan(step, 1.0, xs)[1]

    assert len(attributed(loop, A)) == 1
    np.testing.assert_array_equal(loop(A), A + 1)


def test_one_function_in_several_places_is_traced_for_each():
    @laminax.jit
    def f(x):
        return x * 2

    assert not attributed(f, A)
    with compute_on("device_host"):
        assert any(HOST in line for line in attributed(f, A))
        np.testing.assert_array_equal(f(A), 2 * A)
    assert not attributed(f, A)


def test_results_are_put_in_a_memory():
    @compute_on2(compute_type="device_host", out_memory_spaces=(Space.Host, Space.Device))
    def both(x, y):
        return x * y, {"sum": x + y}

    for call in (both, laminax.jit(both)):
        product, sums = call(A, A)
        assert product.sharding.memory_kind == "pinned_host" and sums["sum"].sharding.memory_kind == "device"
        np.testing.assert_array_equal(product, A * A)
        np.testing.assert_array_equal(sums["sum"], 2 * A)
    assert any(HOST in line for line in attributed(both, A, A))
    types = laminax.make_jaxpr(both)(A, A).out_avals
    assert [aval.memory_space for aval in types] == [Space.Host, Space.Device]
    square = compute_on2(lambda x: x * x, compute_type="device_host", out_memory_spaces=Space.Device)
    np.testing.assert_array_equal(laminax.grad(lambda x: square(x).sum())(A), 2 * A)


def test_a_function_on_a_place_with_options_for_its_compiler():
    @compute_on(compute_type="tpu_sparsecore", out_memory_spaces=Space.Device, compiler_options={"num_cores": 2})
    def double(x, *, by=2):
        return x * by

    (line,) = attributed(double, A)
    assert '_xla_compute_type = "sparseoffload"' in line and r'backend_config = "{\22num_cores\22: 2}"' in line
    np.testing.assert_array_equal(double(A, by=3), 3 * A)
    with compute_on(compute_type="device_host"):
        assert "backend_config" not in attributed(lambda x: x + 1, A)[0]


@pytest.mark.parametrize("call, error, message", [
    (lambda: compute_on(3).__enter__(), TypeError, "compute_type argument must be a string, got 3"),
    (lambda: compute_on("host").__enter__(), ValueError, "Invalid compute type host. Current supported values are `device_host`"),
    (lambda: compute_on("gpu_stream:one").__enter__(), ValueError, "Invalid compute type gpu_stream:one"),
    (lambda: compute_on2(3, compute_type="device", out_memory_spaces=Space.Device), TypeError,
     "compute_on2: Expected a callable value, got 3"),
    (lambda: compute_on2(abs, compute_type="disk", out_memory_spaces=Space.Device), ValueError, "Invalid compute type disk"),
    (lambda: compute_on2(abs, compute_type="device", out_memory_spaces="pinned_host"), TypeError,
     "must be a memory.Space.*got 'pinned_host'"),
    (lambda: compute_on(abs, compute_type="device"), TypeError, "out_memory_spaces must be given with a function"),
    (lambda: compute_on("device", out_memory_spaces=Space.Device), TypeError, "`out_memory_spaces` is for a function, which comes first"),
    (lambda: compute_on(), TypeError, "compute_type argument must be a string, got None"),
])
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
