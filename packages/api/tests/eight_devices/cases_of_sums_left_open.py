"""Arrays that are sums of terms on several devices, `P(unreduced=...)`, and arrays whose cotangents are such sums, `P(reduced=...)`.

After JAX's documentation.
"""

import numpy as np
import pytest

import laminax
import laminax.export
import laminax.numpy as jnp
from laminax import lax
from laminax.errors import ShardingTypeError
from laminax.sharding import AxisType, Mesh, NamedSharding, reshard
from laminax.sharding import PartitionSpec as P

MESH = Mesh(np.array(laminax.devices()).reshape(4, 2), ("x", "y"), axis_types=AxisType.Explicit)
A = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
B = np.random.default_rng(1).normal(size=(4, 6)).astype(np.float32)


@pytest.fixture(autouse=True)
def _on_mesh():
    with laminax.set_mesh(MESH):
        yield


def on(array, *spec, **sums):
    return laminax.device_put(array, P(*spec, **sums))


def short(x):
    return laminax.typeof(x).str_short()


def terms_along(x, axis, count):
    """The sum of what the devices along a mesh axis have, the first along the other axis."""
    parts = [np.asarray(shard.data) for shard in x.addressable_shards]
    grid = [parts[i * 2:(i + 1) * 2] for i in range(4)]
    chosen = [row[0] for row in grid] if axis == "x" else grid[0]
    assert len(chosen) == count
    return sum(chosen)


def all_reduces(fun, *args):
    return laminax.jit(fun).lower(*args).compile().as_text().count(" all-reduce(")


@pytest.mark.parametrize("product", [
    lambda a, b, s: jnp.dot(a, b, out_sharding=s), lambda a, b, s: jnp.matmul(a, b, out_sharding=s),
    lambda a, b, s: jnp.einsum("ij,jk->ik", a, b, out_sharding=s), lambda a, b, s: jnp.tensordot(a, b, 1, out_sharding=s),
    lambda a, b, s: lax.dot_general(a, b, (((1,), (0,)), ((), ())), out_sharding=s)])
