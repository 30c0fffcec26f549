"""Options of what types say of mesh axes: `remove_size_one_mesh_axis_from_type`, and `auto_pcast` inside of shard_map."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.sharding import AxisType, Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

MESH = Mesh(np.array(laminax.devices()[:4]).reshape(4, 1), ("x", "y"), axis_types=AxisType.Explicit)
A = np.arange(32, dtype=np.float32).reshape(8, 4)


@pytest.fixture(autouse=True)
def _on_mesh():
    with laminax.set_mesh(MESH):
        yield


@pytest.mark.parametrize("spec, kept", [(P("x", "y"), P("x", None)), (P(("x", "y")), P("x", None)), (P("y"), P(None, None)),
                                        (P(None, ("y", "x")), P(None, "x"))])
def test_types_leave_out_axes_of_size_one(spec, kept):
    with laminax.remove_size_one_mesh_axis_from_type(True):
        a = laminax.device_put(A, spec)

        @laminax.jit
        def f(x):
            assert laminax.typeof(x).sharding.spec == kept and laminax.typeof(x * 2).sharding.spec == kept
            return lax.with_sharding_constraint(x * 2, spec)  # which is what it is

        out = f(a)
    assert out.sharding == NamedSharding(MESH, kept)
    np.testing.assert_array_equal(out, 2 * A)
    assert laminax.typeof(laminax.device_put(A, spec)).sharding.spec != kept, "without the option all axes are named"


def test_values_do_not_vary_along_axes_of_size_one():
    def f(x):
        seen.append(x.mat.varying)
        return lax.psum(x, "x")  # the same along y then, so that out_specs need not name it

    seen: list = []
    mapped = laminax.shard_map(f, in_specs=P("x", "y"), out_specs=P())
    with laminax.remove_size_one_mesh_axis_from_type(True):
        for run in (mapped, laminax.jit(mapped)):
            np.testing.assert_array_equal(run(laminax.device_put(A, P("x", "y"))), A.reshape(4, 2, 4).sum(0))
        found = laminax.jit(laminax.grad(lambda x: (mapped(x) ** 2).sum()))(laminax.device_put(A, P("x", "y")))
    np.testing.assert_array_equal(found, np.tile(2 * A.reshape(4, 2, 4).sum(0), (4, 1)))
    assert set(seen) == {frozenset("x")}
    with pytest.raises(ValueError, match="may vary along the mesh axes"):
        laminax.jit(mapped)(laminax.device_put(A, P("x", "y")))
    assert seen[-1] == {"x", "y"}


def test_casts_to_vary_along_axes_of_size_one_are_nothing():
    with laminax.remove_size_one_mesh_axis_from_type(True):
        program = laminax.make_jaxpr(laminax.shard_map(lambda x: lax.pcast(x, "y", to="varying"), in_specs=P("x"), out_specs=P("x")))(
            laminax.device_put(A, P("x")))
        assert "pvary" not in str(program)
        outside = laminax.make_jaxpr(lambda x: lax.pcast(x, "y", to="varying"))(A)  # where nothing runs along the axis
        np.testing.assert_array_equal(lax.pcast(A, "y", to="varying"), A)
        with pytest.raises(NameError, match="unbound axis name: x"):
            laminax.make_jaxpr(lambda x: lax.pcast(x, ("x", "y"), to="varying"))(A)
    assert not outside.eqns


@pytest.mark.parametrize("wrapped", [laminax.jit, lambda f: f])
def test_without_auto_pcast_operands_are_cast_by_hand(wrapped):
    x, y = laminax.device_put(A, P("x")), laminax.device_put(A[:2], P())
    options = {"in_specs": (P("x"), P()), "out_specs": P("x")}
    implied = wrapped(laminax.shard_map(lambda x, y: x * y + 1.0, **options))
    np.testing.assert_array_equal(implied(x, y), A * np.tile(A[:2], (4, 1)) + 1)
    with laminax.auto_pcast(False):
        with pytest.raises(ValueError, match="Primitive mul requires varying manual axes to match, but got .*lax.pcast"):
            implied(x, y)
        said = wrapped(laminax.shard_map(lambda x, y: x * lax.pcast(y, "x", to="varying") + 1.0, **options))
        np.testing.assert_array_equal(said(x, y), A * np.tile(A[:2], (4, 1)) + 1)
        integers = wrapped(laminax.shard_map(lambda x, y: x.astype(np.int32) * y.astype(np.int32), **options))
        np.testing.assert_array_equal(integers(x, y), (A * np.tile(A[:2], (4, 1))).astype(np.int32))
        assert wrapped(lambda a: jnp.sin(a) * A)(A).shape == (8, 4)


GRID = Mesh(np.array(laminax.devices()).reshape(4, 2), ("x", "y"), axis_types=AxisType.Explicit)


@pytest.mark.parametrize("wrapped", [laminax.jit, lambda f: f])
def test_examples_that_are_split_stay_split_in_programs_per_device(wrapped):
    with laminax.set_mesh(GRID):
        a = laminax.device_put(A, P("x", "y"))
        kept = wrapped(laminax.vmap(laminax.shard_map(jnp.sin, in_specs=P("y"), out_specs=P("y"))))(a)
        assert laminax.typeof(kept).str_short() == "f32[8@x,4@y]"
        np.testing.assert_allclose(kept, np.sin(A), rtol=1e-6, atol=1e-6)
        total = laminax.shard_map(lambda v: lax.psum(v * v, "y"), in_specs=P("y"), out_specs=P())
        found = wrapped(laminax.vmap(total))(a)
        assert laminax.typeof(found).str_short() == "f32[8@x,2]"
        np.testing.assert_allclose(found, (A * A).reshape(8, 2, 2).sum(1), rtol=1e-6)
        slopes = wrapped(laminax.vmap(laminax.grad(lambda v: total(v).sum())))(a)
        assert laminax.typeof(slopes).str_short() == "f32[8@x,4@y]"
        np.testing.assert_array_equal(slopes, 2 * A)


@pytest.mark.parametrize("axis_names", [{"axis_names": {"y"}}, {}])
def test_derivatives_of_split_examples_through_programs_per_device(axis_names):
    def g(v):
        v = laminax.reshard(v, P("y"))
        return laminax.shard_map(jnp.cos, in_specs=P("y"), out_specs=P("y"), **axis_names)(v).sum()

    with laminax.set_mesh(GRID):
        found = laminax.jit(laminax.vmap(laminax.grad(g)))(laminax.device_put(A, P("x", None)))
        assert laminax.typeof(found).str_short() == "f32[8@x,4]"
        np.testing.assert_allclose(found, -np.sin(A), rtol=1e-5, atol=1e-5)


def test_spmd_axis_name_may_name_the_axes_that_split_the_examples():
    with laminax.set_mesh(GRID):
        a = laminax.device_put(A, P("x", "y"))
        np.testing.assert_array_equal(laminax.jit(laminax.vmap(lambda v: v * 2, spmd_axis_name="x"))(a), 2 * A)
        with pytest.raises(ValueError, match="Only one of spmd_axis_name or arrays sharded on `Explicit`.*spmd_axis_name='y'"):
            laminax.vmap(lambda v: v * 2, spmd_axis_name="y")(a)
    with laminax.remove_size_one_mesh_axis_from_type(True):
        a = laminax.device_put(A, P(("x", "y")))
        np.testing.assert_array_equal(laminax.vmap(lambda v: v * 2, spmd_axis_name=("x", "y"))(a), 2 * A)


def test_a_program_over_an_abstract_mesh_of_one_device_is_for_the_default_device():
    mesh = laminax.sharding.AbstractMesh((1,), ("x",), axis_types=AxisType.Explicit)
    with laminax.set_mesh(None), laminax.sharding.use_abstract_mesh(mesh):
        lowered = laminax.jit(lambda x: x * 3).trace(np.arange(8)).lower()
    assert "num_partitions = 1" in lowered.as_text()
    np.testing.assert_array_equal(lowered.compile()(np.arange(8)), 3 * np.arange(8))


def test_an_abstract_mesh_of_another_size_than_the_devices_is_refused():
    small = laminax.sharding.AbstractMesh((1,), ("x",), axis_types=AxisType.Auto)
    devices = Mesh(np.array(laminax.devices()[:2]), ("x",), axis_types=AxisType.Auto)
    args = [laminax.ShapeDtypeStruct((8,), np.float32, sharding=NamedSharding(mesh, P("x"))) for mesh in (small, devices)]
    with laminax.set_mesh(None), pytest.raises(ValueError, match="AbstractMesh size: 1 does not match the device assignment size: 2"):
        laminax.jit(lambda x, y: (x, y)).lower(*args)


def test_ppermute_takes_pairs_that_can_be_read_again():
    def f(x):
        return lax.ppermute(x, "x", zip([0, 1], [1, 0]))
    with pytest.raises(TypeError, match="`perm` passed to `jax.lax.ppermute` must be a list or tuple of pairs.*<zip object"):
        laminax.shard_map(f, out_specs=P("x"))(laminax.device_put(A, P("x")))


@pytest.mark.parametrize("as_struct", [False, True])
@pytest.mark.parametrize("wrapped", [laminax.jit, lambda f: f])
def test_broadcast_like_splits_as_its_model(as_struct, wrapped):
    with laminax.set_mesh(GRID):
        for spec in (P("x", None), P("x", "y"), P("x", None, unreduced={"y"})):
            model = laminax.device_put(A, spec)
            like = laminax.ShapeDtypeStruct(A.shape, A.dtype, sharding=model.sharding) if as_struct else model
            x = laminax.device_put(A[:, :1], P("x", None, unreduced=spec.unreduced))
            out = wrapped(lambda x: lax.broadcast_like(x, like))(x)  # noqa: B023
            assert laminax.typeof(out).str_short() == laminax.typeof(model).str_short()
            np.testing.assert_array_equal(laminax.reshard(out, P()), np.tile(A[:, :1], (1, 4)))


@pytest.mark.parametrize("axis_type", [AxisType.Auto, AxisType.Explicit])
@pytest.mark.parametrize("axis_names", [{"x"}, {"x", "y"}])
@pytest.mark.parametrize("like", [jnp.zeros_like, lambda s: jnp.full_like(s, 0), lambda s: lax.full_like(s, 0), jnp.empty_like,
                                  lambda s: jnp.ones_like(s, dtype=np.float32) - 1])
def test_loops_start_with_zeros_like_the_struct_of_what_varies(like, axis_names, axis_type):
    """A struct did not say that its array varies over the devices: the carry varied after a step only, which scan refuses."""
    mesh = Mesh(np.array(laminax.devices()[:4]).reshape(2, 2), ("x", "y"), axis_types=axis_type)

    def f(w, x):  # the sum of scaled rows of each device
        struct = laminax.eval_shape(lambda w, row: w * row, w, x[0])
        assert struct == laminax.eval_shape(laminax.jit(lambda w, row: w * row), w, x[0])
        assert struct.manual_axis_type.varying == {"x"} and laminax.typeof(struct).vma == {"x"}
        start = like(struct)
        assert laminax.typeof(start).vma == {"x"}
        return lax.scan(lambda total, row: (total + w * row, None), start, x)[0][None]

    with laminax.set_mesh(mesh):
        fun = laminax.shard_map(f, in_specs=(P(), P("x")), out_specs=P("x"), axis_names=axis_names)
        for call in (fun, laminax.jit(fun)):
            found = call(jnp.float32(3), laminax.device_put(A, P("x")))
            np.testing.assert_array_equal(found, 3 * A.reshape(2, 4, 4).sum(1))


def test_structs_of_values_that_do_not_vary_say_nothing_of_it():
    found = []

    def f(x):
        found.append(laminax.eval_shape(lambda x: lax.psum(x, "x"), x))
        found.append(laminax.eval_shape(lambda x: x, x))
        return x

    for check_vma in (True, False):
        laminax.jit(laminax.shard_map(f, in_specs=P("x"), out_specs=P("x"), check_vma=check_vma))(laminax.device_put(A, P("x")))
    laminax.vmap(f, axis_name="x")(A)
    assert [s.manual_axis_type and s.manual_axis_type.varying for s in found] == [None, {"x"}, None, None, None, None]
