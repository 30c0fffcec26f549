"""Values on a mesh outside of jit, constraints inside of it, and the ways onto a mesh and off it."""

import pickle
import threading

import numpy as np
import pytest
from meshes import DEVICES, MESH, check_layout, on_mesh, put, value

import laminax
import laminax.numpy as jnp
from laminax import lax, random
from laminax.lax import with_sharding_constraint
from laminax.sharding import GSPMDSharding, Mesh, NamedSharding, SingleDeviceSharding
from laminax.sharding import PartitionSpec as P

A = value(8, 4)


# operations on values


@pytest.mark.parametrize("fun, spec", [
    (lambda x: x + 1, ("x", "y")),
    (lambda x: 2 - x, ("x", "y")),
    (lambda x: x * x, ("x", "y")),
    (lambda x: -x, ("x", "y")),
    (lambda x: x > 0, ("x", "y")),
    (lambda x: x[0], ("y",)),
    (lambda x: x[2:6, None], None),
    (lambda x: x.T, ("y", "x")),
    (lambda x: x.sum(axis=0), ("y",)),
    (lambda x: x.max(), ()),
    (lambda x: x @ x.T, None),
    (lambda x: x.reshape(-1), None),
    (lambda x: x.astype(np.int32), ("x", "y")),
])
def test_operations_on_values(fun, spec):
    result, expected = fun(put(A, "x", "y")), fun(A)
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-5, atol=1e-5)
    assert result.dtype == expected.dtype and result.committed and isinstance(result.sharding, NamedSharding)
    if spec is not None:
        check_layout(result, np.asarray(result), spec)


def test_arrays_like_others():
    for like in (jnp.zeros_like, jnp.ones_like, lambda x, **kw: jnp.full_like(x, 7.0, **kw)):
        x = put(A, "x")
        assert like(x).sharding == x.sharding and like(x, shape=(8, 4)).devices() == {DEVICES[0]}
        assert like(laminax.device_put(A, DEVICES[3])).devices() == {DEVICES[3]} and not like(jnp.asarray(A)).committed
        assert like(laminax.ShapeDtypeStruct((8, 4), np.float32, sharding=x.sharding)).sharding == x.sharding
        assert not like(laminax.ShapeDtypeStruct((8, 4), np.float32)).committed
        check_layout(laminax.jit(lambda y: like(x) + y)(put(A, "y")), np.asarray(like(A)) + A, ("y",))


def test_functions_of_several_values():
    x, y = put(A, "x"), put(A, None, "y")
    np.testing.assert_array_equal(np.asarray(x + y), A + A)
    np.testing.assert_allclose(np.asarray(jnp.concatenate([x, y, A])), np.concatenate([A, A, A]))
    np.testing.assert_array_equal(np.asarray(jnp.where(x > 0, y, 0.0)), np.where(A > 0, A, 0))
    np.testing.assert_allclose(np.asarray(jnp.sort(x, axis=0)), np.sort(A, axis=0))
    check_layout(x.at[3].set(7.0), np.concatenate([A[:3], np.full((1, 4), 7, np.float32), A[4:]]), ("x",))
    assert float(jnp.sum(x)) == pytest.approx(float(A.sum()), rel=1e-4)
    with pytest.raises(ValueError, match="incompatible devices for jitted computation. Got argument 0 of add .* and argument 1 of add"):
        x + laminax.device_put(A, DEVICES[1])
    with pytest.raises(ValueError, match="incompatible devices"):
        jnp.where(x > 0, laminax.device_put(A, DEVICES[1]), 0.0)


def test_operations_on_values_stay_in_cpp():
    from laminax._src.compiling import eager
    x = put(A, "x")
    x * 3.5 + x.sum(axis=0)
    calls = []
    place, eager.place = eager.place, lambda *args, **kwargs: calls.append(args) or place(*args, **kwargs)
    fallbacks = []
    run, eager.Program.run = eager.Program.run, lambda self, args: fallbacks.append(1) or run(self, args)
    try:
        for _ in range(3):
            x * 3.5 + x.sum(axis=0)
        assert not calls and not fallbacks
        put(A, "y") * 3.5
        assert fallbacks == [1]
    finally:
        eager.place, eager.Program.run = place, run


