"""What takes several devices. `test_four_devices.py` runs this file in a process that has four."""

import gc
import itertools
import pickle
import threading
import weakref

import numpy as np
import pytest
from stablehlo_modules import aval, compile_text, module, tensor, unary

import laminax_runtime as runtime
from laminax_ir.types.abstract_meshes import AxisType
from laminax_ir.types.partition_specs import P
from laminax_runtime import GSPMDSharding, Mesh, NamedSharding, SingleDeviceSharding, device_put
from laminax_runtime._jaxlib import HloSharding
from laminax_runtime.arrays import named_shardings


def mesh_2x2() -> Mesh:
    return Mesh(np.array(runtime.devices()).reshape(2, 2), ("x", "y"))


def test_counts():
    assert runtime.device_count() == runtime.local_device_count() == len(runtime.devices()) == 4
    assert runtime.process_index() == 0 and runtime.process_count() == 1


def test_devices_and_commitment():
    first, second = runtime.devices()[:2]
    x = device_put(1.0)
    assert x.devices() == {first} and not x.committed
    assert device_put(x) is x
    y = device_put(x, second)
    assert y.devices() == {second} and y.committed and y.weak_type and float(y) == 1.0
    assert device_put(y) is y and device_put(y, second) is y
    z = device_put(x, first)
    assert z.committed and z.devices() == {first} and not x.committed
    assert device_put(np.zeros(2), runtime.SingleDeviceSharding(second)).devices() == {second}
    assert device_put(np.zeros(2), "cpu").committed
    with runtime.default_device(second):
        placed = device_put(np.zeros(2))
        assert placed.devices() == {second} and not placed.committed


def test_donated_transfers_leave_a_source_that_can_be_asked():
    first, second = runtime.devices()[:2]
    x = device_put(np.zeros(1000), first)
    device_put(x, second, donate=True)
    assert x.is_deleted() or not x._value.any()  # jaxlib's own donation between devices of the CPU crashes here
    y = device_put(np.zeros(4), first)
    device_put(y, second)
    assert not y.is_deleted()


@pytest.mark.parametrize(
    "spec, parts, order",
    [
        ((), (1, 1), None),
        (("x", "y"), (2, 2), [(0, 0), (0, 1), (1, 0), (1, 1)]),
        (("y", "x"), (2, 2), [(0, 0), (1, 0), (0, 1), (1, 1)]),
        (("x",), (2, 1), [(0, 0), (0, 0), (1, 0), (1, 0)]),
        ((None, "x"), (1, 2), [(0, 0), (0, 0), (0, 1), (0, 1)]),
        ((("x", "y"),), (4, 1), [(0, 0), (1, 0), (2, 0), (3, 0)]),
        ((("y", "x"), None), (4, 1), [(0, 0), (2, 0), (1, 0), (3, 0)]),
    ],
)
def test_named_sharding_places_the_parts_that_the_spec_says(rng, spec, parts, order):
    """`order` is which block of rows and columns each device gets, by hand."""
    value = rng.normal(size=(8, 4)).astype(np.float32)
    sharding = NamedSharding(mesh_2x2(), P(*spec))
    x = device_put(value, sharding)
    np.testing.assert_array_equal(np.asarray(x), value)
    height, width = 8 // parts[0], 4 // parts[1]
    assert sharding.shard_shape((8, 4)) == (height, width)
    for device, shard, (row, column) in zip(
        runtime.devices(), x.addressable_shards, order or [(0, 0)] * 4, strict=True
    ):
        assert shard.device == device and shard.data.devices() == {device}
        block = value[row * height : (row + 1) * height, column * width : (column + 1) * width]
        np.testing.assert_array_equal(np.asarray(shard.data), block)
        np.testing.assert_array_equal(value[shard.index], block)
    assert sharding.is_fully_replicated == x.is_fully_replicated == (order is None)
    assert sharding.num_devices == 4 and sharding.device_set == set(runtime.devices())
    assert x.device == sharding and x.committed


