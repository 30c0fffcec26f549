"""shard_map on eight devices: against NumPy on the parts, its derivatives by hand, and what its check refuses."""

from functools import partial

import numpy as np
import pytest
from meshes import DEVICES, MESH, blocks, check_layout, on_mesh, put, value

import laminax
import laminax.numpy as jnp
import laminax.scipy.sparse.linalg
from laminax import lax, random, shard_map
from laminax.ad_checkpoint import checkpoint_name
from laminax.scipy import special
from laminax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

A = value(8, 4)
over_mesh = partial(shard_map, mesh=MESH)


# parts and wholes


@pytest.mark.parametrize("spec", [("x", "y"), ("y", "x"), (None, "y"), (("x", "y"),), ()])
def test_each_device_has_its_part(spec):
    shapes = []

    def f(part):
        shapes.append(part.shape)
        return part * 2

    mapped = over_mesh(f, in_specs=P(*spec), out_specs=P(*spec))
    for x in (A, put(A, "x")):
        check_layout(mapped(x), A * 2, spec)
        check_layout(laminax.jit(mapped)(x), A * 2, spec)
    assert set(shapes) == {blocks(A, spec)[0].shape}


def test_results_are_put_together():
    parts = over_mesh(lambda x: x.sum()[None, None], in_specs=P("x", "y"), out_specs=P("x", "y"))(A)
    np.testing.assert_allclose(np.asarray(parts), A.reshape(4, 2, 2, 2).sum((1, 3)), rtol=1e-5)
    columns = over_mesh(lambda x: lax.psum(x, "x"), in_specs=P("x", "y"), out_specs=P(None, "y"))(A)
    check_layout(columns, A.reshape(4, 2, 4).sum(0), (None, "y"), rtol=1e-5)
    repeated = over_mesh(lambda x: x, in_specs=P(), out_specs=P("x"))(A)
    np.testing.assert_array_equal(np.asarray(repeated), np.tile(A, (4, 1)))


def test_a_matrix_product_by_parts():
    """Rows of the one times columns of the other, the sums over y."""
    b = value(4, 6)
    product = over_mesh(lambda a, b: lax.psum(a @ b, "y"), in_specs=(P("x", "y"), P("y", None)), out_specs=P("x", None))
    np.testing.assert_allclose(np.asarray(product(A, b)), A @ b, rtol=1e-4, atol=1e-5)
    scattered = over_mesh(lambda a, b: lax.psum_scatter(a @ b, "y", scatter_dimension=1, tiled=True),
                          in_specs=(P("x", "y"), P("y", None)), out_specs=P("x", "y"))
    np.testing.assert_allclose(np.asarray(scattered(A, b)), A @ b, rtol=1e-4, atol=1e-5)


def test_the_older_name():
    from laminax.experimental.shard_map import shard_map as older
    f = older(lambda x: lax.psum(x, "x"), MESH, in_specs=P("x"), out_specs=P(), check_rep=True)
    np.testing.assert_allclose(np.asarray(f(A)), A.reshape(4, 2, 4).sum(0), rtol=1e-5)
    with pytest.raises(ValueError, match="may vary"):
        older(lambda x: x, MESH, P("x"), P())(A)
    assert older(lambda x: x, MESH, P("x"), P(), check_rep=False)(A).shape == (2, 4)


def test_trees_decorators_and_closures():
    offset = jnp.float32(3)

    @shard_map(mesh=MESH, in_specs=({"a": P("x"), "b": P()}, P("y")), out_specs=(P("x"), {"c": P("y")}))
    def f(tree, y):
        return tree["a"] * tree["b"] + offset, {"c": y - offset}

    first, second = f({"a": A, "b": (np.float32(2))}, A[0])
    check_layout(first, A * 2 + 3, ("x",))
    check_layout(second["c"], A[0] - 3, ("y",))


def test_positions_along_the_axes():
    f = over_mesh(lambda: (lax.axis_index("x") * 10 + lax.axis_index("y"))[None, None], in_specs=(), out_specs=P("x", "y"))
    assert np.asarray(f()).tolist() == [[0, 1], [10, 11], [20, 21], [30, 31]]
    assert over_mesh(lambda x: x * lax.axis_size(("x", "y")), in_specs=P(), out_specs=P())(1.0) == 8


def test_along_some_of_the_axes():
    """Over the others the compiler splits what it likes."""
    f = laminax.jit(shard_map(lambda x: x / lax.psum(x, "x"), mesh=MESH, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}))
    np.testing.assert_allclose(np.asarray(f(put(A, "x", "y"))), A / np.tile(A.reshape(4, 2, 4).sum(0), (4, 1)), rtol=1e-5)


def test_positions_along_some_of_the_axes():
    @laminax.jit
    def position():
        return lax.axis_index("x")

    def f(x):
        def step(carry, _):
            return carry + position(), None

        return x + lax.scan(step, lax.pcast(0, "x", to="varying"), None, length=2)[0] + lax.cond(x.sum() >= 0, position, position)

    mapped = laminax.jit(shard_map(f, mesh=MESH, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}))
    np.testing.assert_array_equal(np.asarray(mapped(np.zeros((4, 2), np.int32))), np.full((4, 2), 3) * np.arange(4)[:, None])

    def outer(x):
        inner = shard_map(lambda x: x + 10 * lax.axis_index("x") + lax.axis_index("y"), in_specs=P(None, "y"), out_specs=P(None, "y"),
                          mesh=MESH, axis_names={"y"})
        return inner(x) + 100 * lax.axis_index("x")

    nested = laminax.jit(shard_map(outer, mesh=MESH, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}))
    np.testing.assert_array_equal(np.asarray(nested(np.zeros((4, 2), np.int32))), [[110 * i, 110 * i + 1] for i in range(4)])