def test_a_product_over_a_split_axis_may_be_left_as_terms(product):
    a, b = on(A, None, "x"), on(B, "x", None)
    c = laminax.jit(lambda a, b: product(a, b, P(unreduced={"x"})))(a, b)
    assert short(c) == "f32[8,6]{U:x}" and c.sharding == NamedSharding(MESH, P(None, None, unreduced={"x"}))
    np.testing.assert_allclose(terms_along(c, "x", 4), A @ B, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.asarray(c.addressable_shards[0].data), A[:, :1] @ B[:1], rtol=1e-5, atol=1e-5)  # the device's own term
    np.testing.assert_allclose(reshard(c, P()), A @ B, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(reshard(c, P("x", None)), A @ B, rtol=1e-5, atol=1e-5)
    assert all_reduces(lambda a, b: product(a, b, P(unreduced={"x"})), a, b) == 0


def test_an_eager_product_and_an_eager_sum_are_left_as_terms():
    c = jnp.einsum("ij,jk->ik", on(A, None, "x"), on(B, "x", None), out_sharding=P(unreduced={"x"}))
    assert short(c) == "f32[8,6]{U:x}"
    s = lax.reduce_sum(on(A, "x", "y"), (0,), out_sharding=P("y", unreduced={"x"}))
    assert short(s) == "f32[4@y]{U:x}"
    np.testing.assert_allclose(np.asarray(reshard(s, P("y"))), A.sum(0), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(s.addressable_shards[0].data), A[:2, :2].sum(0), rtol=1e-5)
    both = lax.reduce_sum(on(A, "x", "y"), (0, 1), out_sharding=P(unreduced={"x", "y"}))
    assert short(both) == "f32[]{U:(x,y)}"
    np.testing.assert_allclose(np.asarray(reshard(both, P())), A.sum(), rtol=1e-5, atol=1e-5)


def test_terms_are_added_scaled_and_moved_about():
    def f(a, b, w):
        c = jnp.dot(a, b, out_sharding=P(unreduced={"x"}))
        more = jnp.concatenate([c + c, c * w])
        return (more.T - jnp.zeros_like(more.T)).reshape(6, 2, 8), jnp.where(True, c, c).astype(np.float16), -c, c / w, c.sum(1), c[2:4]

    w = reshard(np.float32(3), P(reduced={"x"}))
    results = laminax.jit(f)(on(A, None, "x"), on(B, "x", None), w)
    assert all(short(r).endswith("{U:x}") for r in results)
    c = A @ B
    for result, expected in zip(results,
                                (np.concatenate([2 * c, 3 * c]).T.reshape(6, 2, 8), c.astype(np.float16), -c, c / 3, c.sum(1), c[2:4])):
        rtol = 1e-2 if result.dtype == np.float16 else 1e-4  # the terms are rounded to half precision before they are added
        np.testing.assert_allclose(np.asarray(reshard(result, P())), expected, rtol=rtol, atol=rtol)


def test_values_are_made_terms_and_back():
    x = on(A, "x", None, unreduced={"y"})
    assert short(x) == "f32[8@x,4]{U:y}" and not x.is_fully_replicated
    np.testing.assert_array_equal(terms_along(x, "y", 2), A[:2])
    for back in (reshard(x, P("x", None)), laminax.device_put(x, P()), laminax.jit(lambda x: reshard(x, P(None, "y")))(x)):
        np.testing.assert_array_equal(np.asarray(back), A)
    for other in (on(x, None, unreduced={"x"}), laminax.jit(lambda x: reshard(x, P(unreduced={"x"})))(x)):  # from one sum to another
        assert short(other) == "f32[8,4]{U:x}"
        np.testing.assert_array_equal(np.asarray(reshard(other, P())), A)
    assert short(reshard(A, P(reduced={"x"}))) == "f32[8,4]{R:x}"
    np.testing.assert_array_equal(np.asarray(reshard(A, P(reduced={"x"}))), A)
    assert x.sharding.shard_shape((8, 4)) == (2, 4) and x.sharding.replicated_axes == frozenset()


def test_terms_and_reduced_arrays_are_reshaped():
    for sums in ({"unreduced": {"x"}}, {"reduced": {"y"}}):
        shaped = jnp.reshape(on(A, **sums), (4, 8), out_sharding=P("y" if "unreduced" in sums else "x", **sums))
        assert shaped.sharding.spec == P("y" if "unreduced" in sums else "x", None, **sums)
        np.testing.assert_array_equal(np.asarray(reshard(shaped, P())), A.reshape(4, 8))


@pytest.mark.parametrize("to_terms", [lambda c: reshard(c, P(unreduced={"x"})), lambda c: laminax.device_put(c, P(unreduced={"x"})),
                                      lambda c: laminax.device_put(c, NamedSharding(MESH, P(unreduced={"x"}))),
                                      lambda c: lax.broadcast_in_dim(c, c.shape, range(c.ndim), out_sharding=P(unreduced={"x"}))])
@pytest.mark.parametrize("close_over", [lambda: A, lambda: jnp.asarray(A), lambda: on(A, "x"), lambda: on(A, None, "y"), lambda: on(A),
                                        lambda: laminax.device_put(A, laminax.devices()[0]), lambda: np.float32(3), lambda: jnp.float32(3)])
def test_an_array_that_is_closed_over_is_the_sum_of_its_terms(close_over, to_terms):
    """Of a parameter about which nothing was said the compiler took what each device has for its term: the sum was four times the array."""
    c = close_over()
    back = laminax.jit(lambda x: reshard(to_terms(c), P()) + x)(np.float32(0))
    np.testing.assert_array_equal(np.asarray(back), np.asarray(c))


def test_the_value_of_terms_is_not_read():
    x = on(A, unreduced={"x"})
    for read in (lambda: np.asarray(x), lambda: x.tolist(), lambda: float(x.sum()), lambda: x.addressable_shards[0].index):
        with pytest.raises(NotImplementedError, match="unreduced.*each device has a term of a sum.*Use reshard to make the sum first"):
            read()
    assert repr(x).startswith("Array(shape=(8, 4), dtype=float32, sharding=NamedSharding(") and "unreduced={'x'}" in repr(x)


@pytest.mark.parametrize("run, error, message", [
    (lambda u, r, w: jnp.cos(u), NotImplementedError, "unreduced rule for cos is not implemented.*not linear"),
    (lambda u, r, w: u + w, ShardingTypeError, "lhs is unreduced while rhs is not.*Please reduce lhs via `reshard`"),
    (lambda u, r, w: w + u, ShardingTypeError, "rhs is unreduced while lhs is not.*Please reduce rhs via `reshard`"),
    (lambda u, r, w: u * w, ShardingTypeError, "RHS should be reduced along the same axes LHS is unreduced on"),
    (lambda u, r, w: u * u, ShardingTypeError, "cannot be unreduced since mul is bilinear"),
    (lambda u, r, w: r / u, ValueError, "The denominator cannot be unreduced passed to `div`.*the divisor"),
    (lambda u, r, w: r + w, ShardingTypeError, "Inputs cannot be replicated on the same axes that another input is reduced on"),
    (lambda u, r, w: r + reshard(w, P("x")), ShardingTypeError, "Inputs cannot be sharded/varying on the same axes"),
    (lambda u, r, w: r + reshard(w, P(reduced={"y"})), ShardingTypeError, "should be reduced across the same mesh axes"),
    (lambda u, r, w: jnp.dot(u.T, w), ShardingTypeError, "lhs or rhs passed to dot_general cannot be unreduced"),
    (lambda u, r, w: jnp.sort(u), NotImplementedError, "unreduced/reduced rule for sort is not implemented"),
    (lambda u, r, w: jnp.concatenate([u, w]), ShardingTypeError, "concatenate: All operands should be unreduced and reduced along the "
                                                                 "same"),
    (lambda u, r, w: lax.dynamic_slice(u, (0, 0), (4, 4)), NotImplementedError, "unreduced rule for dynamic_slice"),
    (lambda u, r, w: jnp.dot(w.T, w, out_sharding=P(unreduced={"x"})), ShardingTypeError,
     "unreduced axes should be equal to the contracting specs"),
    (lambda u, r, w: lax.dot(w.T, w, out_sharding=P(unreduced={"x"})), ShardingTypeError,
     "unreduced axes should be equal to the contracting specs"),
    (lambda u, r, w: lax.dot(reshard(w.T, P(None, "x")), w, out_sharding=P(unreduced={"x"})), ShardingTypeError,
     "should be sharded identically"),
    (lambda u, r, w: jnp.dot(reshard(w.T, P(None, "x")), w, out_sharding=P(unreduced={"x"})), ShardingTypeError,
     "lhs and rhs contracting dims should be sharded identically"),  # the compiler ends the process over such a program
    (lambda u, r, w: jnp.einsum("ij,jk->ik", w.T, reshard(w, P("x")), out_sharding=P(unreduced={"x"})), ShardingTypeError,
     "lhs and rhs contracting dims should be sharded identically"),
    (lambda u, r, w: jnp.reshape(w, (32,), out_sharding=P(unreduced={"x"})), ValueError, "cannot contain unreduced axes"),
    (lambda u, r, w: w.ravel(out_sharding=P(reduced={"x"})), ValueError, "cannot contain reduced axes"),
    (lambda u, r, w: u.reshape(32, out_sharding=P("x")), ValueError, "must be unreduced over the same mesh axes as operand"),
    (lambda u, r, w: jnp.reshape(u, (32,), out_sharding=P(unreduced={"y"})), ValueError,
     "must be unreduced over the same mesh axes as operand"),
    (lambda u, r, w: lax.reduce_sum(w, (0,), out_sharding=P(unreduced={"x"})), ShardingTypeError,
     "should be in operand's specs that were reduce_sum over"),
    (lambda u, r, w: lax.reshape(w, (32,), out_sharding=P(unreduced={"x"})), ValueError,
     "must be unreduced and reduced over the same mesh axes"),
])
def test_what_terms_do_not_allow(run, error, message):
    u, r, w = on(A, unreduced={"x"}), on(A, reduced={"x"}), on(A)
    for call in (run, laminax.jit(run)):
        with pytest.raises(error, match=message):
            call(u, r, w)


def test_sums_are_along_explicit_axes():
    mixed = Mesh(np.array(laminax.devices()).reshape(4, 2), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Auto))
    for what in ("unreduced", "reduced"):
        with pytest.raises(ValueError, match=f"(?i){what} axes can only refer to mesh axes that is of type `Explicit`"):
            NamedSharding(mixed, P(**{what: {"y"}}))


