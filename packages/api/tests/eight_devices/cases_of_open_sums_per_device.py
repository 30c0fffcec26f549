"""Sums that are left open inside of shard_map: values that are `unreduced` or `reduced` along the axes of a program per device.

Expected values are NumPy's, of the whole arrays. After JAX's documentation.
"""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.errors import ShardingTypeError
from laminax.sharding import AxisType, Mesh, reshard
from laminax.sharding import PartitionSpec as P

MESH = Mesh(np.array(laminax.devices()).reshape(4, 2), ("x", "y"), axis_types=AxisType.Explicit)
A = np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32)
B = np.random.default_rng(1).normal(size=(4, 6)).astype(np.float32)
CLOSE = {"rtol": 1e-5, "atol": 1e-5}  # float32, sums of eight terms


@pytest.fixture(autouse=True)
def _on_mesh():
    with laminax.set_mesh(MESH):
        yield


def on(array, *spec, **sums):
    return laminax.device_put(array, P(*spec, **sums))


def short(x):
    return laminax.typeof(x).str_short()


def each_way(fun, *args):
    """The results of a function, called and compiled."""
    return fun(*args), laminax.jit(fun)(*args)


def compiled_text(fun, *args):
    return laminax.jit(fun).lower(*args).compile().as_text()


# Casts and collectives


def test_devices_values_become_the_terms_of_a_sum():
    seen = []

    @laminax.shard_map(out_specs=P(unreduced={"x"}))
    def total(x):
        out = lax.pcast(x, "x", to="unreduced")
        seen.append((x.mat, out.mat))
        return out

    for out in each_way(total, on(A, "x", None)):
        assert short(out) == "f32[2,4]{U:x}"
        np.testing.assert_array_equal(np.asarray(out.addressable_shards[2].data), A[2:4])  # the second device along x
        np.testing.assert_allclose(reshard(out, P()), A.reshape(4, 2, 4).sum(0), **CLOSE)
    before, after = seen[0]
    assert before.varying == {"x"} and not before.unreduced
    assert after.unreduced == {"x"} and not after.varying and after.unreduced_kind is laminax.sharding.UnreducedKind.sum


@pytest.mark.parametrize("make, out_spec, expected", [
    (lambda u: lax.psum(u, "x"), P(), lambda a, b: a @ b),
    (lambda u: lax.psum_scatter(u, "x", tiled=True), P("x"), lambda a, b: a @ b),
    (lambda u: lax.psum_scatter(u.reshape(4, 2, 6), "x"), P("x"), lambda a, b: a @ b),
    (lambda u: lax.psum(-u.T, "x"), P(), lambda a, b: -(a @ b).T),
    (lambda u: lax.psum(u + u, "x"), P(), lambda a, b: 2 * (a @ b)),
    (lambda u: lax.psum(u.sum(0), "x"), P(), lambda a, b: (a @ b).sum(0)),
    (lambda u: lax.psum(u[2:5, ::2], "x"), P(), lambda a, b: (a @ b)[2:5, ::2]),
    (lambda u: lax.psum(jnp.concatenate([u, u], 1), "x"), P(), lambda a, b: np.concatenate([a @ b, a @ b], 1)),
    (lambda u: lax.psum(jnp.cumsum(u, 0), "x"), P(), lambda a, b: np.cumsum(a @ b, 0))])
def test_sums_of_products_are_made_inside(make, out_spec, expected):
    @laminax.shard_map(in_specs=P(unreduced={"x"}), out_specs=out_spec)
    def made(u):
        assert u.mat.unreduced == {"x"}
        return make(u)

    @laminax.jit
    def f(a, b):
        return made(jnp.dot(a, b, out_sharding=P(unreduced={"x"})))

    a, b = on(A, None, "x"), on(B, "x", None)
    np.testing.assert_allclose(f(a, b), expected(A, B), **CLOSE)
    weights = np.random.default_rng(2).normal(size=expected(A, B).shape).astype(np.float32)
    found = laminax.grad(lambda a, b: (reshard(f(a, b), P()) * weights).sum(), argnums=(0, 1))(a, b)
    step = 1e-2  # expected is bilinear: central differences are exact but for rounding
    for i, (x, ct) in enumerate(zip((A, B), found)):
        d = np.random.default_rng(3).normal(size=x.shape).astype(np.float32)
        up, down = ([x + s * d if k == i else v for k, v in enumerate((A, B))] for s in (step, -step))
        slope = ((expected(*up) - expected(*down)).astype(np.float64) * weights).sum() / (2 * step)
        np.testing.assert_allclose(np.vdot(ct, d), slope, rtol=2e-3, atol=2e-3)
        assert short(ct) == short((a, b)[i])