def test_one_inside_of_another():
    def outer(x):
        there = AbstractMesh((4, 2), ("x", "y"), AxisType.Auto)
        inner = shard_map(lambda x: x - lax.pmean(x, ("x", "y")), mesh=there, in_specs=P(None, "y"),
                          out_specs=P(None, "y"), axis_names={"y"})
        return inner(x)

    f = laminax.jit(shard_map(outer, mesh=MESH, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}))
    expected = A - np.tile(A.reshape(4, 2, 2, 2).mean((0, 2)), (4, 2))
    np.testing.assert_allclose(np.asarray(f(A)), expected, rtol=1e-5, atol=1e-6)


def test_the_mesh_that_is_set():
    f = shard_map(lambda x: lax.psum(x, "x"), in_specs=P("x"), out_specs=P())
    with laminax.set_mesh(MESH):
        np.testing.assert_allclose(np.asarray(f(A)), A.reshape(4, 2, 4).sum(0), rtol=1e-5)
    with laminax.set_mesh(Mesh(np.array(DEVICES[:2]), ("x",))):
        np.testing.assert_allclose(np.asarray(f(A)), A.reshape(2, 4, 4).sum(0), rtol=1e-5)
    with pytest.raises(ValueError, match="no mesh is given, and none is set"):
        f(A)


# derivatives


X, W = np.arange(1, 9, dtype=np.float32), np.float32(3)
BOTH = ("x", "y")


def loss(w, x):
    return (w * x ** 2).sum()


@pytest.mark.parametrize("check", [True, False])
def test_derivatives_from_outside(check):
    """The whole function is w sum(x^2), however it is checked inside."""
    f = over_mesh(lambda w, x: lax.psum(loss(w, x), BOTH), in_specs=(P(), P(BOTH)), out_specs=P(), check_vma=check)
    for grad in (laminax.grad(f, (0, 1)), laminax.jit(laminax.grad(f, (0, 1)))):
        w_ct, x_ct = grad(W, X)
        np.testing.assert_allclose(np.asarray(w_ct), (X ** 2).sum(), rtol=1e-6)
        np.testing.assert_allclose(np.asarray(x_ct), 2 * W * X, rtol=1e-6)
    _, tangent = laminax.jvp(f, (W, X), (np.float32(1), X))
    np.testing.assert_allclose(np.asarray(tangent), (X ** 2).sum() + 2 * W * (X ** 2).sum(), rtol=1e-6)
    hessian = laminax.jacfwd(laminax.grad(f, 1), 1)(W, X)
    np.testing.assert_allclose(np.asarray(hessian), 2 * W * np.eye(8), rtol=1e-6)


@pytest.mark.parametrize("check", [True, False])
def test_derivatives_from_outside_through_nonlinear_sums(check):
    def f(w, x):
        mean = lax.pmean(jnp.sin(w * x).sum(), "x")  # varies along y only
        return lax.psum(jnp.exp(mean) * x.sum() + w * mean, BOTH)

    def plain(w, x):
        parts = x.reshape(4, 2)  # by x and y
        mean = jnp.sin(w * parts).sum(0) / 4
        return (jnp.exp(mean)[None] * parts).sum() + 4 * (w * mean).sum()

    whole = over_mesh(f, in_specs=(P(), P(BOTH)), out_specs=P(), check_vma=check)
    x = value(8)
    np.testing.assert_allclose(float(whole(W, x)), float(plain(W, x)), rtol=1e-5)
    for found, expected in zip(laminax.grad(whole, (0, 1))(W, x), laminax.grad(plain, (0, 1))(W, x)):
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-4, atol=1e-5)


def test_derivatives_inside_with_the_check():
    """A value that does not vary is one value: its gradient is that of the sum of what the devices make of it."""
    def inside(fun, out):
        return np.asarray(over_mesh(fun, in_specs=(P(), P(BOTH)), out_specs=out)(W, X))

    total = (X ** 2).sum()
    np.testing.assert_allclose(inside(lambda w, x: laminax.grad(lambda w: lax.psum(loss(w, x), BOTH))(w), P()), total)
    np.testing.assert_allclose(inside(lambda w, x: laminax.grad(lambda w: loss(w, x))(w), P()), total)
    np.testing.assert_allclose(inside(lambda w, x: laminax.grad(lambda w: loss(w, x) + w)(w), P()), total + 8)
    np.testing.assert_allclose(inside(lambda w, x: laminax.grad(lambda x: lax.psum(loss(w, x), BOTH))(x), P(BOTH)), 2 * W * X)
    np.testing.assert_allclose(inside(lambda w, x: laminax.grad(lambda w: lax.psum(w, "x"))(w), P()), 4)
    np.testing.assert_allclose(inside(lambda w, x: laminax.grad(lambda w: (w + x).sum())(w), P()), 8)
    np.testing.assert_allclose(inside(lambda w, x: laminax.grad(lambda w: lax.psum(w, "x") + x.sum())(w), P()), 32)
    local = inside(lambda w, x: laminax.grad(lambda w: loss(w, x))(lax.pcast(w, BOTH, to="varying"))[None], P(BOTH))
    np.testing.assert_allclose(local, X ** 2)  # each device its own


