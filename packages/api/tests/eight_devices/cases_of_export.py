"""Exported functions over several devices: kept with their shardings, called on other meshes of as many devices, differentiated."""

import numpy as np
import pytest
from meshes import MESH, put, value

import laminax
from laminax import export, grad, jit, lax, shard_map
from laminax import numpy as jnp
from laminax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding
from laminax.sharding import PartitionSpec as P

A = value(8, 4)
ROWS, COLUMNS = NamedSharding(MESH, P("x", None)), NamedSharding(MESH, P(None, "y"))
OTHER = Mesh(np.array(laminax.devices())[::-1].reshape(4, 2), ("a", "b"))  # other names, and the devices the other way round
FLAT = Mesh(np.array(laminax.devices()), ("d",))
TWO = Mesh(np.array(laminax.devices()[:2]), ("x",))


def doubled():
    return jit(lambda x: x * 2, in_shardings=ROWS, out_shardings=COLUMNS)


def again(exported, vjp_order=0):
    return export.deserialize(exported.serialize(vjp_order=vjp_order))


def on(mesh, x=A):
    return laminax.device_put(x, NamedSharding(mesh, P()))


def test_shardings_are_kept_without_devices():
    for e in (made := export.export(doubled())(A), again(made)):
        assert e.nr_devices == 8
        assert e.in_shardings_jax(MESH) == (ROWS,) and e.out_shardings_jax(MESH) == (COLUMNS,)
        (hlo,) = e.in_shardings_hlo
        assert list(hlo.tile_assignment_dimensions())[:2] == [MESH.shape["x"], 1]
        (elsewhere,) = e.out_shardings_jax(OTHER)
        assert set(elsewhere._device_assignment) == set(laminax.devices())
        assert elsewhere.shard_shape((8, 4)) == COLUMNS.shard_shape((8, 4))


@pytest.mark.parametrize("mesh", [MESH, OTHER])
def test_calls_run_on_the_devices_of_the_arguments(mesh):
    out = again(export.export(doubled())(A)).call(on(mesh))
    np.testing.assert_array_equal(out, A * 2)
    assert out.sharding.shard_shape((8, 4)) == COLUMNS.shard_shape((8, 4))
    assert out.addressable_shards[0].device == mesh.devices.flat[0]


def test_the_axes_of_the_mesh_need_not_be_the_same():
    np.testing.assert_array_equal(again(export.export(doubled())(A)).call(on(FLAT)), A * 2)
    (sharding,) = export.export(doubled())(A).in_shardings_jax(FLAT)
    assert sharding.shard_shape((8, 4)) == ROWS.shard_shape((8, 4))


def test_arguments_that_the_function_does_not_read():
    f = jit(lambda x, unused, y: x + y, in_shardings=(ROWS, COLUMNS, COLUMNS))
    e = again(export.export(f)(A, A, A))
    assert e.in_shardings_jax(MESH) == (ROWS, COLUMNS, COLUMNS)
    np.testing.assert_array_equal(e.call(*[on(MESH)] * 3), A + A)


def test_inside_of_another_program_and_exported_again():
    inner = again(export.export(doubled())(A))
    outer = jit(lambda x: inner.call(jnp.sin(x)) + 1, in_shardings=NamedSharding(OTHER, P("a")))
    np.testing.assert_allclose(outer(A), np.sin(A) * 2 + 1, rtol=1e-6)
    e = again(export.export(outer)(A))
    assert e.nr_devices == 8
    np.testing.assert_allclose(e.call(on(MESH)), np.sin(A) * 2 + 1, rtol=1e-6)


def test_a_program_per_device():
    """Each part is passed on to the next device."""
    def step(x):
        size = lax.axis_size("x")
        return lax.ppermute(x, "x", [(i, (i + 1) % size) for i in range(size)])

    e = again(export.export(jit(shard_map(step, mesh=MESH, in_specs=P("x"), out_specs=P("x"))))(A))
    assert e.nr_devices == 8
    rows = 8 // MESH.shape["x"]
    np.testing.assert_array_equal(e.call(on(MESH)), np.roll(A, rows, axis=0))


def test_derivatives_are_split_as_the_function_is():
    f = jit(lambda x: jnp.sin(x) ** 2, in_shardings=ROWS, out_shardings=COLUMNS)
    e = again(export.export(f)(A), vjp_order=2)
    assert e.vjp().nr_devices == 8
    assert e.vjp().in_shardings_jax(MESH) == (ROWS, COLUMNS) and e.vjp().out_shardings_jax(MESH) == (ROWS,)
    np.testing.assert_allclose(grad(lambda x: e.call(x).sum())(on(OTHER)), np.sin(2 * A), rtol=1e-5, atol=1e-6)
    second = grad(lambda x: grad(lambda x: e.call(x).sum())(x).sum())(on(MESH))
    np.testing.assert_allclose(second, 2 * np.cos(2 * A), rtol=1e-5, atol=1e-5)