def test_replica_ids():
    x = device_put(np.zeros((4, 4)), NamedSharding(mesh_2x2(), P("y")))
    assert [shard.replica_id for shard in x.addressable_shards] == [0, 0, 1, 1]


def test_resharding_keeps_the_value(rng):
    value = rng.normal(size=(8, 4)).astype(np.float32)
    mesh = mesh_2x2()
    targets = [NamedSharding(mesh, P(*spec)) for spec in ((), ("x",), ("y", "x"))] + list(runtime.devices()[1:3])
    x = device_put(value)
    for target in targets + targets[::-1]:
        x = device_put(x, target)
        np.testing.assert_array_equal(np.asarray(x), value)


def test_equivalence_and_equality():
    mesh = mesh_2x2()
    a, b = NamedSharding(mesh, P("x", "y")), NamedSharding(mesh_2x2(), P("x", "y"))
    assert a == b and hash(a) == hash(b) and a.is_equivalent_to(b, 2)
    assert a != NamedSharding(mesh, P("y", "x")) and not a.is_equivalent_to(NamedSharding(mesh, P("y", "x")), 2)
    assert NamedSharding(mesh, P()) != NamedSharding(mesh, P(None, None))
    assert NamedSharding(mesh, P()).is_equivalent_to(NamedSharding(mesh, P(None, None)), 2)
    tiled = GSPMDSharding(runtime.devices(), HloSharding.iota_tile((2, 2)))
    assert tiled.is_equivalent_to(a, 2) and tiled.shard_shape((4, 4)) == (2, 2)
    assert tiled == GSPMDSharding(runtime.devices(), HloSharding.iota_tile((2, 2)))
    assert GSPMDSharding.get_replicated(runtime.devices()).is_fully_replicated
    single = SingleDeviceSharding(runtime.devices()[0])
    assert single == SingleDeviceSharding(runtime.devices()[0]) != SingleDeviceSharding(runtime.devices()[1])


@pytest.mark.parametrize(
    "make",
    [
        lambda: SingleDeviceSharding(runtime.devices()[2]),
        lambda: NamedSharding(mesh_2x2(), P("x", None)),
        lambda: GSPMDSharding(runtime.devices(), HloSharding.iota_tile((2, 2))),
        lambda: GSPMDSharding.get_replicated(runtime.devices()[:2]),
    ],
)
def test_shardings_pickle_and_print(make):
    sharding = make()
    assert pickle.loads(pickle.dumps(sharding)) == sharding
    assert type(sharding).__name__ in repr(sharding)


def test_errors_of_shardings():
    mesh = mesh_2x2()
    with pytest.raises(ValueError, match=r"Resource axis: z of P\('z',\) is not found in mesh: \('x', 'y'\)"):
        NamedSharding(mesh, P("z"))
    with pytest.raises(ValueError, match=r"at most one positional dimension, but P\('x', 'x'\) has duplicate entries for `x`"):
        NamedSharding(mesh, P("x", "x"))
    with pytest.raises(ValueError, match=r"as P\('x',\): axis 0 has size 5, mesh axis 'x' has 2 devices.*\nSharding .* array axis 0 "
                       r"is partitioned 2 times, but the dimension size is 5 .*\nPad axis 0 to 6"):
        device_put(np.zeros((5, 2)), NamedSharding(mesh, P("x")))
    with pytest.raises(ValueError, match=r"shape \(4,\) cannot be split as P\('x', 'y'\): the spec has 2 entries, and the array 1 axes.\n"
                       r".* only valid for values of rank at least 2, but was applied to a value of rank 1"):
        device_put(np.zeros(4), NamedSharding(mesh, P("x", "y")))
    with pytest.raises(ValueError, match=r"got 2 axes of devices, of shape \(2, 2\), and 1 names"):
        Mesh(mesh.devices, ("x",))
    with pytest.raises(ValueError, match=r"cannot be split as P\('x', None\).*\n.*For scalars the PartitionSpec should be P\(\)"):
        NamedSharding(mesh, P("x", None)).check_compatible_aval(())


