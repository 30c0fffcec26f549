"""pmap on eight devices: against loops over slices, and the examples of its documentation."""

from functools import partial

import numpy as np
import pytest
from meshes import DEVICES, value

import laminax
import laminax.numpy as jnp
from laminax import lax, pmap, random


def rows(x):
    """Where the parts of an array are, and what they are."""
    return {shard.device: np.asarray(shard.data) for shard in x.addressable_shards}


# the examples of the documentation


def test_map_along_the_leading_axis():
    out = pmap(lambda x: x ** 2)(jnp.arange(8))
    assert out.tolist() == [0, 1, 4, 9, 16, 25, 36, 49]
    assert rows(out) == {device: [i ** 2] for i, device in enumerate(DEVICES)}
    x = np.arange(3 * 2 * 2.0).reshape(3, 2, 2)
    np.testing.assert_allclose(np.asarray(pmap(jnp.dot)(x, x ** 2)), np.stack([a @ b for a, b in zip(x, x ** 2)]))
    with pytest.raises(ValueError, match="requires 9 replicas, but only 8 XLA devices are available"):
        pmap(lambda x: x ** 2)(jnp.arange(9))


def test_arguments_that_each_device_gets_whole():
    x, y = jnp.arange(2.0), 4.0
    first, second = pmap(lambda x, y: (x + y, y * 2.0), in_axes=(0, None))(x, y)
    assert first.tolist() == [4, 5] and second.tolist() == [8, 8]
    first, second = pmap(lambda x, y: (x + y, y * 2.0), in_axes=(0, None), out_axes=(0, None))(x, y)
    assert first.tolist() == [4, 5] and second.tolist() == 8 and second.sharding.is_fully_replicated


def test_collectives():
    out = pmap(lambda x: x / lax.psum(x, axis_name="i"), axis_name="i")(jnp.arange(4.0))
    np.testing.assert_allclose(np.asarray(out), np.arange(4) / 6, rtol=1e-6)
    assert float(out.sum()) == 1.0


def test_nested_pmaps():
    @partial(pmap, axis_name="rows")
    @partial(pmap, axis_name="cols")
    def normalize(x):
        return x / lax.psum(x, "rows"), x / lax.psum(x, "cols"), x / lax.psum(x, ("rows", "cols"))

    x = np.arange(8.0).reshape(4, 2)
    expected = x / x.sum(0), x / x.sum(1, keepdims=True), x / x.sum()
    for _ in range(2):
        for result, want in zip(normalize(x), expected):
            np.testing.assert_allclose(np.asarray(result), want, rtol=1e-6)
    assert normalize(x)[0].devices() == set(DEVICES)


def test_positions_in_nested_pmaps():
    def f(x):
        inner = pmap(lambda x: x + 10 * lax.axis_index("i") + lax.axis_index("j"), axis_name="j")(x)
        return inner + 100 * laminax.jit(lambda x: x + lax.axis_index("i"))(lax.axis_index("i"))

    result = pmap(f, axis_name="i")(np.zeros((4, 2), np.int32))
    np.testing.assert_array_equal(np.asarray(result), [[210 * i + j for j in range(2)] for i in range(4)])


def test_chosen_devices():
    @partial(pmap, axis_name="i", devices=DEVICES[:6])
    def f1(x):
        return x / lax.psum(x, axis_name="i")

    @partial(pmap, axis_name="i", devices=DEVICES[-2:])
    def f2(x):
        return lax.psum(x ** 2, axis_name="i")

    np.testing.assert_allclose(np.asarray(f1(jnp.arange(6.0))), np.arange(6) / 15, rtol=1e-6)
    assert f2(jnp.array([2.0, 3.0])).tolist() == [13, 13]
    assert list(rows(f2(jnp.array([2.0, 3.0])))) == DEVICES[-2:]


# against loops


AXES = [(0, 0), (1, 0), (-1, 0), (0, 1), (1, -1), (-3, 2)]


@pytest.mark.parametrize("in_axis, out_axis", AXES)
def test_axes(in_axis, out_axis):
    x = value(4, 4, 4)
    out = pmap(lambda x: jnp.sin(x).T, in_axes=in_axis, out_axes=out_axis)(x)
    slices = [np.sin(np.take(x, i, in_axis)).T for i in range(4)]
    np.testing.assert_allclose(np.asarray(out), np.stack(slices, out_axis), rtol=1e-6)


