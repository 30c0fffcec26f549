"""Callbacks of programs over several devices: the first device calls with whole values, or each device with its part."""

from functools import partial

import numpy as np
import pytest
from meshes import MESH, check_layout, put, value

from laminax_ir.programs import effects

import laminax
from laminax import lax, pmap, shard_map
from laminax.experimental import io_callback
from laminax.extend.core import Effect, Primitive
from laminax.interpreters import mlir
from laminax.sharding import PartitionSpec as P

A = value(8, 4)


def shape_of(x):
    return laminax.ShapeDtypeStruct(x.shape, x.dtype)


@pytest.mark.parametrize("callback", [laminax.pure_callback, io_callback])
def test_values_come_whole(callback):
    seen = []

    def host(x):
        seen.append(np.array(x))
        return x * 2, x.sum(dtype=np.float32)

    def f(x):
        doubled, total = callback(host, (shape_of(x), laminax.ShapeDtypeStruct((), np.float32)), x)
        return doubled + x, total

    for x in (put(A, "x", "y"), A):
        seen.clear()
        doubled, total = laminax.jit(f)(x)
        np.testing.assert_allclose(np.asarray(doubled), A * 3, rtol=1e-6)
        assert float(total) == pytest.approx(A.sum(), rel=1e-5)
        assert len(seen) == 1
        np.testing.assert_array_equal(seen[0], A)


def test_effects_alone():
    seen = []

    def f(x):
        laminax.debug.callback(lambda total: seen.append(float(total)), x.sum())
        return x * 2

    check_layout(laminax.jit(f)(put(A, "x")), A * 2, ("x",))
    laminax.effects_barrier()
    assert seen == [pytest.approx(float(A.sum()), rel=1e-5)]


def test_each_device_calls_with_its_part():
    seen = []

    def f(x):
        laminax.debug.callback(lambda part: seen.append(part.tolist()), x)
        return x

    shard_map(f, mesh=MESH, in_specs=P(("x", "y")), out_specs=P(("x", "y")))(np.arange(8, dtype=np.float32))
    laminax.effects_barrier()
    assert sorted(seen) == [[i] for i in range(8)]
    seen.clear()
    pmap(f)(np.arange(4, dtype=np.float32))
    laminax.effects_barrier()
    assert sorted(seen) == [0, 1, 2, 3]


def test_ordered_callbacks_come_in_the_order_of_the_program():
    seen = []

    @laminax.jit
    def f(x):
        for factor in (1, 2, 3):
            laminax.debug.callback(lambda x: seen.append(x.tolist()), factor * x, ordered=True)
        return x

    for _ in range(4):
        f(put(A, "x"))
    laminax.effects_barrier()
    assert seen == [(factor * A).tolist() for factor in (1, 2, 3)] * 4


@pytest.mark.parametrize("wrapped", [laminax.jit, lambda f: f])
def test_ordered_callbacks_of_each_device_are_in_order(wrapped):
    seen = []

    def f(x):
        place = lax.axis_index("x") * 2 + lax.axis_index("y")
        for factor in (1, 2):
            laminax.debug.callback(lambda i, k: seen.append((int(i), int(k))), place, factor, ordered=True)
        doubled = io_callback(lambda i, v: (seen.append((int(i), 3)), 2 * v)[1], laminax.ShapeDtypeStruct(x.shape, x.dtype), place, x,
                              ordered=True)
        return lax.fori_loop(4, 7, lambda k, v: (laminax.debug.callback(lambda i, k: seen.append((int(i), int(k))), place, k, ordered=True),
                                                 v + 1)[1], doubled)

    mapped = wrapped(shard_map(f, mesh=MESH, in_specs=P("x", "y"), out_specs=P("x", "y"), check_vma=False))
    for _ in range(3):
        np.testing.assert_allclose(mapped(A), 2 * A + 3, rtol=1e-6)
    laminax.effects_barrier()
    for device in range(MESH.size):
        assert [k for i, k in seen if i == device] == [1, 2, 3, 4, 5, 6] * 3


def test_ordered_callbacks_before_and_after_those_of_devices():
    """The first device calls for all outside of programs per device: before and after its own calls inside."""
    seen = []

    def inside(x):
        laminax.debug.callback(lambda i, j: seen.append((int(i), int(j))), lax.axis_index("x"), lax.axis_index("y"), ordered=True)
        return x

    @laminax.jit
    def f(x):
        laminax.debug.callback(lambda: seen.append("before"), ordered=True)
        x = shard_map(inside, mesh=MESH, in_specs=P("x"), out_specs=P("x"), check_vma=False)(x)
        laminax.debug.callback(lambda: seen.append("after"), ordered=True)
        return x

    for _ in range(3):
        f(A)
    laminax.effects_barrier()
    assert [what for what in seen if what in ("before", "after", (0, 0))] == ["before", (0, 0), "after"] * 3
    assert len(seen) == 3 * (2 + MESH.size)


def test_ordered_callbacks_of_pmap():
    seen = []

    def f(x):
        for k in range(3):
            laminax.debug.callback(lambda i, k=k: seen.append((int(i), k)), lax.axis_index("i"), ordered=True)
        return x

    laminax.pmap(f, axis_name="i")(np.arange(8.0))
    laminax.effects_barrier()
    for device in range(8):
        assert [k for i, k in seen if i == device] == [0, 1, 2]


