"""Checkpointing and collectives through the api: compiled, and as the documentation shows them."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.ad_checkpoint import checkpoint_name, saved_residuals
from laminax.extend.core import Primitive
from laminax.interpreters import ad


def test_the_documented_example():
    @laminax.checkpoint
    def g(x):
        y = jnp.sin(x)
        z = jnp.sin(y)
        return z

    np.testing.assert_allclose(laminax.grad(g)(2.0), -0.25563914, rtol=1e-6)
    np.testing.assert_allclose(laminax.jit(laminax.grad(g))(2.0), -0.25563914, rtol=1e-6)


def block(params, x):
    y = checkpoint_name(jnp.tanh(x @ params["w"]), "hidden")
    return x + jnp.tanh(y @ params["v"])


@pytest.mark.parametrize("policy", [None, laminax.checkpoint_policies.dots_saveable,
                                    laminax.checkpoint_policies.save_only_these_names("hidden")])
def test_training_step(policy):
    rng = np.random.default_rng(0)
    params = [{k: rng.normal(size=(8, 8)).astype(np.float32) / 3 for k in "wv"} for _ in range(6)]
    x = rng.normal(size=(4, 8)).astype(np.float32)

    def loss(block, params, x):
        for p in params:
            x = block(p, x)
        return jnp.sum(x ** 2)

    want = laminax.jit(laminax.value_and_grad(lambda p: loss(block, p, x)))(params)
    rematted = laminax.checkpoint(block, policy=policy)
    out = laminax.jit(laminax.value_and_grad(lambda p: loss(rematted, p, x)))(params)
    for a, b in zip(laminax.tree_util.tree_leaves(out), laminax.tree_util.tree_leaves(want)):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5)
    stacked = {k: np.stack([p[k] for p in params]) for k in "wv"}
    scanned = laminax.grad(lambda p: jnp.sum(lax.scan(lambda x, p: (rematted(p, x), None), x, p)[0] ** 2))
    for k, g in laminax.jit(scanned)(stacked).items():
        np.testing.assert_allclose(g, np.stack([layer[k] for layer in want[1]]), rtol=2e-4, atol=1e-5)
    kept = [where for _, where in saved_residuals(lambda p: loss(rematted, p, x), params) if "named" in where]
    assert len(kept) == (6 if policy is not None and "names" in policy.__qualname__ else 0)


def test_collectives_compiled():
    x = np.arange(4, dtype=np.float32)
    f = laminax.jit(laminax.vmap(lambda x: (x / lax.psum(x, "i"), lax.axis_index("i"), lax.all_gather(x, "i")), axis_name="i"))
    shares, index, gathered = f(x)
    np.testing.assert_allclose(shares, x / 6)
    np.testing.assert_array_equal(index, [0, 1, 2, 3])
    np.testing.assert_array_equal(gathered, np.stack([x] * 4))
    with pytest.raises(NameError, match="unbound axis name: i"):
        laminax.jit(lambda x: lax.psum(x, "i"))(x)


def test_reduce_axes_compiled():
    w, x = np.float32(0.5), np.float32([1, 2, 3])
    per_example = laminax.vmap(laminax.jit(laminax.grad(lambda w, x: jnp.sin(w * x))), in_axes=(None, 0), axis_name="batch")
    total = laminax.jit(laminax.vmap(laminax.jit(laminax.grad(lambda w, x: jnp.sin(w * x), reduce_axes=("batch",))),
                                     in_axes=(None, 0), out_axes=None, axis_name="batch"))
    np.testing.assert_allclose(per_example(w, x), np.cos(w * x) * x, rtol=1e-6)
    np.testing.assert_allclose(total(w, x), np.sum(np.cos(w * x) * x), rtol=1e-6)


def test_a_jitted_function_inside_of_two_axes_is_traced_for_each():
    @laminax.jit
    def size():
        return lax.axis_index("i") + lax.psum(1, "i")

    for n in (3, 4):
        np.testing.assert_array_equal(laminax.vmap(lambda _: size(), axis_name="i")(np.zeros(n)), np.arange(n) + n)


def test_custom_vmap_compiled():
    @laminax.custom_batching.custom_vmap
    def f(x):
        return jnp.sin(x)

    f.def_vmap(lambda size, in_batched, x: (jnp.sin(x) + 1.0, True))
    x = np.float32([0.1, 0.2])
    np.testing.assert_allclose(laminax.jit(laminax.vmap(f))(x), np.sin(x) + 1, rtol=1e-6)
    np.testing.assert_allclose(laminax.jit(f)(x), np.sin(x), rtol=1e-6)


def test_checkpointing_saves_memory():
    def layer(x, w):
        for _ in range(4):
            x = jnp.tanh(x @ w)
        return x

    def temporaries(layer):
        def loss(x, w):
            for _ in range(16):
                x = layer(x, w)
            return jnp.sum(x)
        grad = laminax.jit(laminax.grad(loss, argnums=(0, 1)))
        compiled = grad.lower(np.ones((64, 32), np.float32), np.eye(32, dtype=np.float32)).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    # 64 activations without, 16 inputs and the four of one layer with it.
    assert temporaries(laminax.checkpoint(layer)) < 0.5 * temporaries(layer)


def test_outside_of_every_transformation_it_is_traced_too_and_only_once():
    traces = []

    @partial(laminax.checkpoint, static_argnums=1)
    def f(x, n):
        traces.append(1)
        return jnp.sin(x) * n, 3.0

    for _ in range(3):
        y, three = f(2.0, 5)
        np.testing.assert_allclose([y, three], [5 * np.sin(2.0), 3.0], rtol=1e-6)
        assert isinstance(three, laminax.Array)
    assert len(traces) == 1
    with pytest.raises(laminax.errors.TracerBoolConversionError):
        laminax.checkpoint(lambda x: x if x > 0 else -x)(2.0)
    np.testing.assert_allclose(laminax.checkpoint(lambda x, ns: x * ns[0], static_argnums=1)(2.0, [4]), 8.0)  # not hashable


def test_operations_without_a_lowering_run_outside_of_jit():
    """A function made anew for each call is not compiled as a whole, neither it nor its derivative."""
    runs = []
    negate_p = Primitive("negate_of_test")
    negate_p.def_abstract_eval(lambda x: x)
    negate_p.def_impl(lambda x: runs.append(1) or -x)
    ad.deflinear2(negate_p, lambda ct, x: [negate_p.bind(ct)])
    x = np.float32([1, 2])
    y, pullback = laminax.vjp(laminax.checkpoint(lambda x: jnp.sin(negate_p.bind(x))), x)
    np.testing.assert_allclose(y, np.sin(-x), rtol=1e-6)
    assert len(runs) == 1
    np.testing.assert_allclose(pullback(np.ones(2, np.float32))[0], -np.cos(-x), rtol=1e-6)
    assert len(runs) == 3  # once more for the cosine, and for the cotangent


def test_what_is_computed_again_is_in_a_scope_of_its_own():
    """For profiles, which tell both by their names."""
    f = laminax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    names = [re.findall(r'op_name="([^"]*)"', laminax.jit(g).lower(2.0).compile().as_text()) for g in (f, laminax.grad(f))]
    assert not any("rematted_computation" in name for name in names[0])
    again = sorted(name.rpartition("/")[2] for name in names[1] if "checkpoint/rematted_computation/" in name)
    assert again == ["cos", "cos", "sin"]  # the products are the derivative's own