def test_trees_keywords_and_static_arguments():
    def f(tree, scale, *, shift):
        return {"sum": tree["a"] + tree["b"][0] * scale + shift}

    a, b, shift = value(4, 3), value(4), value(4, 1)
    out = pmap(f, in_axes=({"a": 0, "b": None}, None))({"a": a, "b": (b[:3],)}, 2.0, shift=shift)
    np.testing.assert_allclose(np.asarray(out["sum"]), a + b[:3] * 2 + shift, rtol=1e-6)
    g = pmap(lambda x, n, y: x * n + y, static_broadcasted_argnums=1)
    for n in (3, 5, 3):
        np.testing.assert_allclose(np.asarray(g(a, n, a)), a * n + a, rtol=1e-6)
    h = pmap(lambda x, n, y: x * n + y, static_broadcasted_argnums=1, in_axes=(0, None, None))
    np.testing.assert_allclose(np.asarray(h(a, 2, b[:3])), a * 2 + b[:3], rtol=1e-6)


COLLECTIVES = [
    (lambda x: lax.psum(x, "i"), lambda x: np.stack([x.sum(0)] * 4)),
    (lambda x: lax.pmean(x, "i"), lambda x: np.stack([x.mean(0)] * 4)),
    (lambda x: lax.pmax(x, "i"), lambda x: np.stack([x.max(0)] * 4)),
    (lambda x: lax.pmin(x, "i"), lambda x: np.stack([x.min(0)] * 4)),
    (lambda x: lax.all_gather(x, "i"), lambda x: np.stack([x] * 4)),
    (lambda x: lax.all_gather(x, "i", axis=1, tiled=True), lambda x: np.stack([np.concatenate(list(x), 1)] * 4)),
    (lambda x: lax.psum_scatter(x, "i"), lambda x: x.sum(0)),
    (lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2), (3, 0)]), lambda x: np.stack([x[3], x[0], x[1], 0 * x[0]])),
    (lambda x: lax.all_to_all(x, "i", 0, 0), lambda x: np.swapaxes(x, 0, 1)),
    (lambda x: lax.all_to_all(x, "i", 0, 1, tiled=True),
     lambda x: np.stack([np.concatenate([x[j][i:i + 1] for j in range(4)], 1) for i in range(4)])),
    (lambda x: x * lax.axis_index("i"), lambda x: x * np.arange(4)[:, None, None]),
    (lambda x: lax.psum(x, "i", axis_index_groups=[[0, 3], [1, 2]]), lambda x: np.stack([x[0] + x[3], x[1] + x[2]] * 2)[[0, 1, 1, 0]]),
    (lambda x: lax.pbroadcast(x, "i", 2), lambda x: np.stack([x[2]] * 4)),
]


@pytest.mark.parametrize("fun, expected", COLLECTIVES)
def test_each_collective(fun, expected):
    x = value(4, 4, 2)
    np.testing.assert_allclose(np.asarray(pmap(fun, axis_name="i")(x)), expected(x), rtol=1e-5, atol=1e-6)
    mapped = laminax.vmap(fun, axis_name="i")(x)  # another way to the same
    np.testing.assert_allclose(np.asarray(mapped), expected(x), rtol=1e-5, atol=1e-6)


def test_collectives_in_loops_and_calls():
    @laminax.jit
    def normalized(x):
        return x / jnp.sqrt(lax.psum(x * x, "i"))

    def f(x):
        return lax.fori_loop(0, 3, lambda i, x: normalized(x + 1) + normalized(x), x)

    expected = value(4, 3)
    for _ in range(3):
        expected = sum(y / np.sqrt((y * y).sum(0)) for y in (expected + 1, expected))
    np.testing.assert_allclose(np.asarray(pmap(f, axis_name="i")(value(4, 3))), expected, rtol=1e-5)


def test_random_keys():
    keys = random.split(random.key(3), 4)
    out = pmap(lambda key: random.normal(key, (2,)))(keys)
    np.testing.assert_array_equal(np.asarray(out), np.stack([np.asarray(random.normal(key, (2,))) for key in keys]))
    split = pmap(lambda key: random.split(key))(keys)
    assert split.shape == (4, 2)
    np.testing.assert_array_equal(random.key_data(split), np.stack([random.key_data(random.split(key)) for key in keys]))