def test_derivatives_inside_without_the_check():
    """Each device's own share, and sums are transposed to sums."""
    def inside(fun):
        return np.asarray(over_mesh(lambda w, x: fun(w, x)[None], in_specs=(P(), P(BOTH)), out_specs=P(BOTH), check_vma=False)(W, X))

    np.testing.assert_allclose(inside(lambda w, x: laminax.grad(lambda w: loss(w, x))(w)), X ** 2)
    np.testing.assert_allclose(inside(lambda w, x: laminax.grad(lambda w: lax.psum(loss(w, x), BOTH))(w)), 8 * X ** 2)


def test_derivatives_through_calls_and_loops():
    @laminax.jit
    def scaled(w, x):
        return jnp.tanh(w * x)

    def f(w, x):
        def step(carry, _):
            return carry + scaled(w, x).sum() + lax.psum(scaled(w, x), "x").sum(), None

        start = lax.pcast(np.float32(0), BOTH, to="varying")
        return lax.psum(lax.scan(step, start, None, length=3)[0], BOTH)

    def plain(w, x):
        parts = jnp.tanh(w * x.reshape(4, 2))
        return 3 * (parts.sum() + 4 * parts.sum())

    whole = over_mesh(f, in_specs=(P(), P(BOTH)), out_specs=P())
    x = value(8)
    for found, expected in zip(laminax.grad(whole, (0, 1))(W, x), laminax.grad(plain, (0, 1))(W, x)):
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-4)
    inside = over_mesh(lambda w, x: laminax.grad(f)(w, x), in_specs=(P(), P(BOTH)), out_specs=P())
    np.testing.assert_allclose(np.asarray(inside(W, x)), np.asarray(laminax.grad(plain)(W, x)), rtol=1e-4)


def test_derivatives_of_branches_that_some_devices_take():
    """A sum over devices in such a branch would wait for the others forever; also where the branch calls a function of what all have."""
    squared, scaled = laminax.jit(lambda w: jnp.sin(w) * w), laminax.checkpoint(lambda w: jnp.cos(w) * w)

    def f(w, x):
        return lax.psum(lax.cond(x.sum() > 4, lambda: squared(w) * x, lambda: scaled(w) * x * 2 + w).sum(), BOTH)

    def plain(w, x):
        return jnp.where(x > 4, jnp.sin(w) * w * x, jnp.cos(w) * w * x * 2 + w).sum()

    whole = over_mesh(f, in_specs=(P(), P(BOTH)), out_specs=P())
    inside = over_mesh(lambda w, x: laminax.grad(f)(w, x), in_specs=(P(), P(BOTH)), out_specs=P())
    expected = laminax.grad(plain, (0, 1))(W, X)
    for found, want in zip(laminax.grad(whole, (0, 1))(W, X), expected):
        np.testing.assert_allclose(np.asarray(found), np.asarray(want), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(inside(W, X)), np.asarray(expected[0]), rtol=1e-5)


def test_derivatives_of_rules_of_ones_own():
    @laminax.custom_vjp
    def scaled(w, x):
        return w * x

    scaled.defvjp(lambda w, x: (w * x, (w, x)),  # twice, to be told apart
                  lambda kept, ct: (lax.psum((2 * ct * kept[1]).sum(), BOTH), ct * kept[0]))

    @laminax.custom_jvp
    def tripled(w, x):
        return 3 * w * x

    tripled.defjvp(lambda primals, tangents: (3 * primals[0] * primals[1], 5 * (tangents[0] * primals[1] + primals[0] * tangents[1])))

    for fun, factor in ((scaled, 2), (tripled, 5)):
        inside = over_mesh(lambda w, x: laminax.grad(lambda w: (fun(w, x) + w).sum())(w), in_specs=(P(), P(BOTH)), out_specs=P())
        np.testing.assert_allclose(np.asarray(inside(W, X)), factor * X.sum() + 8)
        outside = over_mesh(lambda w, x: lax.psum(fun(w, x).sum(), BOTH), in_specs=(P(), P(BOTH)), out_specs=P())
        np.testing.assert_allclose(np.asarray(laminax.grad(outside)(W, X)), factor * X.sum())


@pytest.mark.parametrize("check_vma", [True, False])
def test_devices_share_a_batch_of_gradients(check_vma):
    def norm(x):
        return lax.psum((jnp.sin(x) * x).sum(), "y") if check_vma else jnp.sin(lax.psum(x.sum(), "y"))

    x = value(8, 4)
    expected = np.cos(x) * x + np.sin(x) if check_vma else np.repeat(np.cos(x.sum(1, keepdims=True)), 4, axis=1)
    gradient = laminax.grad(over_mesh(norm, in_specs=P("y"), out_specs=P(), check_vma=check_vma))
    for transform in (lambda f: f, laminax.jit):
        result = transform(laminax.vmap(gradient, spmd_axis_name="x"))(put(x, "x", "y"))
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(transform(laminax.vmap(gradient))(x), expected, rtol=1e-5, atol=1e-5)
    (eqn,) = laminax.make_jaxpr(laminax.vmap(over_mesh(lambda x: x, in_specs=P(), out_specs=P()), spmd_axis_name=("x", "y")))(x).eqns
    assert eqn.params["in_specs"] == eqn.params["out_specs"] == (P(("x", "y")),)


