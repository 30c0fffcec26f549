"""Arguments that become part of keys: what has no hash is refused by name, and nothing stays behind in the thread."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.options.ambient import trace_key

import laminax as jax
import laminax.numpy as jnp
from laminax import lax
from laminax.experimental.checkify import checkify
from laminax.sharding import Mesh, PartitionSpec

X = np.ones((1, 3), np.float32)


def identity(x):
    return x


def one_device():
    return jax.make_mesh((1,), ("x",), devices=jax.devices()[:1])


CASES = {
    "pmap: axis_name must be hashable, got \\[\\]": lambda: jax.pmap(identity, axis_name=[])(X),
    "pmap: a device in devices must be hashable": lambda: jax.pmap(identity, devices=[[]])(X),
    "pmap: axis_size must be an integer": lambda: jax.pmap(identity, axis_size=[])(X),
    "vmap: axis_name must be hashable, got \\[\\]": lambda: jax.vmap(identity, axis_name=[])(X),
    "vmap: spmd_axis_name must be hashable": lambda: jax.vmap(identity, spmd_axis_name=[])(X),
    "vmap: axis_size must be an integer": lambda: jax.vmap(identity, axis_size=[])(X),
    "a name in axis_names must be hashable": lambda: jax.shard_map(
        identity, mesh=one_device(), in_specs=PartitionSpec(), out_specs=PartitionSpec(), axis_names=[[]])(X),
    "Mesh: an axis name must be hashable": lambda: Mesh(np.array(jax.devices()[:1]), ([],)),
    "PartitionSpec: an entry must be None": lambda: PartitionSpec(None, {}),
    "psum: .*must be hashable, got {}": lambda: lax.psum(X, {}),
    "all_gather: .*must be hashable, got {}": lambda: lax.all_gather(X, {}),
    "axis_index: the name of an axis must be hashable": lambda: lax.axis_index({}),
    "make_jaxpr: a name in axis_env must be hashable": lambda: jax.make_jaxpr(identity, axis_env=[([], 2)])(X),
    "grad: a name in reduce_axes must be hashable": lambda: jax.grad(jnp.sum, reduce_axes=[[]])(X),
    "checkify: a category in errors must be hashable": lambda: checkify(identity, errors=[[]]),
    "compile: an option's value must be hashable": lambda: jax.jit(identity).lower(X).compile({"xla_cpu_enable_fast_math": []}),
    "jit: the value of an option in compiler_options must be hashable": lambda: jax.jit(identity, compiler_options={"a": []}),
    "jit: backend must be the name of a platform": lambda: jax.jit(identity, backend=[]),
    "vectorize can only exclude integer and string arguments": lambda: jnp.vectorize(identity, excluded=[[]]),
    "Unimplemented padding mode '{}'": lambda: jnp.pad(X, 1, mode={}),
    "default_matmul_precision cannot be {}": lambda: jax.default_matmul_precision({}),
    "default_device cannot be \\[\\]": lambda: jax.config.update("jax_default_device", []),
}


@pytest.mark.parametrize("message", CASES)
def test_what_has_no_hash_is_refused_by_name(message):
    jnp.sin(X) + 1
    before = trace_key()
    with pytest.raises((TypeError, ValueError, NotImplementedError), match=message):
        CASES[message]()
    assert trace_key() is before
    np.testing.assert_array_equal(jnp.ones(3) + 1, [2, 2, 2])


def test_a_thread_is_as_before_when_pmap_has_refused_a_name():
    """From then on nearly every call of the thread raised `unhashable type`, once."""
    for _ in range(2):
        with pytest.raises(TypeError, match="pmap: axis_name must be hashable"):
            jax.pmap(identity, axis_name=[])(X)
    np.testing.assert_allclose(jax.jit(jnp.sin)(X), np.sin(X), rtol=1e-6)
    np.testing.assert_array_equal(jax.pmap(identity, axis_name="i")(X), X)