# transformations


def test_derivatives_through_and_inside():
    x = np.arange(1.0, 5.0, dtype=np.float32)
    total = x.sum()

    def f(x):
        return jnp.sin(x) * lax.psum(x, "i")

    through = laminax.grad(lambda x: pmap(f, axis_name="i")(x).sum())(x)
    np.testing.assert_allclose(np.asarray(through), np.cos(x) * total + np.sin(x).sum(), rtol=1e-5)  # by hand
    inside = pmap(laminax.grad(f), axis_name="i")(x)  # of the sum over all participants
    np.testing.assert_allclose(np.asarray(inside), np.cos(x) * total + np.sin(x).sum(), rtol=1e-5)
    shared = laminax.grad(lambda w: pmap(lambda x, w: x * w, in_axes=(0, None))(x, w).sum())(2.0)
    np.testing.assert_allclose(np.asarray(shared), total)
    unmapped = laminax.grad(lambda x: pmap(lambda x: lax.psum(x * x, "i"), axis_name="i", out_axes=None)(x))(x)
    np.testing.assert_allclose(np.asarray(unmapped), 2 * x)
    primal, tangent = laminax.jvp(pmap(f, axis_name="i"), (x,), (np.ones_like(x),))
    np.testing.assert_allclose(np.asarray(tangent), np.cos(x) * total + 4 * np.sin(x), rtol=1e-5)
    second = laminax.jacfwd(laminax.grad(lambda x: pmap(jnp.sin)(x).sum()))(x)
    np.testing.assert_allclose(np.asarray(second), np.diag(-np.sin(x)), atol=1e-6)


def test_reduce_axes():
    x = value(4, 3)

    def loss(w, x):
        return jnp.sum((w * x) ** 2)

    w = np.float32(3)
    grads = pmap(laminax.grad(loss, reduce_axes=("i",)), axis_name="i", in_axes=(None, 0))(w, x)
    np.testing.assert_allclose(np.asarray(grads), np.full(4, 2 * w * (x * x).sum()), rtol=1e-5)
    per_device = pmap(laminax.grad(loss, reduce_axes=("i",)), axis_name="i", in_axes=(0, 0))(np.full(4, w), x)
    np.testing.assert_allclose(np.asarray(per_device), 2 * w * (x * x).sum(1), rtol=1e-5)


def test_under_jit_and_vmap():
    x = value(3, 4)
    f = pmap(lambda x: x * lax.psum(x, "i"), axis_name="i", in_axes=0)
    np.testing.assert_allclose(np.asarray(laminax.vmap(f)(x)), x * x.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(laminax.jit(lambda x: f(x[0]) + 1)(x)), x[0] * x[0].sum() + 1, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(laminax.vmap(f, in_axes=1, out_axes=1)(x.T)), x.T * x.T.sum(0), rtol=1e-5)
    with laminax.disable_jit():
        np.testing.assert_allclose(np.asarray(f(x[0])), x[0] * x[0].sum(), rtol=1e-5)


def test_a_training_step():
    """Data parallel: the gradients of all shards' means, averaged, are the gradient of the whole batch's mean."""
    x, w = value(8, 16, 4), value(4)

    @partial(pmap, axis_name="batch", in_axes=(None, 0), out_axes=None)
    def step(w, x):
        gradient = laminax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
        return w - 0.1 * lax.pmean(gradient, "batch")

    flat = x.reshape(-1, 4)
    expected = w - 0.1 * 2 * flat.T @ (flat @ w) / len(flat)
    result = step(w, x)
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.asarray(step(result, x)), np.asarray(step(np.asarray(result), x)), rtol=1e-6)


# caches and donation


def test_calls_stay_in_cpp_and_mappings_are_shared():
    traces = []

    def f(x):
        traces.append(1)
        return x * 2

    mapped = pmap(f)
    x = mapped(value(8, 2))
    counted = []
    program = mapped._laminax_jit.program
    mapped._laminax_jit.program = lambda *args: counted.append(1) or program(*args)
    mapped(x)  # spread already
    counted.clear()
    for _ in range(5):
        x = mapped(x)
    assert not counted and len(traces) == 1
    pmap(f)(value(8, 2)), pmap(f, in_axes=0)(value(8, 2))
    assert len(traces) == 1
    pmap(f, in_axes=1)(value(2, 8))
    assert len(traces) == 2