def test_a_mesh_without_devices_is_enough():
    mesh = AbstractMesh((2,), ("x",), AxisType.Auto)
    f = jit(lambda x: lax.with_sharding_constraint(x @ x.T, NamedSharding(mesh, P(None, "x"))))
    struct = laminax.ShapeDtypeStruct((8, 4), np.float32, sharding=NamedSharding(mesh, P("x")))
    e = again(export.export(f)(struct))
    assert e.nr_devices == 2 and e.in_shardings_jax(TWO) == (NamedSharding(TWO, P("x")),)
    out = e.call(on(TWO))
    np.testing.assert_allclose(out, A @ A.T, rtol=1e-5)
    assert out.sharding.shard_shape((8, 8)) == (8, 4)
    with pytest.raises(ValueError, match=r"export\(.*\): the shardings are over different numbers of devices"):
        export.export(f)(struct.update(sharding=NamedSharding(AbstractMesh((4,), ("x",), AxisType.Auto), P("x"))))


def test_several_platforms():
    e = again(export.export(doubled(), platforms=["tpu", "cpu"])(A))
    np.testing.assert_array_equal(e.call(on(MESH)), A * 2)


def test_other_numbers_of_devices():
    e = again(export.export(doubled())(A))
    for x, count in ((A, 1), (on(TWO), 2)):
        with pytest.raises(ValueError, match=f"was exported for 8 devices and is called in a context with {count} "
                                             "devices.*in_shardings_jax"):
            e.call(x)
    with pytest.raises(ValueError, match="in_shardings_jax: the function was exported for 8 devices, and the mesh has 2"):
        e.in_shardings_jax(TWO)
    with pytest.raises(TypeError, match="in_shardings_jax: expected a mesh, got 8"):
        e.in_shardings_jax(8)


def test_a_function_of_one_device_runs_on_many_unless_it_is_a_program_per_device():
    whole = export.export(jit(lambda x: x.sum(0)))(A)
    np.testing.assert_allclose(whole.call(put(A, "x", "y")), A.sum(0), rtol=1e-5)
    one = Mesh(np.array(laminax.devices()[:1]), ("x",))
    parts_of_one = NamedSharding(one, P("x"))  # which are whole
    for f in (jit(lambda x: x.sum(0), in_shardings=parts_of_one), jit(lambda x: lax.with_sharding_constraint(x, parts_of_one).sum(0))):
        np.testing.assert_allclose(again(export.export(f)(A)).call(put(A, "x", "y")), A.sum(0), rtol=1e-5)
    split = export.export(jit(shard_map(lambda x: x * 2, mesh=one, in_specs=P("x"), out_specs=P("x"))))(A)
    with pytest.raises(ValueError, match="for 1 devices and is called in a context with 8 devices.* non-replicated sharding annotations"):
        split.call(on(MESH))


def test_results_over_explicit_axes_are_split_as_when_exported():
    mesh = laminax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    with laminax.set_mesh(mesh):
        for specs, spec in (((P("x", None), P(None, "y")), P("x", "y")), ((P("x", None), P(None, None)), P("x", None))):
            x, y = (laminax.device_put(v, NamedSharding(mesh, s)) for v, s in zip((A, A.T), specs))
            e = again(export.export(jit(jnp.matmul))(x, y))
            out = e.call(x, y)
            np.testing.assert_allclose(out, A @ A.T, rtol=1e-5)
            assert out.sharding == NamedSharding(mesh, spec)
            types = []
            jit(lambda x, y: types.append(e.call(x, y).aval.sharding.spec)).lower(x, y)  # noqa: B023
            assert types == [spec]


def test_constraints_on_arrays_of_unknown_size():
    f = jit(lambda x: jnp.sin(lax.with_sharding_constraint(x, NamedSharding(FLAT, P("d")))))
    (spec,) = export.symbolic_args_specs((A,), ["8, n"])
    e = again(export.export(f)(spec))
    out = e.call(on(FLAT))
    np.testing.assert_allclose(out, np.sin(A), rtol=1e-5)
    assert out.sharding == NamedSharding(FLAT, P("d"))


def _swapped(x, count):
    return np.roll(x.reshape(count, -1, *x.shape[1:]), 1, axis=0).reshape(x.shape)


PER_DEVICE = {  # of 4 rows and more: the function of a part, the spec of its result, and NumPy's result of the whole
    "ppermute": (lambda b: lax.ppermute(b, "x", [(0, 1), (1, 0)]), P("x"), lambda x: _swapped(x, 2)),
    "psum": (lambda b: lax.psum(b, "x"), P(), lambda x: x.reshape(2, -1, x.shape[1]).sum(0)),
    "pmax of sums": (lambda b: lax.pmax(b.sum(0), "x"), P(), lambda x: x.reshape(2, -1, x.shape[1]).sum(1).max(0)),
    "all_gather": (lambda b: lax.all_gather(b, "x", tiled=True), P("x"), lambda x: np.concatenate([x, x])),
    "all_to_all": (lambda b: lax.all_to_all(b, "x", 1, 0, tiled=True), P("x"), lambda x: np.concatenate(np.split(x, 2, axis=1))),
    "psum_scatter": (lambda b: lax.psum_scatter(b, "x", tiled=True), P("x"), lambda x: x.reshape(2, -1, x.shape[1]).sum(0)),
    "product": (lambda b: lax.psum(b.T @ b, "x"), P(), lambda x: x.T @ x),
    "jit": (lambda b: jit(lambda c: lax.sort(c * c))(b) + b, P("x"), lambda x: np.sort(x * x, axis=-1) + x),
}