def test_the_type_that_a_struct_describes():
    def f(x):
        kind = laminax.typeof(laminax.eval_shape(lambda x: x.sum(), x))
        assert kind.shape == () and kind.dtype == np.float32 and kind.mat.varying == {"x"}
        return x

    over_mesh(f, in_specs=P("x"), out_specs=P("x"))(A)
    assert laminax.typeof(laminax.ShapeDtypeStruct((2, 3), "int8", weak_type=True)) == laminax.core.ShapedArray((2, 3), np.int8, True)


def test_vmap():
    f = over_mesh(lambda w, x: lax.psum(w * x, "x"), in_specs=(P(), P("x")), out_specs=P())
    xs = value(3, 8)
    np.testing.assert_allclose(np.asarray(laminax.vmap(f, (None, 0))(W, xs)), W * xs.reshape(3, 4, 2).sum(1), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(laminax.vmap(f, (0, 1))(xs[:, 0], xs.T)), xs[:, :1] * xs.reshape(3, 4, 2).sum(1), rtol=1e-5)
    inside = over_mesh(lambda x: laminax.vmap(lambda row: lax.psum(row, ("i", "x")), axis_name="i")(x), in_specs=P(None, "x"),
                       out_specs=P())
    np.testing.assert_allclose(np.asarray(inside(xs)), np.tile(xs.reshape(3, 4, 2).sum((0, 1)), (3, 1)), rtol=1e-5)


def test_a_training_step():
    """Parameters on all devices, the batch split: the gradient inside is that of the whole batch."""
    x, w = value(16, 4), value(4)

    def step(w, x):
        gradient = laminax.grad(lambda w: lax.pmean(jnp.mean((x @ w) ** 2), BOTH))(w)
        return w - 0.1 * gradient

    f = laminax.jit(over_mesh(step, in_specs=(P(), P(BOTH)), out_specs=P()))
    expected = w - 0.1 * 2 * x.T @ (x @ w) / 16
    np.testing.assert_allclose(np.asarray(f(w, x)), expected, rtol=1e-4, atol=1e-5)
    weights = f(put(w), put(x, BOTH))
    misses = []
    program = f._laminax_jit.program
    f._laminax_jit.program = lambda *args: misses.append(1) or program(*args)
    batch = put(x, BOTH)
    f(weights, batch)
    misses.clear()
    for _ in range(3):
        weights = f(weights, batch)
    assert not misses


# errors


def double(x):
    return x * 2


@pytest.mark.parametrize("like", [
    jnp.zeros_like, jnp.ones_like, jnp.empty_like, lambda x: jnp.full_like(x, -np.inf), partial(lax.full_like, fill_value=0),
    lambda x: jnp.zeros_like(x, shape=(3,)), lambda x: jnp.ones_like(x, dtype=int)])
def test_values_like_others_vary_as_they_do(like):
    seen = []

    def f(x, y):
        seen.extend([laminax.typeof(like(x)).vma, laminax.typeof(like(x[0] + y)).vma, laminax.typeof(like(y)).vma])
        return x

    over_mesh(f, in_specs=(P("x"), P()), out_specs=P("x"))(A, A[0])
    assert seen == [{"x"}, {"x"}, set()]


def test_attention_over_a_ring_of_devices():
    """Each device has a part of the queries; keys and values go round. The loop begins with `zeros_like` of what varies."""
    rng = np.random.default_rng(0)
    q, k, v = rng.normal(size=(3, 16, 4)).astype(np.float32)
    ring = [(i, (i + 1) % 4) for i in range(4)]

    def attention(q, k, v):
        def body(_, carry):
            total, most, weight, k, v = carry
            scores = q @ k.T
            new = jnp.maximum(most, scores.max(-1))
            e, scale = jnp.exp(scores - new[:, None]), jnp.exp(most - new)
            return total * scale[:, None] + e @ v, new, weight * scale + e.sum(-1), lax.ppermute(k, "x", ring), lax.ppermute(v, "x", ring)

        start = jnp.zeros_like(q), jnp.full_like(q[:, 0], -np.inf), jnp.zeros_like(q[:, 0]), k, v
        total, _, weight, _, _ = lax.fori_loop(0, 4, body, start)
        return total / weight[:, None]

    weights = np.exp(q.astype(np.float64) @ k.T)
    expected = weights @ v / weights.sum(1, keepdims=True)
    mapped = over_mesh(attention, in_specs=P("x"), out_specs=P("x"))
    for run in (mapped, laminax.jit(mapped)):
        np.testing.assert_allclose(run(q, k, v), expected, rtol=1e-4, atol=1e-5)


def test_an_abstract_mesh_is_that_of_the_arguments():
    x = put(A, "x", "y")
    f = shard_map(lambda x: x * lax.axis_size("x") + lax.psum(x, "x"), mesh=MESH.abstract_mesh, in_specs=P("x"), out_specs=P("x"))
    expected = 4 * A + np.tile(A.reshape(4, 2, 4).sum(axis=0), (4, 1))
    half = Mesh(MESH.devices[:, ::-1], ("x", "y"))  # other devices in other places: compiled anew
    for run in (f, laminax.jit(f)):
        check_layout(run(x), expected, ("x",))
        out = run(laminax.device_put(A, NamedSharding(half, P("y"))))
        np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-6)
        assert out.sharding.mesh is half
    with laminax.set_mesh(MESH):
        check_layout(f(A), expected, ("x",))
    np.testing.assert_allclose(np.asarray(laminax.grad(lambda x: f(x).sum())(x)), np.full_like(A, 8), rtol=1e-6)
    for run in (f, laminax.jit(f)):
        with pytest.raises(ValueError, match="has no devices.*Please pass `jax.Array`s with a `NamedSharding` as input to `shard_map` "
                                             "when"):
            run(A)
        with pytest.raises(ValueError, match="Mesh shape of the input .*'a': 8.* does not match the mesh shape passed to shard_map .*'x': "
                                             "4"):
            run(laminax.device_put(A, NamedSharding(Mesh(np.array(DEVICES), "a"), P("a"))))


