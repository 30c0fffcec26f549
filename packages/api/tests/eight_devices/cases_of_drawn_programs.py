"""Drawn programs per device, with their derivatives, against the same program under `vmap`, which has no devices."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from meshes import DEVICES, value

import laminax
import laminax.numpy as jnp
from laminax import lax, pmap, shard_map
from laminax.sharding import Mesh
from laminax.sharding import PartitionSpec as P

LINE = Mesh(np.array(DEVICES[:4]), ("i",))
RING = [(0, 1), (1, 2), (2, 3), (3, 0)]


def _loop(h, w, x):
    start = lax.pcast(jnp.zeros_like(h), "i", to="varying")
    return lax.scan(lambda c, _: (c + jnp.sin(h + w) * x, None), start, None, length=3)[0]


# Each takes h, which varies, w, which all have, and x, which varies; and returns something that varies of h's shape.
STEPS = {
    "product": lambda h, w, x: h * w + x,
    "sine": lambda h, w, x: jnp.sin(h) * jnp.cos(w),
    "psum": lambda h, w, x: jnp.tanh(lax.psum(h, "i")) * x,
    "pmean of w": lambda h, w, x: h + lax.pmean(w * x, "i") * lax.psum(w, "i"),
    "pmax": lambda h, w, x: h * lax.stop_gradient(lax.pmax(h, "i")) * 0.1 + w,
    "ppermute": lambda h, w, x: lax.ppermute(h * w, "i", RING) + h,
    "ppermute of w": lambda h, w, x: h + lax.ppermute(w, "i", [(0, 1)]) * x,
    "all_gather": lambda h, w, x: (lax.all_gather(h, "i") * w).sum(0) * x,
    "all_gather tiled": lambda h, w, x: lax.dynamic_slice_in_dim(lax.all_gather(h, "i", tiled=True), 1, h.shape[0]) + w,
    "psum_scatter": lambda h, w, x: h + lax.psum_scatter(jnp.concatenate([h * w, h, x, w + h]), "i", tiled=True),
    "all_to_all": lambda h, w, x: h * lax.all_to_all(jnp.stack([h, x, h * w, x * w]), "i", 0, 0).sum(0) * 0.1,
    "index": lambda h, w, x: h * (1 + lax.axis_index("i")) * 0.3 + w,
    "jit": lambda h, w, x: laminax.jit(lambda h, w: jnp.tanh(h * w) + lax.psum(h * 0.1, "i"))(h, w),
    "checkpoint": lambda h, w, x: laminax.checkpoint(lambda h: jnp.sin(lax.pmean(h * w, "i")) * h)(h),
    "loop": _loop,
    "branch": lambda h, w, x: lax.cond(w.sum() > 0, lambda: h * w, lambda: jnp.cos(h) + w),
    "call in a branch per device": lambda h, w, x: lax.cond(h.sum() > 0, lambda: laminax.jit(lambda w: jnp.sin(w) * w)(w) * h,
                                                            lambda: h + w),
    "branch per device": lambda h, w, x: lax.cond(h.sum() > 0, lambda: h * w, lambda: jnp.cos(h) + w),
}
programs = st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4)
W, X = value(3) + 0.5, value(4, 3)
WEIGHTS = np.random.default_rng(5).normal(size=(4, 3)).astype(np.float32)


def program(names):
    def f(w, x):
        h = x
        for name in names:
            h = STEPS[name](h, w, x)
        return h

    return f


def loss_of(mapped):
    return lambda w, x: (mapped(w, x) * WEIGHTS).sum()


def over_line(f, check):
    """The program of each device, on rows."""
    return shard_map(lambda w, x: f(w, x[0])[None], mesh=LINE, in_specs=(P(), P("i")), out_specs=P("i"), check_vma=check)


def assert_same(found, expected):
    for a, b in zip(laminax.tree.leaves(found), laminax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-3, atol=2e-3)  # float32, sums in other orders, up to 4 steps


@settings(max_examples=10)
@given(programs)
def test_values_and_derivatives(names):
    f = program(names)
    plain = laminax.jit(laminax.value_and_grad(loss_of(laminax.vmap(f, (None, 0), axis_name="i")), (0, 1)))(W, X)
    for mapped in (over_line(f, True), over_line(f, False), pmap(f, "i", in_axes=(None, 0))):
        assert_same(laminax.jit(laminax.value_and_grad(loss_of(mapped), (0, 1)))(W, X), plain)


@settings(max_examples=8)
@given(programs)
def test_derivatives_inside_are_those_of_the_whole(names):
    """With the check: the gradient for what all devices have, taken inside, is that of the sum over the devices."""
    f = program(names)
    plain = laminax.jit(laminax.grad(loss_of(laminax.vmap(f, (None, 0), axis_name="i")), (0, 1)))(W, X)

    def inside(w, x, weights):
        w_ct, x_ct = laminax.grad(lambda w, x: lax.psum((f(w, x[0]) * weights[0]).sum(), "i"), (0, 1))(w, x)
        return w_ct, x_ct

    found = laminax.jit(shard_map(inside, mesh=LINE, in_specs=(P(), P("i"), P("i")), out_specs=(P(), P("i"))))(W, X, WEIGHTS)
    assert_same(found, plain)


@settings(max_examples=5)
@given(programs)
def test_forward_mode(names):
    f = program(names)
    tangents = (np.ones_like(W), np.cos(X))
    plain = laminax.jit(lambda w, x: laminax.jvp(laminax.vmap(f, (None, 0), axis_name="i"), (w, x), tangents))(W, X)
    assert_same(laminax.jit(lambda w, x: laminax.jvp(over_line(f, True), (w, x), tangents))(W, X), plain)