def test_threads():
    results, x = [], put(A, "x")

    def work():
        results.append(np.asarray((x + 1) * x.sum(axis=1, keepdims=True)))

    threads = [threading.Thread(target=work) for _ in range(8)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert len(results) == 8
    for result in results:
        np.testing.assert_allclose(result, (A + 1) * A.sum(axis=1, keepdims=True), rtol=1e-5, atol=1e-5)


# constraints


@pytest.mark.parametrize("spec", [("x",), (None, "y"), (("x", "y"),), ("y", None), ()])
def test_constraints_in_programs(spec):
    f = laminax.jit(lambda x: with_sharding_constraint(x * 2, on_mesh(*spec)))
    for x in (A, put(A, "x"), put(A, "y", None)):
        check_layout(f(x), A * 2, spec)


def test_constraints_on_values():
    for x in (A, jnp.asarray(A), put(A, "x")):
        result = with_sharding_constraint(x, on_mesh("y", "x"))
        check_layout(result, A, ("y", "x"))
        assert result.sharding == on_mesh("y", "x")
    with pytest.raises(ValueError, match=r"Received incompatible devices .* x, f32\[8,4\], is on other devices than the sharding"):
        with_sharding_constraint(laminax.device_put(A, DEVICES[1]), on_mesh("x"))
    check_layout(with_sharding_constraint(put(A, "x"), on_mesh(P.UNCONSTRAINED, "y")), A, ("x", "y"))


def test_full_with_a_sharding():
    check_layout(lax.full((8, 4), 2.0, sharding=on_mesh("x")), np.full((8, 4), 2.0), ("x",))
    check_layout(laminax.jit(lambda: lax.full((8, 4), 2.0, sharding=on_mesh("x")))(), np.full((8, 4), 2.0), ("x",))
    split = laminax.device_put(A, on_mesh("x"))
    check_layout(lax.full_like(split, 3), np.full_like(A, 3), ("x",))
    check_layout(lax.full_like(A, 3, sharding=on_mesh(None, "y")), np.full_like(A, 3), (None, "y"))
    assert lax.full_like(split, 3, shape=(2,)).devices() == {laminax.devices()[0]}


def test_constraints_on_trees():
    f = laminax.jit(lambda tree: with_sharding_constraint(tree, {"a": on_mesh("x"), "c": on_mesh(None, "y")}))
    out = f({"a": A, "c": (A, A * 2)})
    check_layout(out["a"], A, ("x",))
    check_layout(out["c"][1], A * 2, (None, "y"))
    with pytest.raises(ValueError, match="prefix of x"):
        with_sharding_constraint({"a": A}, {"b": on_mesh()})
    with pytest.raises(TypeError, match="expected a Sharding or a PartitionSpec, got 3"):
        with_sharding_constraint(A, 3)
    with pytest.raises(ValueError, match="One of with_sharding_constraint arguments got sharding None which is not allowed"):
        with_sharding_constraint({"a": A}, {"a": None})
    with pytest.raises(ValueError, match=r"x, f32\[8,3\], cannot be split as P\(None, 'y'\): axis 1 has size 3, mesh axis 'y' has 2"):
        with_sharding_constraint(A[:, :3], on_mesh(None, "y"))
    with pytest.raises(ValueError, match=r"x, f32\[4\], cannot be .*\nOne of with_sharding_constraint arguments is incompatible with its "
                       r"sharding annotation P\(None, 'y'\): .* rank at least 2, but was applied to a value of rank 1"):
        laminax.jit(lambda x: with_sharding_constraint(x[0], on_mesh(None, "y")))(A)


def test_constraints_in_programs_pad_the_last_parts():
    f = laminax.jit(lambda x: 2 * with_sharding_constraint(x[:, :3] + 1, on_mesh("y", "x")).sum(axis=0))
    np.testing.assert_allclose(np.asarray(f(A)), 2 * (A[:, :3] + 1).sum(axis=0), rtol=1e-5)
    g = laminax.jit(lambda x: with_sharding_constraint(x[:3], on_mesh("x")))
    check_layout(g(A), A[:3], ())  # results are not padded


def test_constraints_of_the_mesh_that_is_set():
    f = laminax.jit(lambda x: with_sharding_constraint(x + 1, P("x")))
    with pytest.raises(RuntimeError, match=r"holds the partition spec P\('x',\), which needs a mesh"):
        f(A)
    with laminax.set_mesh(MESH):
        check_layout(f(A), A + 1, ("x",))
        check_layout(with_sharding_constraint(A, P("y")), A, ("y",))
    with MESH:
        check_layout(with_sharding_constraint(A, P("y")), A, ("y",))
        check_layout(f(A), A + 1, ("x",))
    g = laminax.jit(lambda x: with_sharding_constraint(x + 1, NamedSharding(MESH.abstract_mesh, P("x"))))
    with laminax.set_mesh(MESH):
        check_layout(g(A), A + 1, ("x",))
    with pytest.raises(ValueError, match=r"AbstractMesh\(.*has no devices, and no argument has.*set a mesh of devices with set_mesh"):
        g(A)


def test_constraints_under_transformations():
    def f(x):
        return with_sharding_constraint(x * x, on_mesh("y"))

    batch = value(8, 2, 4)
    mapped = laminax.jit(laminax.vmap(f, spmd_axis_name="x"))
    check_layout(mapped(batch), batch * batch, ("x", "y"))
    check_layout(laminax.vmap(f, spmd_axis_name="x")(batch), batch * batch, ("x", "y"))
    np.testing.assert_allclose(np.asarray(laminax.vmap(f)(put(batch, "x"))), batch * batch, rtol=1e-6)
    for x in (A, put(A, "x")):
        np.testing.assert_allclose(np.asarray(laminax.grad(lambda x: f(x).sum())(x)), 2 * A, rtol=1e-6)
        primal, tangent = laminax.jvp(f, (x,), (A,))
        check_layout(primal, A * A, ("y",), rtol=1e-6)
        check_layout(tangent, 2 * A * A, ("y",), rtol=1e-6)


def test_key_arrays_are_constrained():
    keys = random.split(random.key(0), 8)
    out = laminax.jit(lambda k: with_sharding_constraint(k, on_mesh("x")))(keys)
    np.testing.assert_array_equal(random.key_data(out), random.key_data(keys))
    assert out.base.sharding.is_equivalent_to(on_mesh("x"), 2)
    assert with_sharding_constraint(keys, on_mesh("x")).base.sharding == on_mesh("x")


# transfers


TARGETS = [on_mesh("x"), on_mesh("y", "x"), on_mesh(), on_mesh(("y", "x")), SingleDeviceSharding(DEVICES[3]), DEVICES[6],
           GSPMDSharding(DEVICES, on_mesh("x", "y")._to_xla_hlo_sharding(2)),
           NamedSharding(Mesh(np.array(DEVICES[2:6]), ("a",)), P("a")), NamedSharding(Mesh(MESH.devices[::-1], ("x", "y")), P("x"))]


@pytest.mark.parametrize("by_program", [False, True])
@pytest.mark.parametrize("source", range(len(TARGETS)))
def test_transfers_between_all_layouts(source, by_program, monkeypatch):
    """By way of the host, and as on devices that have a memory of their own."""
    from laminax_runtime.arrays import transfer
    monkeypatch.setattr(transfer, "_has_memory_of_its_own", lambda sharding: by_program)
    for target in TARGETS:
        x = laminax.device_put(laminax.device_put(A, TARGETS[source]), target)
        np.testing.assert_array_equal(np.asarray(x), A)
        sharding = x.sharding
        assert sharding == target or sharding.device_set == {target}
        for shard in x.addressable_shards:
            np.testing.assert_array_equal(np.asarray(shard.data), A[shard.index])


def test_transfers_by_program_leave_the_host_out(monkeypatch):
    from laminax_runtime.arrays import transfer
    monkeypatch.setattr(transfer, "_has_memory_of_its_own", lambda sharding: True)
    monkeypatch.setattr(transfer, "put_numpy", None)
    x = laminax.jit(lambda: jnp.full((8, 4), 2.0), out_shardings=on_mesh("x"))()
    check_layout(laminax.device_put(x, on_mesh(None, "y")), np.full((8, 4), 2), (None, "y"))
    with pytest.raises(ValueError, match=r"f32\[8,4\], cannot be split as P\('x', None, 'y'\): the spec has 3 entries"):
        laminax.device_put(x, on_mesh("x", None, "y"))


def test_transfers_of_trees_and_in_programs():
    tree = laminax.device_put({"a": A, "b": (A, 1.0)}, {"a": on_mesh("x"), "b": DEVICES[2]})
    check_layout(tree["a"], A, ("x",))
    assert tree["b"][1].devices() == {DEVICES[2]}
    check_layout(laminax.jit(lambda x: laminax.device_put(x * 2, on_mesh("y")))(A), A * 2, ("y",))
    assert laminax.jit(lambda x: laminax.device_put(x * 2, DEVICES[4]))(A).devices() == {DEVICES[4]}
    np.testing.assert_allclose(np.asarray(laminax.grad(lambda x: (laminax.device_put(x, on_mesh("x")) ** 2).sum())(A)), 2 * A, rtol=1e-6)
    with pytest.raises(ValueError, match="incompatible devices.*device_put inside jit"):
        laminax.jit(lambda x: laminax.device_put(x, DEVICES[4]))(put(A, "x"))
    with pytest.raises(ValueError, match=r"device_put: x\['a'\]\[1\], f32\[6,4\], cannot be split as P\('x',\): axis 0 has size 6"):
        laminax.device_put({"a": (1.0, A[:6])}, {"a": (DEVICES[0], on_mesh("x"))})
    with pytest.raises(ValueError, match=r"device_put: device holds the partition spec P\('x',\).*[Ss]et a mesh"):
        laminax.device_put(A, P("x"))


def test_cotangents_go_back_to_where_values_came_from():
    here, there = (NamedSharding(Mesh(np.array(devices), "x"), P("x")) for devices in (DEVICES[:4], DEVICES[4:]))
    values = np.arange(1.0, 5.0, dtype=np.float32)
    x = laminax.device_put(values, here)
    cube, square = laminax.jit(lambda x: x**3), laminax.jit(lambda x: x**2)
    for kwargs in ({}, {"src": here}):
        def loss(x, kwargs=kwargs):
            return jnp.sum(square(laminax.device_put(cube(x), there, **kwargs)))  # sum x^6

        assert loss(x).devices() == set(DEVICES[4:])
        slope = laminax.grad(loss)(x)
        np.testing.assert_allclose(slope, 6 * values**5, rtol=1e-5)
        assert slope.sharding == here
        np.testing.assert_allclose(laminax.grad(lambda x: laminax.grad(loss)(x).sum())(x), 30 * values**4, rtol=1e-5)
        np.testing.assert_allclose(laminax.jvp(laminax.grad(loss), (x,), (x,))[1], 30 * values**5, rtol=1e-5)
    assert laminax.grad(lambda x: laminax.device_put(x, DEVICES[5]).sum())(laminax.device_put(A, DEVICES[3])).devices() == {DEVICES[3]}


def test_arrays_from_parts():
    calls = []

    def part(index):
        calls.append(index)
        return A[index]

    x = laminax.make_array_from_callback((8, 4), on_mesh("x"), part)
    check_layout(x, A, ("x",))
    assert len(calls) == 4 and x.dtype == np.float32  # once per part, not per device
    check_layout(laminax.make_array_from_process_local_data(on_mesh(None, "y"), A), A, (None, "y"))
    tree = laminax.make_array_from_process_local_data({"a": on_mesh("x"), "b": on_mesh()}, {"a": A, "b": A}, {"a": (8, None), "b": None})
    check_layout(tree["a"], A, ("x",))
    with pytest.raises(ValueError, match=r"returned an array of shape \(8, 4\), but this part has the shape \(2, 4\)"):
        laminax.make_array_from_callback((8, 4), on_mesh("x"), lambda index: A)
    with pytest.raises(ValueError, match="returned float32, but the array's dtype is int32"):
        laminax.make_array_from_callback((8, 4), on_mesh("x"), part, dtype=np.int32)
    with pytest.raises(ValueError, match=r"has shape \(8, 4\) and global_shape is \(16, 4\)"):
        laminax.make_array_from_process_local_data(on_mesh("x"), A, (16, 4))
    with pytest.raises(laminax.errors.UnexpectedTracerError, match=r"cannot be called within a traced context.*f32\[2,4\]"):
        laminax.jit(lambda a: laminax.make_array_from_callback((8, 4), on_mesh("x"), lambda index: a[index]))(A)


def test_names_and_grids():
    from laminax.experimental.mesh_utils import create_device_mesh
    assert Mesh(create_device_mesh((4, 2)), ("x", "y")) == MESH
    assert create_device_mesh((2,), DEVICES[5:7]).tolist() == DEVICES[5:7]
    with pytest.raises(ValueError, match=r"the mesh_shape \(3,\) has 3 places, but there are 8 devices"):
        create_device_mesh((3,))
    with pytest.raises(NotImplementedError, match="TPUs"):
        create_device_mesh((8,), contiguous_submeshes=True)
    assert laminax.sharding.make_single_device_sharding(DEVICES[1]) == SingleDeviceSharding(DEVICES[1])
    assert laminax.reshard(put(A, "x"), on_mesh("y")).sharding == on_mesh("y")
    assert isinstance(put(A).addressable_shards[0], laminax.Shard)


def test_pickling():
    for sharding in TARGETS[:5] + TARGETS[6:]:
        assert pickle.loads(pickle.dumps(sharding)) == sharding
    np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(put(A, "x")))), A)