def test_every_argument_is_on_the_abstract_mesh():
    f = shard_map(lambda x, y: x + y, mesh=MESH.abstract_mesh, in_specs=P("x"), out_specs=P("x"))
    elsewhere = laminax.device_put(A, NamedSharding(Mesh(np.array(DEVICES), "a"), P("a")))
    with pytest.raises(ValueError, match="input {'a': 8} does not match the mesh shape passed to shard_map {'x': 4, 'y': 2}"):
        f(put(A, "x"), elsewhere)


def test_arguments_without_a_spec_reach_the_function_as_they_are():
    seen = []

    def f(x, options, table):
        seen.append(options)
        return x[:options["rows"]] + table["whole"]

    run = over_mesh(f, in_specs=(P("x"), None, {"whole": None}), out_specs=P("x"))
    for call in (run, lambda *args: laminax.jit(lambda x, t: run(x, args[1], t))(args[0], args[2])):
        out = call(A, {"rows": 1}, {"whole": A[0]})
        np.testing.assert_allclose(np.asarray(out), A[::2] + A[0], rtol=1e-6)
    assert seen[0] == {"rows": 1}
    assert np.asarray(over_mesh(lambda x: x * 2, in_specs=None, out_specs=P())(A)).tolist() == (2 * A).tolist()
    assert over_mesh(lambda x: None, in_specs=P("x"), out_specs=None)(A) is None
    g = laminax.grad(lambda t: over_mesh(lambda x, t: x * t, in_specs=(P("x"), None), out_specs=P("x"))(A, t).sum())(np.float32(2))
    np.testing.assert_allclose(g, A.sum(), rtol=1e-5)


@pytest.mark.parametrize("error, match, call", [
    (TypeError, "shard_map: Expected a callable value, got 3", lambda: over_mesh(3, in_specs=P(), out_specs=P())),
    (TypeError, "in_specs must be a PartitionSpec or a pytree of them, got 'x' of type str",
     lambda: over_mesh(double, in_specs="x", out_specs=P())),
    (TypeError, "in_specs must be given", lambda: over_mesh(double, out_specs=P())(A)),
    (ValueError, r"shard_map applied to the function 'double': x, f32\[6,4\] cannot be split as P\('x',\): axis 0 has size 6.*\nPad axis 0 "
                 r"to 8",
     lambda: over_mesh(double, in_specs=P("x"), out_specs=P("x"))(A[:6])),
    (ValueError, r"f32\[8,4\], which has rank 2, cannot be split as .*, which has length 3",
     lambda: over_mesh(double, in_specs=P("x", None, "y"), out_specs=P())(A)),
    (ValueError, r"in_specs refers to 'z', in P\('z',\)", lambda: over_mesh(double, in_specs=P("z"), out_specs=P())(A)),
    (ValueError, r"out_specs refers to 'y', in P\('y',\), which is not an axis that the function runs along. These are \('x',\)",
     lambda: over_mesh(double, in_specs=P("x"), out_specs=P("y"), axis_names={"x"})(A)),
    (ValueError, r"in_specs must be .* a prefix of the tuple of arguments: shard_map in_specs: pytree structure error: ",
     lambda: over_mesh(double, in_specs=(P(), P()), out_specs=P())(A)),
    (ValueError, "out_specs must be .* a prefix of the result", lambda: over_mesh(double, in_specs=P(), out_specs=(P(), P()))(A)),
    (ValueError, r"the result, f32\[\] per device, which has rank 0, cannot be put together as P\('x',\), which has length 1",
     lambda: over_mesh(lambda x: x.sum(), in_specs=P("x"), out_specs=P("x"))(A)),
    (ValueError, r"the result\['a'\], f32\[2,2\] per device, may vary along the mesh axes \('y',\), and its out_specs P\('x',\) says.* "
                 r"replication which can't be statically inferred.\nout_specs is P\('x',\) which implies .* axes \{x\} and not \{y\}, but "
                 r".* varying over \{x,y\}",
     lambda: over_mesh(lambda x: {"a": x}, in_specs=P("x", "y"), out_specs=P("x"))(A)),
    (ValueError, "may vary along the mesh axes", lambda: over_mesh(lambda x: lax.all_gather(x, "x"), in_specs=P("x"), out_specs=P())(A)),
    (ValueError, "may vary along the mesh axes", lambda: over_mesh(lambda: lax.axis_index("x"), in_specs=(), out_specs=P())()),
    (ValueError, "keyword arguments are not supported; got x", lambda: over_mesh(double, in_specs=P(), out_specs=P())(x=A)),
    (ValueError, "axis_names={'z'} are not all axes", lambda: over_mesh(double, in_specs=P(), out_specs=P(), axis_names={"z"})(A)),
    (ValueError, r"AbstractMesh\('x': 4, axis_types=\(Auto,\)\) has no devices",
     lambda: shard_map(double, mesh=AbstractMesh((4,), ("x",), AxisType.Auto), in_specs=P(), out_specs=P())(A)),
    (TypeError, r"is the same along the axes \('x',\), and the corresponding output carry varies.\n\nThis might be fixed by applying "
                r"`jax.lax.pcast\(..., \('x',\), to='varying'\)` to the initial",
     lambda: over_mesh(lambda x: lax.fori_loop(0, 3, lambda i, c: c + x.sum(), 0.0)[None], in_specs=P("x"), out_specs=P("x"))(A)),
    (NameError, "unbound axis name: z", lambda: over_mesh(lambda x: lax.psum(x, "z"), in_specs=P(), out_specs=P())(A)),
    (ValueError, "incompatible devices.*shard_map inside jit",
     lambda: laminax.jit(over_mesh(double, in_specs=P(), out_specs=P()))(laminax.device_put(A, DEVICES[1]))),
])
def test_errors(error, match, call):
    with pytest.raises(error, match=match):
        call()


