"""Callbacks of programs over several devices: the first device calls with whole values, or each device with its part."""

import numpy as np
import pytest
from meshes import MESH, check_layout, put, value

import laminax
from laminax import lax, pmap, shard_map
from laminax.experimental import io_callback
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


def test_ordered_callbacks_are_refused_in_programs_per_device():
    def f(x):
        laminax.debug.callback(print, x, ordered=True)
        return x

    with pytest.raises(ValueError, match="The following ordered effects are not supported for more than 1 device"):
        shard_map(f, mesh=MESH, in_specs=P("x"), out_specs=P("x"))(A)


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