def test_values_of_the_only_process():
    from laminax.experimental import multihost_utils
    x = put(A, "x", "y")
    tree = multihost_utils.process_allgather({"a": x, "b": 3})
    assert tree["a"].shape == (1, 8, 4) and tree["b"].tolist() == [3] and isinstance(tree["a"], np.ndarray)
    np.testing.assert_array_equal(multihost_utils.process_allgather(x, tiled=True), A)
    np.testing.assert_array_equal(multihost_utils.broadcast_one_to_all([x])[0], A)
    multihost_utils.sync_global_devices("here")
    multihost_utils.assert_equal((x, 1))
    with pytest.raises(AssertionError, match="they differ.* Expected"):
        multihost_utils.assert_equal(np.nan, "they differ")
    a, b = multihost_utils.host_local_array_to_global_array((A, x), MESH, (P("y"), P("x", "y")))
    check_layout(a, A, ("y",))
    assert b.sharding == x.sharding
    assert multihost_utils.global_array_to_host_local_array(x, MESH, P()) is x
    check_layout(multihost_utils.global_array_to_host_local_array(A, MESH, P("x")), A, ("x",))
    for convert in (multihost_utils.host_local_array_to_global_array, multihost_utils.global_array_to_host_local_array):
        with pytest.raises(ValueError, match="`None` is not a valid input to the pspecs argument"):
            convert(x, MESH, None)
        with pytest.raises(ValueError, match=r"f32\[8,3\] cannot be split as P\(None, 'y'\)"):
            convert(A[:, :3], MESH, P(None, "y"))