def _with_bwd(fun, bwd):
    f = laminax.custom_vjp(fun)
    f.defvjp(lambda *args: (fun(*args), args), bwd)
    return f


SHARED_SQUARE = _with_bwd(lambda x: x * x, lambda saved, ct: (2 * saved[0] * ct,))
PRODUCT = _with_bwd(lambda x, y: x * y, lambda saved, ct: (lax.psum(ct * saved[1], "x"), ct * saved[0]))


@pytest.mark.parametrize("wrapped", [lambda f: f, laminax.jit, laminax.checkpoint])
def test_derivative_rules_of_users_keep_what_varies(wrapped):
    square, product = wrapped(SHARED_SQUARE), wrapped(PRODUCT)
    x, y = A[0], A.reshape(-1)
    over = partial(shard_map, mesh=laminax.make_mesh((4,), ("x",), AxisType.Auto, devices=DEVICES[:4]))
    parts = y[:16].reshape(4, 4)
    for transformed in (lambda f: f, laminax.jit):
        found = transformed(laminax.grad(lambda x: over(square, in_specs=P(), out_specs=P())(x).sum()))(x)
        np.testing.assert_allclose(np.asarray(found), 2 * x, rtol=1e-6)
        mapped = over(product, in_specs=(P(), P("x")), out_specs=P("x"))
        found = transformed(laminax.grad(lambda x, y: mapped(x, y).sum(), (0, 1)))(x, y[:16])
        np.testing.assert_allclose(np.asarray(found[0]), parts.sum(0), rtol=1e-5)
        np.testing.assert_allclose(np.asarray(found[1]), np.tile(x, 4), rtol=1e-6)
        gradients = laminax.grad(lambda x, y: lax.psum(product(x, y).sum(), "x"), (0, 1))
        inside = over(gradients, in_specs=(P(), P("x")), out_specs=(P(), P("x")))
        for a, b in zip(transformed(inside)(x, y[:16]), (parts.sum(0), np.tile(x, 4)), strict=True):
            np.testing.assert_allclose(np.asarray(a), b, rtol=1e-5)


def _gradient_of(f, spec):
    return laminax.grad(lambda x: over_mesh(f, in_specs=spec, out_specs=spec)(x).sum())(A)


def _derivative_at_shared(of_point):
    return over_mesh(lambda t: of_point(jnp.ones(4), t), in_specs=P("x"), out_specs=P("x"))(A.reshape(-1)[:16])


@pytest.mark.parametrize("error, match, call", [
    (ValueError, r"rule attached to <lambda>, <lambda>, must produce an output with the same type .* at output\[0\] the bwd rule produced "
                 r".*the same along the axes \('x',\) of devices, along which the input varies.*lax.pcast\(..., \('x',\), to='varying'\)",
     lambda: _gradient_of(_with_bwd(lambda x: x * 2, lambda _, ct: (lax.psum(ct, "x"),)), P("x"))),
    (ValueError, r"varies along the axes \('x',\) of devices, where all devices have the input: .*with lax.psum\(..., \('x',\)\)",
     lambda: _gradient_of(_with_bwd(lambda x: x * 2, lambda _, ct: (ct * lax.axis_index("x"),)), P())),
    (ValueError, r"inconsistent with the original primal values. tangents\[0\], f32\[4\]\{V:x\}, varies along .*\('x',\).*, and its "
                 r"primal, f32\[4\], does not.* to the primal value passed to linearize",
     lambda: _derivative_at_shared(lambda p, t: laminax.linearize(jnp.sin, p)[1](t))),
    (ValueError, r"vjp: unexpected JAX type: the cotangent must have the type of the result, f32\[4\], which all devices have; got "
                 r"f32\[4\]\{V:x\}, which varies .*summing the cotangent by psum\(..., \('x',\)\)",
     lambda: _derivative_at_shared(lambda p, t: laminax.vjp(jnp.sin, p)[1](t)[0])),
    (TypeError, r"linear_transpose: cotangent type does not match: .*which all devices have; got f32\[4\]\{V:x\}",
     lambda: _derivative_at_shared(lambda p, t: laminax.linear_transpose(lambda x: 2 * x, p)(t)[0])),
    (TypeError, r"(?s)cond branches .*to the output of false_fun\.",
     lambda: over_mesh(lambda x: lax.cond(True, lambda: x, lambda: 0 * A[:2]), in_specs=P("x"), out_specs=P("x"))(A)),
])
def test_what_varies_must_agree(error, match, call):
    with pytest.raises(error, match=match):
        call()


