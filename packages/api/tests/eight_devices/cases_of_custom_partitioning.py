"""Functions with their own partitioner on eight devices, against the functions on one, and against NumPy."""

from functools import partial

import numpy as np
import pytest
from meshes import MESH, on_mesh, put, value

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.experimental.custom_partitioning import SdyShardingRule, custom_partitioning


def test_rules_are_asked_and_each_device_computes_its_part():
    asked = []

    @custom_partitioning
    def doubled(x):
        return 2 * x

    def partition(mesh, args, result):
        asked.append((mesh, args[0].sharding, args[0].shape, result.sharding))
        return mesh, lambda x: x + x, result.sharding, (result.sharding,)

    doubled.def_partition(partition=partition, sharding_rule="i j -> i j")
    x = value(8, 4)
    found = laminax.jit(doubled)(put(x, "x", "y"))
    np.testing.assert_array_equal(found, 2 * x)
    assert asked == [(MESH, on_mesh("x", "y"), (8, 4), on_mesh("x", "y"))] and found.sharding == on_mesh("x", "y")
    np.testing.assert_array_equal(doubled(x), 2 * x)  # on one device nobody is asked
    assert len(asked) == 1


def test_collectives_run_between_the_devices():
    @partial(custom_partitioning, static_argnums=(2,))
    def product(x, y, factor=1):
        return factor * (x @ y)

    def partition(factor, mesh, args, result):
        wanted = on_mesh(None, "y"), on_mesh("y", None)
        return mesh, lambda x, y: factor * lax.psum(x @ y, "y"), on_mesh(None, None), wanted

    product.def_partition(partition=partition, sharding_rule="i j, j k -> i k", reduction_factors=("j",))
    x, y = value(8, 4), value(4, 8)
    found = laminax.jit(product, static_argnums=2)(put(x, None, "y"), put(y, "y"), 3)
    np.testing.assert_allclose(found, 3 * (x @ y), rtol=1e-5)


def test_trees_several_results_and_a_rule_that_is_a_function():
    @custom_partitioning
    def both(pair):
        return {"sum": pair[0] + pair[1], "product": pair[0] * pair[1]}

    def partition(mesh, args, result):
        shardings = laminax.tree.map(lambda s: s.sharding, args)
        return mesh, both.fun, laminax.tree.map(lambda s: s.sharding, result), shardings

    def rule(mesh, operands, results):
        assert [s.shape for s in (*operands, *results)] == [(8, 4)] * 4
        return SdyShardingRule((("i", "j"),) * 2, (("i", "j"),) * 2)

    both.def_partition(partition=partition, sharding_rule=rule)
    x = value(8, 4)
    found = laminax.jit(lambda x: both((x, x + 1)))(put(x, "x"))
    np.testing.assert_allclose(found["sum"], 2 * x + 1, rtol=1e-6)
    np.testing.assert_allclose(found["product"], x * (x + 1), rtol=1e-5)
    assert found["sum"].sharding.spec[0] == "x"


def test_inside_of_shard_map_it_is_the_function():
    @custom_partitioning
    def shifted(x):
        return x + 1

    shifted.def_partition(partition=lambda *_: pytest.fail("not asked"), sharding_rule="i -> i")  # for other shapes
    x = value(8, 4)
    found = laminax.shard_map(shifted, mesh=MESH, in_specs=laminax.P("x", "y"), out_specs=laminax.P("x", "y"))(x)
    np.testing.assert_array_equal(found, x + 1)


def test_a_program_compiles_again_and_is_found_again():
    @custom_partitioning
    def negated(x):
        return -x

    negated.def_partition(partition=lambda mesh, args, result: (mesh, lambda x: -x, result.sharding, (result.sharding,)),
                          sharding_rule="i -> i")
    f = laminax.jit(lambda x: negated(x) * 2)
    for _ in range(2):
        np.testing.assert_array_equal(f(put(np.arange(8.0), "x")), -2 * np.arange(8.0))
    np.testing.assert_array_equal(f(put(np.arange(16.0), "y")), -2 * np.arange(16.0))


def test_what_does_not_fit_is_refused():
    f = custom_partitioning(lambda x: x)
    x = put(value(8, 4), "x")
    with pytest.raises(ValueError, match="has no partition rule. Give it one with def_partition"):
        f(x)
    f.def_partition(partition=lambda mesh, args, result: None)
    with pytest.raises(NotImplementedError, match="Please provide sharding_rule to migrate to Shardy"):
        f(x)
    with pytest.raises(NotImplementedError, match="decode_shardings=False is not supported"):
        f.def_partition(partition=print, decode_shardings=False)
    with pytest.raises(TypeError, match="custom_partitioning: partition"):
        f.def_partition(partition=3)
    f.def_partition(partition=lambda mesh, args, result: (mesh, lambda x: x[:1], on_mesh("x"), (on_mesh("x"),)), sharding_rule="i j -> i j")
    with pytest.raises(ValueError, match=r"Mismatch in result shapes.* returned f32\[1,4\], and the parts of the result are f32\[2,4\]"):
        laminax.jit(f)(x)
    f = custom_partitioning(lambda x: x + 0)
    f.def_partition(partition=lambda mesh, args, result: (mesh, lambda x: x, (), (on_mesh("x"),)), sharding_rule="i j -> i j")
    with pytest.raises(ValueError, match="returned 0 result shardings for 1 results"):
        laminax.jit(f)(x)
    given = jnp.asarray(value(3, 4))
    over = custom_partitioning(lambda x: x + given)
    over.def_partition(partition=print, sharding_rule="i j -> i j")
    with pytest.raises(NotImplementedError, match="closes over arrays, which the partition rule would not get"):
        over(value(3, 4))