def test_donation():
    f = pmap(lambda x: x * 2, donate_argnums=0)
    x = f(value(8, 2))
    again = f(x)
    assert x.is_deleted()
    np.testing.assert_array_equal(np.asarray(again), value(8, 2) * 4)


def test_lowered_text():
    lowered = pmap(lambda x: lax.psum(x, "i"), axis_name="i").lower(np.ones(4, np.float32))
    assert "sdy.manual_computation" in lowered.as_text() and 'sdy.mesh @mesh = <["i"=4]>' in lowered.as_text()
    assert lowered.compile()(np.arange(4, dtype=np.float32)).tolist() == [6] * 4


# errors


@pytest.mark.parametrize("error, match, call", [
    (TypeError, "pmap: Expected a callable value, got 3", lambda: pmap(3)),
    (TypeError, "pmap in_axes must be an int, None, or .nested. container with those types as leaves, but got 'x'",
     lambda: pmap(abs, in_axes="x")),
    (ValueError, r"pmap got inconsistent sizes for array axes to be mapped.\n  x\['a'\], f32\[4\], axis 0: size 4\n  y, f32\[3,2\], "
     r"axis 0: size 3\nMake the sizes equal", lambda: pmap(lambda x, y: x)({"a": value(4)}, value(3, 2))),
    (ValueError, "inconsistent sizes.*axis_size is 3", lambda: pmap(abs, axis_size=3)(value(4))),
    (ValueError, r"at least one argument containing an array, got empty \*args=\(\{\},\) and \*\*kwargs=\{\}",
     lambda: pmap(lambda x: x)({})),
    (ValueError, r"static_broadcasted_argnums=\(1,\) but was called with only 1 positional argument\. All static",
     lambda: pmap(lambda x, n: x * n, static_broadcasted_argnums=1)(value(4), n=2)),
    (ValueError, "requires at least one argument with a mapped axis", lambda: pmap(lambda x: x, in_axes=None)(1.0)),
    (ValueError, r"the argument x, f32\[\], cannot be mapped over its axis 0: it has 0 axes. Give in_axes=None",
     lambda: pmap(lambda x: x)(1.0)),
    (ValueError, r"len\(in_axes\)=2, len\(args\)=1\n", lambda: pmap(lambda x: x, in_axes=(0, 0))(value(4))),
    (ValueError, r"len\(in_axes\)=2, len\(args\)=0. Entries are not for .*: each argument passed by keyword is mapped over its leading",
     lambda: pmap(lambda x, y: x, in_axes=(0, 0))(x=value(4), y=value(4))),
    (ValueError, r"must be a tree prefix of the arguments(?s:.*)different lengths of tuple at key path\n    pmap in_axes\[0\]\n",
     lambda: pmap(lambda x, y: y, in_axes=((0, 0, 0), 0))((value(4), value(4)), value(4))),
    (ValueError, "out_axes must be a prefix of the result", lambda: pmap(lambda x: x, out_axes=(0, 0))(value(4))),
    (ValueError, "out_axes=3 is out of range", lambda: pmap(lambda x: x, out_axes=3)(value(4))),
    (ValueError, "the mapped axis has size 3, but 4 devices were given", lambda: pmap(abs, devices=DEVICES[:4])(value(3))),
    (NotImplementedError, r"global_arg_shapes=\(\(4,\),\) is not supported", lambda: pmap(abs, global_arg_shapes=((4,),))),
    (NameError, "unbound axis name: j", lambda: pmap(lambda x: lax.psum(x, "j"), axis_name="i")(value(4))),
    (NotImplementedError, "devices cannot be given for a pmap inside of another one",
     lambda: pmap(pmap(lambda x: x, devices=DEVICES[:2]))(value(2, 2))),
    (ValueError, "requires 16 replicas, but only 8", lambda: pmap(pmap(lambda x: x))(value(4, 4))),
])
def test_errors(error, match, call):
    with pytest.raises(error, match=match):
        call()