def test_derivatives_at_points_that_are_made_to_vary():
    def derivative(p, t):
        p = lax.pcast(p, "x", to="varying")
        return laminax.linearize(jnp.sin, p)[1](t) + laminax.vjp(jnp.sin, p)[1](t)[0] + laminax.jvp(jnp.sin, (jnp.ones(4),), (t,))[1]
    np.testing.assert_allclose(np.asarray(_derivative_at_shared(derivative)), 3 * np.cos(1.0) * A.reshape(-1)[:16], rtol=1e-5)


@pytest.mark.parametrize("check_vma", [True, False])
def test_devices_share_a_batch(check_vma):
    """spmd_axis_name splits the batch over a mesh axis that the specs leave alone: results and gradients are those of a plain vmap."""
    def with_loop(x, w):
        return lax.fori_loop(0, 2, lambda _, c: c * w, jnp.sin(x) * lax.psum(x.sum(), "y")) + w

    f = over_mesh(with_loop, in_specs=(P("y"), P()), out_specs=P("y"), check_vma=check_vma)
    w, alone = np.float32(1.5), lambda x, w: np.sin(x) * x.sum() * w * w + w  # noqa: E731
    check_layout(laminax.vmap(f, (0, None), spmd_axis_name="x")(A, w), np.stack([alone(row, w) for row in A]), ("x", "y"), rtol=1e-5)
    batch = laminax.vmap(f, (0, None), 1, spmd_axis_name="x")
    g = laminax.grad(lambda x, w: (batch(x, w) ** 2).sum(), (0, 1))
    plain = laminax.grad(lambda x, w: ((jnp.sin(x) * x.sum(1, keepdims=True) * w * w + w) ** 2).sum(), (0, 1))(A, w)
    for found in (g(A, w), laminax.jit(g)(put(A, "x"), w)):
        for a, b in zip(found, plain, strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=2e-4, atol=2e-4)
    weights = np.linspace(1, 2, 8, dtype=np.float32)
    found = laminax.vmap(f, spmd_axis_name="x")(A, weights)
    np.testing.assert_allclose(np.asarray(found), np.stack([alone(row, v) for row, v in zip(A, weights)]), rtol=1e-5)


def test_a_batch_of_gradients_is_shared():
    f = over_mesh(jnp.sin, in_specs=P("y"), out_specs=P("y"))
    for mapped in (f, laminax.checkpoint(f)):
        np.testing.assert_allclose(np.asarray(laminax.vmap(laminax.grad(lambda x: mapped(x).sum()), spmd_axis_name="x")(A)), np.cos(A),
                                   rtol=1e-5)


@pytest.mark.parametrize("fun", [
    lambda x, key: random.gamma(key, x),
    lambda x, key: random.poisson(key, 20 * x).astype(np.float32),
    lambda x, key: random.binomial(key, 50.0, x / 9),
    lambda x, key: special.hyp1f1(1.0, 2.0, x),
    lambda x, key: jnp.polyval(x, x[0], unroll=1),
    lambda x, key: laminax.scipy.sparse.linalg.cg(jnp.diag(1 + x), x)[0],
    lambda x, key: laminax.scipy.linalg.expm(jnp.outer(x, x)),
])
def test_loops_of_the_library_may_begin_with_constants(fun):
    """Their carries begin to vary along the axes as the values do; a user's would have to say so."""
    x, keys = np.linspace(0.2, 1.4, 12, dtype=np.float32).reshape(4, 3), random.split(random.key(3), 4)
    mapped = over_mesh(lambda x, key: fun(x[0], key[0])[None], in_specs=(P("x"), P("x")), out_specs=P("x"))
    np.testing.assert_allclose(np.asarray(mapped(x, keys)), np.stack([np.asarray(fun(*one)) for one in zip(x, keys)]), rtol=1e-4)


@pytest.mark.parametrize("check_vma", [True, False])
def test_one_value_that_is_put_together_from_all_devices(check_vma):
    """Each device has the same sin(x), and the result has all of them: as many cotangents are summed."""
    f = over_mesh(jnp.sin, in_specs=P(), out_specs=P("x"), check_vma=check_vma)
    x, ct = value(3), value(12)
    summed = ct.reshape(4, 3).sum(0)
    np.testing.assert_allclose(np.asarray(f(x)), np.tile(np.sin(x), 4), rtol=1e-6)
    for g in (f, laminax.jit(f)):
        np.testing.assert_allclose(np.asarray(laminax.vjp(g, x)[1](ct)[0]), np.cos(x) * summed, rtol=1e-5)
        first, second = laminax.vjp(lambda x, x_dot: laminax.jvp(g, (x,), (x_dot,))[1], x, 2 * x)[1](ct)
        np.testing.assert_allclose(np.asarray(first), -np.sin(x) * 2 * x * summed, rtol=1e-5)
        np.testing.assert_allclose(np.asarray(second), np.cos(x) * summed, rtol=1e-5)