@pytest.mark.parametrize("name", PER_DEVICE)
def test_programs_per_device_of_symbolic_sizes(name):
    """The sizes of the parts follow from those of the whole when the program is called."""
    body, out_spec, expected = PER_DEVICE[name]
    f = jit(shard_map(body, mesh=TWO, in_specs=P("x"), out_specs=out_spec), in_shardings=NamedSharding(TWO, P("x")))
    e = export.export(f)(laminax.ShapeDtypeStruct(export.symbolic_shape("4*a, 2*b"), np.float32))
    for exported in (e, again(e)):
        for rows, columns in ((4, 6), (8, 2), (4, 6)):
            x = np.random.default_rng(rows).normal(size=(rows, columns)).astype(np.float32)
            for call in (exported.call, jit(exported.call)):
                np.testing.assert_allclose(call(on(TWO, x)), expected(x), rtol=1e-5, atol=1e-6)


def test_sizes_as_values_within_a_program_per_device_are_refused():
    f = jit(shard_map(lambda b: b + 1, mesh=TWO, in_specs=P("x"), out_specs=P("x")))
    with pytest.raises(NotImplementedError, match=r"'a' is not known in .* programs per device \(shard_map\). Export for sizes"):
        export.export(f)(laminax.ShapeDtypeStruct(export.symbolic_shape("2*a"), np.float32))
    with pytest.raises(laminax.core.InconclusiveDimensionOperation, match=r"mod\(a, 2\)"):
        export.export(f)(laminax.ShapeDtypeStruct(export.symbolic_shape("a"), np.float32))


# Memories

IN_HOST = NamedSharding(TWO, P("x"), memory_kind="pinned_host")


@pytest.mark.parametrize("where, nowhere", [
    (IN_HOST, NamedSharding(TWO.abstract_mesh, P("x"), memory_kind="pinned_host")),
    (laminax.sharding.SingleDeviceSharding(laminax.devices()[0], memory_kind="pinned_host"),
     NamedSharding(AbstractMesh((), ()), P(None, None), memory_kind="pinned_host"))])
def test_exported_functions_take_and_return_values_in_the_memory_of_the_host(where, nowhere):
    """What out_shardings said of the memory was dropped, and in_shardings_jax put arguments that lie in the host's on the device."""
    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    moved = jit(lambda x: x * 2, out_shardings=where)
    for exp in (exported := export.export(moved)(a), again(exported, 1)):
        out = exp.call(laminax.device_put(a, where.with_memory_kind("device")))
        np.testing.assert_array_equal(out, 2 * a)
        assert out.sharding.memory_kind == "pinned_host" and exp.out_avals[0].memory_space is laminax.memory.Space.Host
        assert exp.in_avals[0].memory_space is laminax.memory.Space.Device
        assert exp.out_shardings_jax(nowhere.mesh) == exp.out_shardings_jax() == (nowhere,)
        cotangent = laminax.device_put(np.ones_like(a), where)
        np.testing.assert_array_equal(exp.vjp().call(laminax.device_put(a, where.with_memory_kind("device")), cotangent)[0], 2 * cotangent)
    x = laminax.device_put(a, where)
    exp = export.export(jit(lambda x: x.T))(x)
    assert exp.in_shardings_jax(nowhere.mesh) == (nowhere,) and exp.out_shardings_jax(nowhere.mesh) == (None,)
    found, = exp.in_shardings_jax(getattr(where, "mesh", Mesh(laminax.devices()[:1], ("one",))))
    out = exp.call(laminax.device_put(a, found))
    assert found.memory_kind == out.sharding.memory_kind == "pinned_host"
    np.testing.assert_array_equal(out, a.T)


@pytest.mark.parametrize("platforms", [["tpu"], ["tpu", "cuda", "rocm"]])
def test_programs_for_accelerators_say_the_memory_of_results(platforms):
    text = export.export(jit(lambda x: x * 2, out_shardings=IN_HOST), platforms=platforms)(np.ones((4, 3), np.float32)).mlir_module()
    main = next(line for line in text.splitlines() if "@main(" in line)
    assert 'mhlo.memory_kind = "pinned_host"' in main.split("->")[1] and '"pinned_host"' not in main.split("->")[0]
    assert text.count("annotate_device_placement") == 1