def test_equal_meshes_are_one_object_while_somebody_has_it():
    mesh = mesh_2x2()
    assert mesh_2x2() is mesh and Mesh(mesh.devices, ("x", "z")) is not mesh and pickle.loads(pickle.dumps(mesh)) is mesh
    assert str(mesh) == "Mesh('x': 2, 'y': 2, axis_types=(Auto, Auto))"
    assert repr(mesh) == "Mesh(axis_sizes=(2, 2), axis_names=('x', 'y'), axis_types=(Auto, Auto))"
    gone = weakref.ref(Mesh(mesh.devices, ("only", "here")))
    gc.collect()
    assert gone() is None


def test_the_copies_of_an_array_on_one_device_include_it():
    x = device_put(np.arange(4.0, dtype=np.float32), runtime.devices()[1])
    copies = device_put(x, NamedSharding(mesh_2x2(), P()))
    pointers = {shard.device: shard.data.unsafe_buffer_pointer() for shard in copies.addressable_shards}
    assert pointers.pop(runtime.devices()[1]) == x.unsafe_buffer_pointer() and x.unsafe_buffer_pointer() not in pointers.values()
    assert all(shard.data.tolist() == [0, 1, 2, 3] for shard in copies.addressable_shards)
    x.delete()
    assert copies.tolist() == [0, 1, 2, 3]


def test_parts_that_do_not_make_an_array():
    sharding = NamedSharding(Mesh(runtime.devices()[:2], "x"), P("x"))
    make = runtime.make_array_from_single_device_arrays
    parts = [device_put(np.zeros(2, np.float32), device) for device in runtime.devices()]
    with pytest.raises(ValueError, match=r"Expected 2 per-device arrays \(.*\), but got 1"):
        make((4,), sharding, parts[:1])
    with pytest.raises(ValueError, match=r"Sharding contains devices \{0\} .* arrays contain devices \{2\}"):
        make((4,), sharding, parts[1:3])
    with pytest.raises(ValueError, match=r"must be from distinct devices, but they are on \[1, 1\]"):
        make((4,), sharding, [parts[1], parts[1]])
    with pytest.raises(ValueError, match=r"must have one shard each. An argument array had 2 shard\(s\).*arrays\[1\]"):
        make((4,), sharding, [parts[0], device_put(np.zeros(4), sharding)])
    with pytest.raises(ValueError, match=r"^make_array_from_single_device_arrays: jax.make_array_from_single_device_arrays "
                                         r"requires a list of concrete arrays as input, "
                                         r"but arrays\[0\] is ndarray"):
        make((4,), sharding, [np.zeros(2, np.float32), parts[1]])
    with pytest.raises(TypeError, match="`arrays` argument must be a list or tuple of single-device arrays, got an object of type Array"):
        make((4,), sharding, parts[0])
    with pytest.raises(ValueError, match="a device comes twice"):
        Mesh([runtime.devices()[0]] * 2, ("x",))


def test_array_from_parts(rng):
    value = rng.normal(size=(4, 2)).astype(np.float32)
    sharding = NamedSharding(mesh_2x2(), P(("x", "y")))
    parts = [device_put(value[i : i + 1], device) for i, device in enumerate(runtime.devices())]
    x = runtime.make_array_from_single_device_arrays((4, 2), sharding, parts[::-1])
    np.testing.assert_array_equal(np.asarray(x), value)
    with pytest.raises(ValueError, match="Expected 4 per-device arrays"):
        runtime.make_array_from_single_device_arrays((4, 2), sharding, parts[:3])
    with pytest.raises(ValueError, match=r"each part must be float32\[2, 2\]"):
        runtime.make_array_from_single_device_arrays((8, 2), sharding, parts)


def all_specs(names, ndim):
    """Every way to deal out mesh axes to array axes, in every order."""
    for count in range(len(names) + 1):
        for chosen in itertools.permutations(names, count):
            for places in itertools.product(range(ndim), repeat=count):
                yield P(*[tuple(name for name, place in zip(chosen, places) if place == axis) for axis in range(ndim)])