@pytest.mark.parametrize("names, axis, tiled", [("x", 0, True), ("x", 1, False), (("x", "y"), 0, True), ("y", 0, False)])
def test_gathered_values_that_are_known_to_be_the_same(names, axis, tiled):
    spec = P(names, None)
    gathered = over_mesh(lambda x: lax.all_gather(x, names, axis=axis, tiled=tiled, to="invarying"), in_specs=spec, out_specs=P())
    count = 8 if isinstance(names, tuple) else MESH.shape[names]
    expected = A if tiled else np.stack(np.split(A, count), axis)
    np.testing.assert_array_equal(np.asarray(gathered(A)), expected)
    np.testing.assert_array_equal(np.asarray(gathered(A > 0)), expected > 0)
    weights = value(*expected.shape)
    found = laminax.jit(laminax.grad(lambda x: (gathered(x) ** 2 * weights).sum()))(A)
    by_hand = 2 * expected * weights
    np.testing.assert_allclose(np.asarray(found), by_hand if tiled else np.concatenate(np.moveaxis(by_hand, axis, 0)), rtol=1e-5)


def test_words_of_all_gather():
    x = np.ones((2, 3), np.float32)
    assert laminax.vmap(lambda x: lax.all_gather(x, "i", to="invarying"), axis_name="i")(x).shape == (2, 2, 3)
    for error, match, kwargs in [(ValueError, "to must be 'varying', 'invarying' or 'reduced', got 'same'", {"to": "same"}),
                                 (NotImplementedError, "axis_index_groups are not supported with to='reduced'",
                                  {"to": "reduced", "axis_index_groups": [[0], [1]]}),
                                 (NotImplementedError, "axis_index_groups are not supported",
                                  {"to": "invarying", "axis_index_groups": [[0], [1]]})]:
        with pytest.raises(error, match=match):
            laminax.vmap(lambda x: lax.all_gather(x, "i", **kwargs), axis_name="i")(x)


def test_unchecked_results():
    """Each device has another value; that of one of them is taken."""
    result = over_mesh(double, in_specs=P("x", "y"), out_specs=P("x"), check_vma=False)(A)
    assert result.shape == (8, 2) and on_mesh("x").is_equivalent_to(result.sharding, 2)
    np.testing.assert_array_equal(np.asarray(result.addressable_shards[0].data), A[:2, :2] * 2)


def test_calls_outside_of_jit_trace_and_compile_once():
    traces = []

    def f(x):
        traces.append(1)
        return x * 2

    from laminax._src.compiling import eager
    compiled = []
    compile_program, eager.compile_program = eager.compile_program, lambda *args, **kw: compiled.append(1) or compile_program(*args, **kw)
    try:
        for _ in range(3):
            over_mesh(f, in_specs=P("x"), out_specs=P("x"))(A)
        assert len(traces) == len(compiled) == 1
        over_mesh(f, in_specs=P("x"), out_specs=P("x"), check_vma=False)(A)
        over_mesh(f, in_specs=P("y"), out_specs=P("y"))(A)
        assert len(traces) == len(compiled) == 3
    finally:
        eager.compile_program = compile_program


@pytest.mark.parametrize("check_vma", [True, False])
@pytest.mark.parametrize("over", ["shard_map", "pmap"])
def test_policies_of_checkpoint_reach_programs_per_device(over, check_vma):
    def f(x):
        return jnp.sin(jnp.sin(x))

    mapped = laminax.pmap(f) if over == "pmap" else over_mesh(f, in_specs=P("x"), out_specs=P("x"), check_vma=check_vma)
    x = value(8, 4)
    for saved, sines, cosines in (("cos", 0, 0), ("sin", 0, 2), (None, 1, 2)):
        g = laminax.checkpoint(mapped, policy=lambda primitive, *_, saved=saved, **__: str(primitive) == saved)
        _, pullback = laminax.vjp(g, x)
        program = str(pullback.jaxpr)
        assert (program.count(" sin "), program.count(" cos ")) == (sines, cosines), saved
        for found in (pullback(jnp.ones((8, 4)))[0], laminax.jit(laminax.grad(lambda x: g(x).sum()))(x)):
            np.testing.assert_allclose(np.asarray(found), np.cos(np.sin(x)) * np.cos(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("policy", [
    laminax.checkpoint_policies.dots_saveable, laminax.checkpoint_policies.save_only_these_names("h"),
    laminax.checkpoint_policies.save_and_offload_only_these_names(names_which_can_be_saved=[], names_which_can_be_offloaded=["h"],
                                                                  offload_src="device", offload_dst="pinned_host")])
@pytest.mark.parametrize("axis_names", [{"x", "y"}, {"x"}])
def test_values_of_devices_that_policies_save(policy, axis_names):
    """Values that vary, and ones that all devices have, saved in loops in programs per device: gradients as without checkpoint."""
    def f(w, x):
        shared = checkpoint_name(jnp.sin(w), "h")
        x = lax.scan(lambda x, _: (jnp.tanh(checkpoint_name(x @ shared, "h")), None), x, None, length=2)[0]
        return x * lax.psum(x.sum(), "x")

    mapped = over_mesh(f, in_specs=(P(), P("x")), out_specs=P("x"), axis_names=axis_names)
    w = value(4, 4) / 4
    gradient = partial(laminax.grad, argnums=(0, 1))
    expected = gradient(lambda w, x: mapped(w, x).sum())(w, A)
    for transformed in (lambda g: g, laminax.jit):
        found = transformed(gradient(lambda w, x: laminax.checkpoint(mapped, policy=policy)(w, x).sum()))(w, A)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-5)