LOSSES = {
    "product": lambda w, x: jnp.sum((x @ w) ** 2),
    "used twice": lambda w, x: jnp.sum(x @ w) + jnp.sum((x @ (w * 2 - w / 3)) ** 2),
    "transposed and cut": lambda w, x: jnp.sum(jnp.tanh(x[:, :2] @ w.T[:2, :2].reshape(2, 2))),
    "rematerialized": lambda w, x: jnp.sum(laminax.checkpoint(lambda w, x: jnp.sin(x @ w))(w, x)),
    "in a jitted function": lambda w, x: jnp.sum(laminax.jit(lambda w, x: jnp.sin(x @ jnp.exp(w)))(w, x)),
    "in a branch": lambda w, x: jnp.sum(lax.cond(x.shape[0] == 8, lambda: jnp.sin(x @ w), lambda: x @ w)),
    "in a loop": lambda w, x: jnp.sum(lax.fori_loop(0, 3, lambda i, h: jnp.tanh(h @ w), x)),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_gradients_of_reduced_weights_are_terms(loss):
    """Numbers: the same gradient on one device."""
    w = np.random.default_rng(2).normal(size=(4, 4)).astype(np.float32)

    def reduced_after(w, x):
        return loss(reshard(w, P(reduced={"x"})), x)

    with laminax.set_mesh(None):
        expected = laminax.grad(loss)(w, A)
    x = on(A, "x", None)
    for transform in (lambda f: f, laminax.jit):
        gradient = transform(laminax.grad(loss))(on(w, reduced={"x"}), x)
        assert short(gradient) == "f32[4,4]{U:x}"
        np.testing.assert_allclose(np.asarray(reshard(gradient, P())), expected, rtol=2e-4, atol=2e-4)
        gradient = transform(laminax.grad(reduced_after))(on(w), x)
        assert short(gradient) == "f32[4,4]"
        np.testing.assert_allclose(np.asarray(gradient), expected, rtol=2e-4, atol=2e-4)
    assert all_reduces(laminax.grad(reduced_after), on(w), x) == 1


def test_cotangents_of_terms_are_reduced():
    def f(a, b):
        return jnp.dot(a, b, out_sharding=P(unreduced={"x"}))

    a, b = on(A, None, "x"), on(B, "x", None)
    c, vjp = laminax.vjp(f, a, b)
    ct = np.random.default_rng(3).normal(size=(8, 6)).astype(np.float32)
    a_ct, b_ct = vjp(on(ct, reduced={"x"}))
    assert short(a_ct) == "f32[8,4@x]" and short(b_ct) == "f32[4@x,6]"
    np.testing.assert_allclose(np.asarray(a_ct), ct @ B.T, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(np.asarray(b_ct), A.T @ ct, rtol=1e-5, atol=1e-5)
    a_ct, _ = laminax.grad(lambda a, b: jnp.sum(reshard(f(a, b), P()) ** 2), (0, 1))(a, b)
    np.testing.assert_allclose(np.asarray(a_ct), 2 * A @ B @ B.T, rtol=1e-4, atol=1e-4)


def test_gradients_are_accumulated_as_terms():
    """A loop over microbatches around one over layers: the devices add up once, after both."""
    def loss(ws, batch):
        return jnp.sum(lax.scan(lambda h, w: (jnp.tanh(h @ w), None), batch, ws)[0] ** 2)

    def step(ws, batches, sums):
        def microbatch(total, batch):
            grads = laminax.grad(loss)(ws, batch)
            assert laminax.typeof(grads).sharding.spec.unreduced == sums
            return total + grads, None

        total = reshard(jnp.zeros_like(ws), P(unreduced=sums))
        return reshard(ws, P()) - 0.1 * reshard(lax.scan(microbatch, total, batches)[0], P())

    ws = np.random.default_rng(4).normal(size=(3, 4, 4)).astype(np.float32) / 2
    batches = np.random.default_rng(5).normal(size=(5, 8, 4)).astype(np.float32)
    with laminax.set_mesh(None):
        expected = ws - 0.1 * sum(laminax.grad(loss)(ws, batch) for batch in batches)
    split = on(batches, None, "x", None)
    once = laminax.jit(lambda ws, xs: step(ws, xs, {"x"}))
    np.testing.assert_allclose(np.asarray(once(on(ws, reduced={"x"}), split)), expected, rtol=1e-4, atol=1e-4)
    assert once.lower(on(ws, reduced={"x"}), split).compile().as_text().count(" all-reduce(") == 1
    often = laminax.jit(lambda ws, xs: step(ws, xs, set()))(on(ws), split)
    np.testing.assert_allclose(np.asarray(often), expected, rtol=1e-4, atol=1e-4)


def test_batches_of_terms():
    a, b = on(np.stack([A, 2 * A]), None, None, "x"), on(B, "x", None)
    c = laminax.jit(laminax.vmap(lambda a: lax.dot(a, b, out_sharding=P(unreduced={"x"}))))(a)
    assert short(c) == "f32[2,8,6]{U:x}"
    np.testing.assert_allclose(np.asarray(reshard(c, P())), np.stack([A @ B, 2 * A @ B]), rtol=1e-5, atol=1e-5)


def test_types_of_cotangents():
    aval = laminax.typeof(on(A, "y", unreduced={"x"}))
    assert aval.to_ct_aval().str_short() == "f32[8@y,4]{R:x}" and aval.to_ct_aval().to_ct_aval() is aval
    assert laminax.typeof(on(A, "y")).to_ct_aval() is laminax.typeof(on(A, "y"))


def test_results_are_returned_as_terms_where_out_shardings_say_so():
    for spec, options in [(P(), {"unreduced": {"x"}}), (P("x"), {"unreduced": {"x"}}), (P("y"), {"unreduced": {"x", "y"}})]:
        out = laminax.jit(lambda a: a, out_shardings=P(**options))(on(A, *spec))  # noqa: B023
        assert short(out).endswith("{U:x}" if len(options["unreduced"]) == 1 else "{U:(x,y)}")
        np.testing.assert_allclose(reshard(out, P()), A)


def test_terms_pass_through_functions_that_are_called():
    for wrapped in (laminax.checkpoint(lambda v: v), laminax.jit(lambda v: v, inline=False), laminax.checkpoint(lambda v: jnp.sin(v) * v)):
        found = laminax.jit(laminax.grad(lambda v: wrapped(v).sum()))(on(A[0], reduced={"x"}))  # noqa: B023
        expected = laminax.grad(lambda v: wrapped(v).sum())(laminax.numpy.asarray(A[0]))  # noqa: B023
        assert short(found) == "f32[4]{U:x}"
        np.testing.assert_allclose(reshard(found, P()), expected, rtol=1e-6)


@pytest.mark.parametrize("axes, left, expected", [
    ((0,), None, "f32[6]{U:y}"), ((0,), {"x"}, "f32[6]{U:x}"), ((0,), {"x", "y"}, "f32[6]{U:(x,y)}"), ((0, 1), {"x"}, "f32[]{U:x}")])
def test_of_two_open_sums_one_is_made(axes, left, expected):
    a, b = on(A[:, :2], "x", "y"), on(B[:2], "y", None)
    total = laminax.jit(lambda u: lax.reduce_sum(u, axes, out_sharding=None if left is None else P(unreduced=left)))(
        jnp.dot(a, b, out_sharding=P("x", None, unreduced={"y"})))
    assert short(total) == expected
    np.testing.assert_allclose(reshard(total, P()), (A[:, :2] @ B[:2]).sum(axes), rtol=1e-4, atol=1e-5)


INDICES = np.array([0, 1, 1, 3, 2, 2, 2, 0], np.int32)


def counted(rows, weights):
    expected = np.zeros((rows, *weights.shape[1:]), weights.dtype)
    np.add.at(expected, INDICES, weights)
    return expected


def test_the_gradient_of_a_table_has_each_update_once():
    """What the devices looked up was added on each of them, all of it, so that the sum of the terms had it four times."""
    table, ids = on(B, reduced={"x"}), on(INDICES, "x")
    weights = np.arange(48, dtype=np.float32).reshape(8, 6)
    found = laminax.jit(laminax.grad(lambda t, i: (t.at[i].get(out_sharding=P("x", None)) * weights).sum()))(table, ids)
    expected = counted(4, weights)
    assert short(found) == "f32[4,6]{U:x}"
    np.testing.assert_array_equal(terms_along(found, "x", 4), expected)
    np.testing.assert_array_equal(reshard(found, P()), expected)


@pytest.mark.parametrize("fun, has_weights", [
    (lambda x, i, s: laminax.ops.segment_sum(x, i, num_segments=5, out_sharding=s), True),
    (lambda x, i, s: jnp.bincount(i, x, length=5, out_sharding=s), True),
    (lambda x, i, s: jnp.bincount(i, length=5, out_sharding=s), False)])
def test_devices_keep_what_they_counted(fun, has_weights):
    weights = np.arange(8, dtype=np.float32)
    expected = counted(5, weights if has_weights else np.ones(8, np.float32))
    for split in (P("x"), P(("x", "y"))):
        names = set(split.names())
        x, i = laminax.device_put(weights, split), laminax.device_put(INDICES, split)
        for made in (fun, laminax.jit(fun, static_argnums=2)):
            whole, terms = made(x, i, P()), made(x, i, P(unreduced=names))
            np.testing.assert_array_equal(whole, expected)
            np.testing.assert_array_equal(reshard(terms, P()), expected)
            assert laminax.typeof(terms).sharding.spec.unreduced == names
        assert all_reduces(lambda x, i: fun(x, i, P(unreduced=names)), x, i) == 0  # noqa: B023
        if split == P("x"):
            np.testing.assert_array_equal(terms_along(terms, "x", 4), expected)


def test_only_sums_of_segments_are_left_open():
    with pytest.raises(NotImplementedError, match="segment_max: out_sharding=.* only sums can be left open over mesh axes"):
        laminax.ops.segment_max(on(A, "x"), on(INDICES, "x"), 5, out_sharding=P(unreduced={"x"}))


def test_what_leaves_sums_open_is_called_on_a_mesh_of_explicit_axes():
    e = laminax.export.export(laminax.jit(lambda a, b: jnp.dot(a, b, out_sharding=P(unreduced={"x"}))))(on(A, None, "x"), on(B, "x"))
    with laminax.set_mesh(Mesh(MESH.devices, ("x", "y"), axis_types=AxisType.Auto)):
        with pytest.raises(ShardingTypeError, match="leaves sums open.*not explicit axes"):
            e.call(laminax.device_put(A, P(None, "x")), laminax.device_put(B, P("x")))


def test_exported_functions_leave_sums_open():
    x, y = on(A, None, "x"), on(B, "x")
    e = laminax.export.export(laminax.jit(lambda a, b: jnp.dot(a, b, out_sharding=P(unreduced={"x"}))))(x, y)
    used = laminax.export.export(laminax.jit(lambda terms, r: reshard(terms + terms, P()) + r))(e.call(x, y), on(A @ B))
    for f, g in ((e, used), (laminax.export.deserialize(e.serialize()), laminax.export.deserialize(used.serialize()))):
        terms = f.call(x, y)
        assert terms.sharding == NamedSharding(MESH, P(None, None, unreduced={"x"}))
        np.testing.assert_allclose(terms_along(terms, "x", 4), A @ B, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(g.call(terms, on(A @ B)), 3 * (A @ B), rtol=1e-5, atol=1e-5)
        with pytest.raises(ShardingTypeError, match="takes an argument number 0 .* the same sums are left open"):
            g.call(on(A @ B), on(A @ B))
    turned = laminax.export.export(laminax.jit(lambda r: r.T))(on(A, reduced={"x"}))
    assert short(turned.call(on(A, reduced={"x"}))) == "f32[4,8]{R:x}"