def test_one_flag_of_donation_per_leaf():
    kept, given = laminax.device_put({"a": A, "b": (A, A)}, donate={"a": False, "b": True})["b"]
    np.testing.assert_array_equal(np.asarray(kept), A)
    np.testing.assert_array_equal(np.asarray(given), A)
    _refuses("device_put: donate must be a boolean or a pytree of them that is a prefix of x",
             lambda: laminax.device_put((A, A), donate=(True,)))
    _refuses("may_alias and donate cannot be True at the same time",
            lambda: laminax.device_put((A, A), donate=(True, False), may_alias=(True, True)))


def test_donation_to_the_same_devices_in_another_order():
    other = Mesh(np.array(DEVICES).reshape(2, 4).T, ("a", "b"))
    x, y = put(A, "x"), put(A, "x")
    moved, copied = laminax.device_put((x, y), NamedSharding(other, P("b", "a")), donate=(True, False))
    for array in (moved, copied):
        assert array.sharding == NamedSharding(other, P("b", "a"))
        np.testing.assert_array_equal(np.asarray(array), A)
    assert x.is_deleted() and not y.is_deleted()


def test_dealing_an_array_anew_over_its_devices_is_no_transfer():
    """The parts lie otherwise, and the positions in the list of devices do not."""
    forth, back = Mesh(np.array(DEVICES), ("a",)), Mesh(np.array(DEVICES[::-1]), ("a",))
    x = laminax.device_put(A, NamedSharding(forth, P("a")))
    with laminax.transfer_guard("disallow_explicit"):
        dealt = laminax.device_put(x, NamedSharding(back, P("a")))
    assert [shard.device for shard in dealt.addressable_shards] == DEVICES[::-1]
    np.testing.assert_array_equal(np.asarray(dealt), A)
    with laminax.transfer_guard("disallow_explicit"), pytest.raises(Exception, match="Disallowed"):
        laminax.device_put(laminax.device_put(A[:2], NamedSharding(Mesh(DEVICES[:2], "a"), P("a"))),
                           NamedSharding(Mesh(DEVICES[2:4], "a"), P("a")))