@pytest.mark.parametrize("shape", [(2, 2), (4, 1), (1, 2, 2)])
def test_xla_shardings_in_the_words_of_a_mesh(shape):
    mesh = Mesh(np.array(runtime.devices()).reshape(shape), ("x", "y", "z")[: len(shape)])
    for spec in all_specs(mesh.axis_names, 2):
        sharding = NamedSharding(mesh, spec)
        found = named_shardings.named_from_hlo(sharding._to_xla_hlo_sharding(2), mesh, 2)
        assert found.is_equivalent_to(sharding, 2) and found.mesh is mesh
        assert named_shardings.as_given(sharding._to_xla_hlo_sharding(2), 2, runtime.devices(), [(sharding, 2)]) == sharding


def test_xla_shardings_that_a_mesh_has_no_words_for():
    mesh = Mesh(np.array(runtime.devices()), ("x",))
    halves = NamedSharding(mesh_2x2(), P("x"))._to_xla_hlo_sharding(1)  # cuts through the only axis
    assert named_shardings.named_from_hlo(halves, mesh, 1) is None
    assert isinstance(named_shardings.as_given(halves, 1, runtime.devices(), [(NamedSharding(mesh, P()), 1)]), GSPMDSharding)
    tiled = GSPMDSharding(runtime.devices(), HloSharding.iota_tile((2, 2)))
    assert named_shardings.as_named(tiled, 2).is_equivalent_to(tiled, 2)
    assert named_shardings.as_named(SingleDeviceSharding(runtime.devices()[0]), 2) is None
    with pytest.raises(NotImplementedError, match="in another order than their own"):
        named_shardings.as_named(GSPMDSharding(runtime.devices(), NamedSharding(mesh_2x2(), P("y", "x"))._to_xla_hlo_sharding(2)), 2)


def test_meshes():
    assert runtime.make_mesh((2, 2), ("x", "y")).are_all_axes_explicit and runtime.make_mesh((4,), "x").axis_names == ("x",)
    mesh = runtime.make_mesh((2, 2), ("x", "y"), AxisType.Auto)
    assert mesh == mesh_2x2() and mesh.shape_tuple == (("x", 2), ("y", 2)) and mesh.abstract_mesh.size == 4
    assert pickle.loads(pickle.dumps(mesh)) == mesh and not mesh.is_multi_process and mesh.update(axis_names=("a", "b")) != mesh
    assert runtime.make_mesh((2,), ("x",), devices=runtime.devices()[2:]).device_ids.tolist() == [2, 3]
    assert NamedSharding(mesh, P("y")).replicated_axes == {"x"}
    assert runtime.current_mesh() is None
    with runtime.set_mesh(mesh):
        assert runtime.current_mesh() is mesh and runtime.execution_device([1.0], mesh=mesh) is None
        with mesh_2x2().update(axis_names=("a", "b")) as other:
            assert runtime.entered_mesh() is other and runtime.get_abstract_mesh().axis_names == ("x", "y")
        assert runtime.get_mesh() is mesh and runtime.entered_mesh() is None
        seen = []
        thread = threading.Thread(target=lambda: seen.append(runtime.current_mesh()))
        thread.start(), thread.join()
        assert seen == [None]
    assert runtime.current_mesh() is None