def test_gathered_values_may_be_reduced_and_the_cotangent_is_scattered():
    @laminax.shard_map(in_specs=P("x"), out_specs=P(reduced={"x"}))
    def gathered(b):
        out = lax.all_gather(b, "x", tiled=True, to="reduced")
        assert out.mat.reduced == {"x"} and not out.mat.varying
        return out

    def f(a, b):
        return (jnp.einsum("ij,jk->ik", a, gathered(b)) ** 2).sum()

    a, b = on(A, "x", None), on(B, "x", None)
    for found in each_way(laminax.value_and_grad(f, argnums=(0, 1)), a, b):
        value, (a_ct, b_ct) = found
        np.testing.assert_allclose(value, ((A @ B) ** 2).sum(), rtol=1e-5)
        np.testing.assert_allclose(a_ct, 2 * A @ B @ B.T, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(b_ct, 2 * A.T @ A @ B, rtol=1e-4, atol=1e-4)
        assert short(b_ct) == "f32[4@x,6]"
    assert "unreduced_reduce_scatter" in str(laminax.make_jaxpr(laminax.grad(f, argnums=1))(a, b))


def test_stacked_gather_to_reduced():
    @laminax.shard_map(in_specs=P("x"), out_specs=P(None, None, reduced={"x"}))
    def gathered(v):
        return lax.all_gather(v, "x", axis=1, to="reduced")

    v = on(np.arange(8.0, dtype=np.float32), "x")
    out, ct = laminax.vjp(gathered, v)
    np.testing.assert_array_equal(out, np.arange(8.0).reshape(4, 2).T)
    weights = np.arange(8.0, dtype=np.float32).reshape(2, 4)
    (found,) = ct(on(weights, unreduced={"x"}))
    np.testing.assert_array_equal(found, weights.T.ravel())


def test_a_value_that_all_have_is_reduced_and_its_cotangent_summed_at_the_end():
    @laminax.shard_map(in_specs=P(), out_specs=P(reduced={"x"}))
    def whole(b):
        return lax.pcast(b, "x", to="reduced")

    def f(a, b):
        return jnp.sin(jnp.einsum("ij,jk->ik", a, whole(b))).sum()

    a, b = on(A, "x", None), on(B)
    found = laminax.jit(laminax.grad(f, argnums=1))(a, b)
    np.testing.assert_allclose(found, A.T @ np.cos(A @ B), rtol=1e-4, atol=1e-4)
    assert "unreduced_psum" in str(laminax.make_jaxpr(laminax.grad(f, argnums=1))(a, b))


@pytest.mark.parametrize("fun, partial", [
    (lax.mul, lambda x, y: x), (lax.add, lambda x, y: np.ones_like(x)), (lax.div, lambda x, y: -x / y**2),
    (lambda x, y: jnp.where(x > 0, x * y, y), lambda x, y: np.where(x > 0, x, 1)),
    (lambda x, y: x * jnp.exp(y), lambda x, y: x * np.exp(y))])
def test_reduced_beside_varying_varies(fun, partial):
    y = np.random.default_rng(4).normal(size=8).astype(np.float32) + 3
    x = np.random.default_rng(5).normal(size=32).astype(np.float32)

    @laminax.shard_map(out_specs=P("x"))
    def f(x, y):
        out = fun(x, y)
        assert y.mat.reduced == {"x"} and out.mat.varying == {"x"} and not out.mat.reduced
        return out

    found = laminax.jit(laminax.grad(lambda x, y: f(x, y).sum(), argnums=1))(on(x, "x"), on(y, reduced={"x"}))
    assert short(found) == "f32[8]{U:x}"
    parts = x.reshape(4, 8)
    np.testing.assert_allclose(np.asarray(found.addressable_shards[2].data), partial(parts[1], y), rtol=1e-5)  # nothing was summed
    np.testing.assert_allclose(reshard(found, P()), partial(parts, y).sum(0) if partial(parts, y).ndim > 1 else 4 * partial(parts, y),
                               rtol=1e-5, atol=1e-5)


def test_no_communication_for_the_gradient_of_reduced_parameters():
    @laminax.shard_map(in_specs=(P("x"), P(reduced={"x"})), out_specs=P("x"))
    def layer(a, b):
        return jnp.tanh(a @ b)

    step = laminax.grad(lambda b, a: layer(a, b).sum())
    text = compiled_text(step, on(B, reduced={"x"}), on(A, "x", None))
    assert "all-reduce" not in text and "all-gather" not in text
    found = laminax.jit(step)(on(B, reduced={"x"}), on(A, "x", None))
    np.testing.assert_allclose(reshard(found, P()), A.T @ (1 - np.tanh(A @ B) ** 2), rtol=1e-4, atol=1e-4)


def test_reduced_goes_through_nonlinear_operations_and_residuals():
    v = np.linspace(0.1, 0.8, 8, dtype=np.float32)

    @laminax.shard_map(out_specs=P(reduced={"x"}))
    def f(v):
        out = jnp.max(jnp.sin(v.reshape(4, 2)) * v.reshape(4, 2), axis=0).sum()
        assert out.mat.reduced == {"x"}
        return out

    for found in each_way(laminax.grad(f), on(v, reduced={"x"})):
        assert short(found) == "f32[8]{U:x}"
        expected = np.where(np.arange(8) >= 6, np.sin(v) + v * np.cos(v), 0)  # v sin v grows, and the last row is greatest
        np.testing.assert_allclose(reshard(found, P()), expected, rtol=1e-5)
    tangent = np.ones(8, np.float32)
    out, out_dot = laminax.jvp(f, (on(v, reduced={"x"}),), (on(tangent, reduced={"x"}),))
    np.testing.assert_allclose(out_dot, (np.sin(v) + v * np.cos(v))[6:].sum(), rtol=1e-5)
    assert short(out_dot) == "f32[]{R:x}"


def test_terms_times_a_reduced_factor_are_terms():
    u, r = A[0], B[:, 0]

    @laminax.shard_map(out_specs=P(unreduced={"x"}))
    def f(u, r):
        out = u * r / r * r
        assert out.mat.unreduced == {"x"}
        return out.sum()

    value, (u_ct, r_ct) = laminax.jit(laminax.value_and_grad(f, argnums=(0, 1)))(on(u, unreduced={"x"}), on(r, reduced={"x"}))
    np.testing.assert_allclose(reshard(value, P()), (u * r).sum(), rtol=1e-4)
    assert short(u_ct) == "f32[4]{R:x}" and short(r_ct) == "f32[4]{U:x}"
    np.testing.assert_allclose(u_ct, r, rtol=1e-5)
    np.testing.assert_allclose(reshard(r_ct, P()), u, rtol=1e-4, atol=1e-5)


def test_elements_of_reduced_arrays_and_terms_among_terms():
    index = np.array([1, 3, 1])

    @laminax.shard_map(in_specs=(P(reduced={"x"}), P()), out_specs=P(reduced={"x"}))
    def taken(a, i):
        return a[i]

    a = on(A, reduced={"x"})
    np.testing.assert_array_equal(taken(a, index), A[index])
    found = laminax.jit(laminax.grad(lambda a: (taken(a, index) ** 2).sum()))(a)
    expected = np.zeros_like(A)
    np.add.at(expected, index, 2 * A[index])
    assert short(found) == "f32[8,4]{U:x}"
    np.testing.assert_allclose(reshard(found, P()), expected, **CLOSE)

    @laminax.shard_map(in_specs=(P(unreduced={"x"}), P(), P(unreduced={"x"})), out_specs=P(unreduced={"x"}))
    def added(a, i, more):
        return a.at[i].add(more)

    u, more = on(A, unreduced={"x"}), on(B[:3, :4], unreduced={"x"})
    expected = A.copy()
    np.add.at(expected, index, B[:3, :4])
    np.testing.assert_allclose(reshard(added(u, index, more), P()), expected, **CLOSE)


def test_explicit_sharding_gathers_of_reduced_and_scatters_among_terms():
    index = np.array([1, 3, 1])
    a = on(A, reduced={"x"})
    out = laminax.jit(lambda a: a.at[index].get())(a)
    assert short(out) == "f32[3,4]{R:x}"
    found = laminax.jit(laminax.grad(lambda a: (a.at[index].get() ** 2).sum()))(a)
    expected = np.zeros_like(A)
    np.add.at(expected, index, 2 * A[index])
    assert short(found) == "f32[8,4]{U:x}"
    np.testing.assert_allclose(reshard(found, P()), expected, **CLOSE)
    np.testing.assert_allclose(laminax.jit(lambda a: jnp.max(a, axis=0))(a), A.max(0))
    u, more = on(A, unreduced={"x"}), on(B[:3, :4], unreduced={"x"})
    expected = A.copy()
    np.add.at(expected, index, B[:3, :4])
    np.testing.assert_allclose(reshard(laminax.jit(lambda u, m: u.at[index].add(m))(u, more), P()), expected, **CLOSE)


# Programs inside of programs per device


def test_a_loop_adds_terms():
    xs = np.random.default_rng(6).normal(size=(8, 5, 3)).astype(np.float32)

    @laminax.shard_map(in_specs=(P("x"), P(reduced={"x"})), out_specs=P(unreduced={"x"}))
    def f(xs, w):
        zero = lax.pcast(jnp.zeros(3), "x", to="varying")
        start = lax.pcast(zero, "x", to="unreduced")
        step = lambda c, x: (c + lax.pcast(jnp.sin(x * w).sum(0), "x", to="unreduced"), None)
        return lax.scan(step, start, xs)[0]

    w = np.array([0.5, 1.0, 2.0], np.float32)
    args = on(xs, "x"), on(w, reduced={"x"})
    np.testing.assert_allclose(reshard(laminax.jit(f)(*args), P()), np.sin(xs * w).sum((0, 1)), rtol=1e-4, atol=1e-4)
    found = laminax.jit(laminax.grad(lambda xs, w: f(xs, w).sum(), argnums=(0, 1)))(*args)
    np.testing.assert_allclose(found[0], np.cos(xs * w) * w, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(reshard(found[1], P()), (np.cos(xs * w) * xs).sum((0, 1)), rtol=1e-4, atol=1e-4)
    assert short(found[1]) == "f32[3]{U:x}"


@pytest.mark.parametrize("wrapped", [laminax.checkpoint, laminax.jit, lambda f: f])
@pytest.mark.parametrize("which", [True, False])
def test_branches_and_checkpoints_of_reduced_values(which, wrapped):
    v = np.linspace(-1, 1, 6, dtype=np.float32)

    @laminax.shard_map(in_specs=(P(), P(reduced={"x"}), P("x")), out_specs=P("x"))
    def f(p, v, a):
        return a * lax.cond(p, wrapped(jnp.sin), lambda v: v * v, v)

    a = np.random.default_rng(7).normal(size=24).astype(np.float32)
    found = laminax.jit(laminax.grad(lambda p, v, a: f(p, v, a).sum(), argnums=1))(which, on(v, reduced={"x"}), on(a, "x"))
    slope = np.cos(v) if which else 2 * v
    np.testing.assert_allclose(reshard(found, P()), slope * a.reshape(4, 6).sum(0), rtol=1e-4, atol=1e-5)


def test_examples_inside_of_programs_per_device():
    @laminax.shard_map(in_specs=(P("x"), P(reduced={"x"})), out_specs=P(unreduced={"x"}))
    def f(xs, w):
        each = laminax.vmap(lambda x: lax.pcast(jnp.tanh(x @ w), "x", to="unreduced"))
        return each(xs).sum(0)

    args = on(A, "x", None), on(B, reduced={"x"})
    np.testing.assert_allclose(reshard(laminax.jit(f)(*args), P()), np.tanh(A @ B).sum(0), **CLOSE)

    @laminax.shard_map(in_specs=P("x"), out_specs=P(None, "x"))
    def scattered(xs):
        def one(x):
            whole = lax.all_gather(x, "x", tiled=True, to="reduced")
            return lax.psum_scatter(lax.pcast(lax.pcast(whole, "x", to="varying"), "x", to="unreduced"), "x", tiled=True)
        return laminax.vmap(one, in_axes=1)(xs)

    np.testing.assert_allclose(laminax.jit(scattered)(on(A, "x", None)), 4 * A.T, **CLOSE)
    summed = laminax.shard_map(lambda xs: laminax.vmap(lambda x: lax.psum(lax.pcast(x, "x", to="unreduced"), "x"))(xs),
                               in_specs=P("x"), out_specs=P())
    np.testing.assert_allclose(summed(on(A, "x", None)), A.reshape(4, 2, 4).sum(0), **CLOSE)


def test_two_axes_as_in_fully_sharded_data_parallel_training():
    """Parameters split over x; gathered for use and reduced over both axes; gradients scattered over x and summed over y."""
    @laminax.shard_map(in_specs=P("x", None), out_specs=P("x", None, reduced={"y"}))
    def marked(w):
        return lax.pcast(w, "y", to="reduced")

    @laminax.shard_map(in_specs=P("x", None, reduced={"y"}), out_specs=P(reduced={"x", "y"}))
    def gathered(w):
        return lax.all_gather(w, "x", tiled=True, to="reduced")

    def loss(w, a):
        return (jnp.einsum("ij,jk->ik", a, gathered(marked(w))) ** 2).sum()

    w, a = on(B, "x", None), on(A, ("x", "y"), None)
    found = laminax.jit(laminax.grad(loss))(w, a)
    assert short(found) == "f32[4@x,6]"
    np.testing.assert_allclose(found, 2 * A.T @ A @ B, rtol=1e-4, atol=1e-4)


def test_sums_over_one_axis_stay_open_in_a_sum_over_another():
    @laminax.shard_map(out_specs=P(unreduced={"y"}))
    def f(a):
        open_sum = lax.pcast(a, "y", to="unreduced")
        out = lax.psum(open_sum, "x")
        assert open_sum.mat.varying == {"x"} and out.mat.unreduced == {"y"} and not out.mat.varying
        return out

    out = laminax.jit(f)(on(A, "x", "y"))
    np.testing.assert_allclose(reshard(out, P()), A.reshape(4, 2, 2, 2).sum((0, 2)), **CLOSE)
    found = laminax.jit(laminax.grad(lambda a: reshard(f(a), P()).sum()))(on(A, "x", "y"))
    np.testing.assert_array_equal(found, np.ones_like(A))


def test_without_checked_types_specs_say_what_devices_have():
    """Where JAX 0.12 divides the cotangent by the number of devices, or multiplies it, the derivative is of what the function is."""
    opened = laminax.shard_map(lambda v: v, in_specs=P("x"), out_specs=P(unreduced={"x"}), check_vma=False)
    v = np.arange(8.0, dtype=np.float32)
    np.testing.assert_array_equal(reshard(laminax.jit(opened)(on(v, "x")), P()), v.reshape(4, 2).sum(0))
    weights = np.array([3.0, 5.0], np.float32)
    found = laminax.jit(laminax.grad(lambda v: (reshard(opened(v), P()) * weights).sum()))(on(v, "x"))
    np.testing.assert_array_equal(found, np.tile(weights, 4))

    made = laminax.shard_map(lambda u: lax.psum_scatter(u, "x", tiled=True), in_specs=P(unreduced={"x"}), out_specs=P("x"), check_vma=False)
    np.testing.assert_array_equal(laminax.jit(made)(on(v, unreduced={"x"})), v)
    found = laminax.jit(laminax.grad(lambda u: (made(u) * made(u)).sum()))(on(v, unreduced={"x"}))
    assert short(found) == "f32[8]{R:x}"
    np.testing.assert_array_equal(found, 2 * v)

    used = laminax.shard_map(lambda r: r * (lax.axis_index("x") + 1), in_specs=P(reduced={"x"}), out_specs=P("x"), check_vma=False)
    found = laminax.jit(laminax.grad(lambda r: used(r).sum()))(on(v, reduced={"x"}))
    assert short(found) == "f32[8]{U:x}"
    np.testing.assert_array_equal(reshard(found, P()), np.full(8, 1.0 + 2 + 3 + 4))


# What is refused

OPEN = {"in_specs": P(unreduced={"x"}), "out_specs": P(unreduced={"x"})}


@pytest.mark.parametrize("fun, options, error, message", [
    (jnp.sin, OPEN, NotImplementedError, "unreduced rule for sin is not implemented"),
    (jnp.max, OPEN, NotImplementedError, "unreduced rule for reduce_max is not implemented"),
    (lambda u: u + lax.axis_index("x"), OPEN, ShardingTypeError, "lhs is unreduced while rhs is not"),
    (lambda u: u + jnp.ones(8), OPEN, ShardingTypeError, "lhs is unreduced while rhs is not"),
    (lambda u: u * u, OPEN, ShardingTypeError, "cannot be unreduced since mul is bilinear"),
    (lambda u: u * lax.axis_index("x"), OPEN, ShardingTypeError, "RHS should be reduced along the same axes LHS is unreduced on"),
    (lambda u: lax.pcast(u, "x", to="varying"), OPEN, ValueError, "Unsupported pcast from=unreduced, to='varying'"),
    (lambda u: lax.pcast(u, "x", to="reduced"), OPEN, ValueError, "Unsupported pcast from=unreduced, to='reduced'"),
    (lambda u: lax.pcast(u, "x", to="other"), OPEN, ValueError, "Allowed `to` values are"),
    (lambda u: lax.pcast(u, ("x", "y"), to="unreduced"), OPEN, ValueError, "lax.pcast can only accept axis_name which corresponds"),
    (lambda u: lax.psum(u, ("x", "y")), OPEN, ValueError, "psum can only accept axis_name which corresponds"),
    (lambda u: lax.ppermute(u, "x", [(0, 1)]), OPEN, ValueError, "ppermute cannot accept args which are unreduced"),
    (lambda u: lax.all_gather(u, "x"), OPEN, ValueError, "all_gather cannot accept args which are unreduced"),
    (lambda u: lax.psum(u, "x", axis_index_groups=[[0, 1], [2, 3]]), OPEN, NotImplementedError, "axis_index_groups are not supported"),
    (lambda u: lax.pcast(jnp.ones(8), "x", to="unreduced"), OPEN, ValueError, "Unsupported pcast from=invarying, to='unreduced'"),
    (lambda u: lax.psum(u, "x"), OPEN, ValueError, "out_specs passed to shard_map should be equal to the unreduced"),
    (lambda u: u, {**OPEN, "out_specs": P()}, ValueError, "out_specs passed to shard_map should be equal to the unreduced"),
    (lambda u: u, {"in_specs": P(), "out_specs": P()}, ValueError, "in_specs containing unreduced"),
    (lambda u: u, {"in_specs": P(reduced={"x"}), "out_specs": P()}, ValueError, "in_specs containing unreduced"),
    (lambda u: u, {**OPEN, "axis_names": {"y"}}, ValueError, "can only be used when the mesh passed to shard_map contains axis names of")])
def test_refused(fun, options, error, message):
    with pytest.raises(error, match=message):
        laminax.jit(laminax.shard_map(fun, **options))(on(np.arange(8.0, dtype=np.float32), unreduced={"x"}))


def test_refused_of_reduced_values():
    v = on(np.arange(8.0, dtype=np.float32), reduced={"x"})
    with pytest.raises(ValueError, match="psum cannot accept args which are reduced"):
        laminax.shard_map(lambda r: lax.psum(r, "x"), out_specs=P())(v)
    with pytest.raises(ValueError, match="should be equal to the reduced"):
        laminax.shard_map(lambda r: r, out_specs=P())(v)
    with pytest.raises(ShardingTypeError, match="replicated on the same axes that another input is reduced"):
        laminax.shard_map(lambda r: r + jnp.ones(8), out_specs=P(reduced={"x"}))(v)
    with pytest.raises(ValueError, match="all_gather_reduced only accepts inputs that are varying"):
        laminax.shard_map(lambda r: lax.all_gather(r, "x", to="reduced"), out_specs=P(reduced={"x"}))(v)


@pytest.mark.parametrize("fun, slope", [
    (lambda v: jnp.where(v > 0, jnp.sin(v), v * v), lambda v: np.where(v > 0, np.cos(v), 2 * v)),
    (lambda v: lax.real(lax.mul(lax.complex(v, v * v), lax.complex(v, v * v))), lambda v: 2 * v - 4 * v**3)])
def test_zeros_beside_the_terms_of_a_cotangent_are_terms(fun, slope):
    v = np.linspace(-1, 1, 8, dtype=np.float32)
    for f in (fun, laminax.shard_map(fun, out_specs=P(reduced={"x"}))):
        found = laminax.jit(laminax.grad(lambda v: f(v).sum()))(on(v, reduced={"x"}))  # noqa: B023
        assert short(found) == "f32[8]{U:x}"
        np.testing.assert_allclose(reshard(found, P()), slope(v), rtol=1e-5, atol=1e-5)