def test_arrays_that_are_committed_elsewhere():
    x = laminax.device_put(A, DEVICES[1])
    _refuses("numpy.array: Received incompatible devices.*Move it with device_put", lambda: jnp.array(x, device=DEVICES[2]))
    assert (jnp.asarray(x, device=DEVICES[1]).devices() == {DEVICES[1]}
            and jnp.array(jnp.ones(3), device=DEVICES[2]).devices() == {DEVICES[2]})


def test_a_copy_to_another_layout_is_no_transfer_from_the_host():
    x = put(A, "x")
    with laminax.transfer_guard_host_to_device("disallow_explicit"):
        check_layout(laminax.device_put(x, on_mesh("y")), A, ("y",))


def test_a_batch_is_not_split_over_one_device():
    single = SingleDeviceSharding(DEVICES[0])
    _refuses("please make sure to run your jitted function inside the mesh context manager; SingleDeviceSharding",
            lambda: laminax.vmap(lambda x: with_sharding_constraint(x, single), spmd_axis_name="x")(A))


def _refuses(match, call):
    with pytest.raises(ValueError, match=match):
        call()


def test_structs_over_a_mesh_without_devices():
    """They are lowered for the devices of the mesh that is set, or of other arguments; without either the error says so."""
    abstract, other = MESH.abstract_mesh, laminax.sharding.Mesh(MESH.devices.reshape(-1), "z")
    struct = laminax.ShapeDtypeStruct((8, 4), np.float32, sharding=NamedSharding(abstract, P("x")))
    assert struct.sharding.is_equivalent_to(NamedSharding(abstract, P("x", None)), 2)
    assert not struct.sharding.is_equivalent_to(NamedSharding(abstract, P("y")), 2)
    assert not struct.sharding.is_equivalent_to(NamedSharding(MESH, P("x")), 2)
    double = laminax.jit(lambda x: 2 * x)
    with laminax.set_mesh(MESH):
        lowered = double.lower(struct)
    assert "num_partitions = 8" in lowered.as_text()
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    out = lowered.compile()(laminax.device_put(x, NamedSharding(MESH, P("x"))))
    assert out.sharding.is_equivalent_to(NamedSharding(MESH, P("x")), 2)
    np.testing.assert_array_equal(out, 2 * x)
    beside = laminax.ShapeDtypeStruct((8,), np.float32, sharding=NamedSharding(other, P("z")))
    assert "num_partitions = 8" in laminax.jit(lambda x, y: (x, y)).lower(struct, beside).as_text()
    with pytest.raises(ValueError, match="is over a mesh without devices, and no mesh of 8 devices is known"):
        double.lower(struct)