@pytest.mark.parametrize("is_mapped", [False, True])
def test_partitioned_callbacks_see_the_part_of_each_device(is_mapped):
    """Along `y` the devices have the same part: each calls."""
    seen = []

    def f(x):
        laminax.debug.callback(lambda part: seen.append(part.tolist()), x, partitioned=True)
        return x

    if is_mapped:
        laminax.jit(laminax.vmap(f, in_axes=1))(put(A, "x"))
        parts = [part[:, i] for part in np.split(A, 4) for i in range(4)]
    else:
        laminax.jit(f)(put(A, "x"))
        parts = np.split(A, 4)
    laminax.effects_barrier()
    assert sorted(seen) == sorted([part.tolist() for part in parts] * 2)


def test_callbacks_where_the_compiler_splits_the_other_axes():
    """One device of those along the other axes calls, with what they have together."""
    seen = []

    def f(x):
        laminax.debug.callback(lambda part, i: seen.append((int(i), part.tolist())), x, lax.axis_index("x"))
        return laminax.pure_callback(lambda x: np.asarray(x) * 2, laminax.ShapeDtypeStruct(x.shape, x.dtype), x)

    x = np.arange(16, dtype=np.float32)
    run = laminax.jit(shard_map(f, mesh=MESH, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}, check_vma=False))
    np.testing.assert_array_equal(np.asarray(run(put(x, ("x", "y")))), 2 * x)
    laminax.effects_barrier()
    assert sorted(seen) == [(i, x[4 * i:4 * i + 4].tolist()) for i in range(4)]

    def g(x):
        return io_callback(lambda x: x, laminax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(NotImplementedError, match="io_callback is not supported in a shard_map that runs along some axes of its mesh only"):
        laminax.jit(shard_map(g, mesh=MESH, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}, check_vma=False))(x)


def on_device(number):
    return laminax.sharding.SingleDeviceSharding(laminax.devices()[number])


@pytest.mark.parametrize("options", [{}, {"ordered": True}])
@pytest.mark.parametrize("callback", [laminax.pure_callback, io_callback])
def test_a_sharding_says_which_device_calls(callback, options):
    if callback is laminax.pure_callback and options:
        pytest.skip("pure callbacks have no order")
    seen = []

    def host(x):
        seen.append(np.array(x))
        return x * 2

    f = laminax.jit(lambda x: callback(host, shape_of(x), x, sharding=on_device(5), **options) + x)
    np.testing.assert_allclose(np.asarray(f(put(A, "x", "y"))), A * 3, rtol=1e-6)
    assert len(seen) == 1
    np.testing.assert_array_equal(seen[0], A)
    text = f.lower(put(A, "x", "y")).as_text()
    number = [d.id for d in MESH.devices.flat].index(5)  # devices have the numbers of their places in the mesh
    assert f"sdy.mesh @maximal_mesh_{number} = <[], device_ids=[{number}]>" in text and f"<@maximal_mesh_{number}, []>" in text
    assert "maximal_mesh" not in f.lower(A).as_text()  # one device needs no such word


def test_a_sharding_for_a_callback_must_be_one_of_a_device_of_the_program():
    def call(x, sharding):
        return laminax.pure_callback(np.negative, shape_of(x), x, sharding=sharding)

    half = laminax.sharding.Mesh(np.array(laminax.devices()[:4]), ("x",))
    x = laminax.device_put(A, laminax.NamedSharding(half, P("x")))
    with pytest.raises(ValueError, match=r"specifies a device, .*7.*, that is not in the device assignment"):
        laminax.jit(lambda x: call(x, on_device(7)))(x)
    with pytest.raises(NotImplementedError, match="callbacks do not support specifying sharding inside of shard_map"):
        shard_map(lambda x: call(x, on_device(0)), mesh=MESH, in_specs=P(("x", "y")), out_specs=P(("x", "y")))(A)
    with pytest.raises(NotImplementedError, match="pure_callback only supports SingleDeviceSharding"):
        call(A, laminax.NamedSharding(MESH, P("x")))


class Logging(Effect):
    """An ordered effect of a library's own."""


def test_an_ordered_effect_of_a_librarys_own_is_in_order_on_each_device_where_that_is_enough():
    seen = {}
    log_p = Primitive("log_in_order")
    log_p.multiple_results = True
    log_p.def_effectful_abstract_eval(lambda x: ([], {Logging()}))

    def rule(ctx, x):
        def call(x):
            seen.setdefault(int(x[0]) // 2, []).append(int(x[0]) % 2)
            return ()
        _, token, _ = mlir.emit_python_callback(ctx, call, ctx.tokens_in.get(Logging()), [x], ctx.avals_in, [], has_side_effect=True)
        ctx.set_tokens_out(mlir.TokenSet({Logging(): token}))
        return []

    mlir.register_lowering(log_p, rule)
    effects.lowerable_effects.add_type(Logging)
    effects.ordered_effects.add_type(Logging)

    @laminax.jit
    @partial(shard_map, mesh=MESH, in_specs=P(("x", "y")), out_specs=P(("x", "y")))
    def f(x):
        log_p.bind(2 * x)
        log_p.bind(2 * x + 1)
        return x

    numbers = np.arange(8, dtype=np.int32)
    with pytest.raises(ValueError, match=r"ordered effects are not supported for more than 1 device: \[Logging\].*shardable"):
        f(numbers)
    effects.shardable_ordered_effects.add_type(Logging)
    np.testing.assert_array_equal(f(numbers), numbers)
    laminax.effects_barrier()
    assert seen == {i: [0, 1] for i in range(8)}