def test_shardings_that_xla_chooses_for_some(rng):
    """What is given stays, and what is None is read back in the words of the mesh."""
    a = aval((8, 4))
    attributes = {0: '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}'}
    t = tensor(a)
    text = module([a, a], [a, a], [f'%0 = "stablehlo.add"(%arg0, %arg1) : ({t}, {t}) -> {t}', "%0, %arg1"], attributes)
    text = text.replace("func.func", 'sdy.mesh @mesh = <["x"=2, "y"=2]>\n  func.func', 1)
    sharding = NamedSharding(mesh_2x2(), P("x", "y"))
    executable = compile_text(text, in_avals=[a, a], out_avals=[a, a], devices=runtime.devices(), in_shardings=[sharding, None])
    value = rng.normal(size=(8, 4)).astype(np.float32)
    total, same = executable.execute([value, value])
    np.testing.assert_array_equal(np.asarray(total), value + value)
    np.testing.assert_array_equal(np.asarray(same), value)
    assert executable.in_shardings[0] is sharding and executable.out_shardings[0] is sharding
    assert all(isinstance(s, NamedSharding) for s in (*executable.in_shardings, *executable.out_shardings))
    with pytest.raises(ValueError, match="1 in_shardings were given for 2 arrays"):
        compile_text(text, in_avals=[a, a], out_avals=[a, a], devices=runtime.devices(), in_shardings=[sharding])


def test_spmd_program_with_shardy(rng):
    """XLA splits the program over four devices, as the module's Shardy annotations say."""
    a, out = aval((8, 4)), aval((8,))
    attributes = {0: '{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}'}
    text = module(
        [a],
        [out],
        [
            '%c = "stablehlo.constant"() {value = dense<0.0> : tensor<f32>} : () -> tensor<f32>',
            '%0 = "stablehlo.reduce"(%arg0, %c) ({',
            "^bb0(%l: tensor<f32>, %r: tensor<f32>):",
            '  %s = "stablehlo.add"(%l, %r) : (tensor<f32>, tensor<f32>) -> tensor<f32>',
            '  "stablehlo.return"(%s) : (tensor<f32>) -> ()',
            "}) {dimensions = array<i64: 1>} : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>",
            "%0",
        ],
        attributes,
    ).replace("func.func", 'sdy.mesh @mesh = <["x"=2, "y"=2]>\n  func.func', 1)
    sharding = NamedSharding(mesh_2x2(), P("x", "y"))
    executable = compile_text(
        text, in_avals=[a], out_avals=[out], devices=runtime.devices(), in_shardings=[sharding], is_pinned=True
    )
    value = rng.normal(size=(8, 4)).astype(np.float32)
    (total,) = executable.execute([value])
    np.testing.assert_allclose(np.asarray(total), value.sum(1), rtol=1e-6)
    assert total.sharding.device_set == set(runtime.devices()) and total.committed
    assert "all-reduce" in executable.as_text()


def test_execution_follows_committed_arguments():
    first, second = runtime.devices()[:2]
    x, y = device_put(1.0, first), device_put(1.0, second)
    assert runtime.execution_device([3, device_put(1.0), y]) == second
    assert runtime.execution_device([3, np.zeros(2)]) == first
    assert runtime.execution_device([x], device=second) == second
    with runtime.default_device(second):
        assert runtime.execution_device([3]) == second and runtime.execution_device([x]) == first
    assert runtime.execution_device([x, 3, y]) is None and runtime.execution_device([x], mesh=mesh_2x2()) is None


def test_a_program_on_another_device():
    second = runtime.devices()[1]
    a = aval((3,))
    executable = compile_text(unary("negate", a), in_avals=[a], out_avals=[a], devices=[second])
    (out,) = executable.execute([np.ones(3, np.float32)])
    assert out.devices() == {second} and out.tolist() == [-1, -1, -1] and not out.committed
    (out,) = executable.execute([device_put(np.ones(3), second)])
    assert out.committed


def test_wrong_number_of_devices():
    with pytest.raises(ValueError, match="2 replicas of 3 partitions need 6 devices, got 4"):
        compile_text("", in_avals=[], out_avals=[], devices=runtime.devices(), num_replicas=2, num_partitions=3)


def test_dlpack_moves_between_devices_only_by_copies():
    first, second = runtime.devices()[:2]
    x = device_put(np.arange(3.0, dtype=np.float32), first)
    assert runtime.from_dlpack(x, device=second).devices() == {second}
    with pytest.raises(ValueError, match="specified device is cpu:1, and the memory is on cpu:0, which requires a copy"):
        runtime.from_dlpack(x, device=second, copy=False)