def test_full_like_of_another_shape_is_on_the_one_device_of_its_model():
    x = laminax.device_put(np.ones((4, 4), np.float32), laminax.devices()[1])
    for shape in ((), (5,), (4, 4)):
        out = laminax.lax.full_like(x, 2.0, shape=shape)
        assert out.shape == shape and out.sharding == x.sharding and out.devices() == {laminax.devices()[1]}
        np.testing.assert_array_equal(out, np.full(shape, 2.0))


# --- specs with more entries than the array has axes ---


def test_entries_of_a_spec_beyond_the_last_axis_may_split_nothing():
    """Checkpoints restore scalars under P(None); device_put and the shardings that jit is given stay strict."""
    a = np.arange(8, dtype=np.float32)
    long = NamedSharding(MESH, P("x", None))
    assert long.shard_shape((8,)) == NamedSharding(MESH, P("x")).shard_shape((8,))
    x = laminax.make_array_from_callback((8,), long, lambda index: a[index])
    scalar = laminax.make_array_from_callback((), NamedSharding(MESH, P(None)), lambda index: np.asarray(4.0)[index])
    assert x.sharding == long and x.sharding.is_equivalent_to(NamedSharding(MESH, P("x")), 1)
    np.testing.assert_array_equal(np.asarray(x), a)
    np.testing.assert_array_equal(np.asarray(laminax.jit(lambda x, y: x * y)(x, scalar)), a * 4)
    np.testing.assert_array_equal(np.asarray(laminax.grad(lambda x: jnp.sum(x**2))(x)), a * 2)
    np.testing.assert_array_equal(np.asarray(x.reshape(2, 4) + 1), a.reshape(2, 4) + 1)
    with pytest.raises(ValueError, match="the spec has 2 entries, and the array 1 axes"):
        laminax.device_put(a, long)
    with pytest.raises(ValueError, match="the spec has 2 entries, and the array 1 axes"):
        laminax.jit(lambda x: x, out_shardings=long)(a)
    with pytest.raises(ValueError, match="an array of 1 axes cannot be split as .*the spec has 2 entries, and the array 1 axes"):
        NamedSharding(MESH, P(None, "x")).shard_shape((8,))
