"""References to arrays over eight devices: they stay where their arrays are, and shard_map gives each device its part of one."""

import numpy as np
import pytest
from meshes import MESH, check_layout, on_mesh, put, value

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.ref import addupdate, new_ref
from laminax.sharding import PartitionSpec as P

A = value(8, 4)


def test_a_jitted_function_leaves_the_array_split():
    ref = new_ref(put(A, "x"))
    step = laminax.jit(lambda: ref.__setitem__(..., ref[...] * 2))
    for factor in (2, 4):
        step()
        check_layout(ref[...], factor * A, ("x",))
    ref[0, 0] = 5.
    assert ref.sharding.is_equivalent_to(on_mesh("x"), 2)


@pytest.mark.parametrize("wrap", [lambda f: f, laminax.jit])
@pytest.mark.parametrize("check_vma", [True, False])
def test_each_device_writes_its_part(wrap, check_vma):
    rows, total = new_ref(put(A, "x")), new_ref(jnp.zeros(4))
    count = MESH.shape["x"]

    def fun(part, total, x):
        part[0] = part[0] * x[0, 0]
        addupdate(total, ..., lax.psum(part[...].sum(0), "x"))
        return part[:1]

    mapped = wrap(laminax.shard_map(fun, mesh=MESH, in_specs=(P("x"), P(), P("x")), out_specs=P("x"), axis_names={"x"},
                                    check_vma=check_vma))
    out = mapped(rows, total, jnp.full((count, 1), 10.))
    expected = np.array(A)
    expected[::len(A) // count] *= 10
    np.testing.assert_allclose(rows[...], expected)
    np.testing.assert_allclose(out, expected[::len(A) // count])
    np.testing.assert_allclose(total[...], expected.sum(0), rtol=1e-5)


def test_loops_of_a_device_write_references_that_it_closes_over():
    total = new_ref(0.)
    add = lambda x: lax.fori_loop(0, 3, lambda i, _: addupdate(total, ..., lax.psum(x.sum(), "x") * i), None)  # noqa: E731
    laminax.jit(laminax.shard_map(add, mesh=MESH, in_specs=P("x"), out_specs=None, axis_names={"x"}))(jnp.ones(8))
    assert total[...] == 8 * (0 + 1 + 2)


def test_what_differs_between_devices_is_not_written_to_a_reference_that_is_whole_on_each():
    total = new_ref(0.)
    with pytest.raises(ValueError, match="written to a reference that is split as .*varies over the mesh axes"):
        laminax.shard_map(lambda x: total.__setitem__(..., x.sum()), mesh=MESH, in_specs=P("x"), out_specs=None,
                          axis_names={"x"})(jnp.ones(8))
    with pytest.raises(ValueError, match="for shard_map .* appeared at both"):
        laminax.shard_map(lambda a, b: None, mesh=MESH, in_specs=P(), out_specs=None)(total, total)


def test_the_type_of_a_reference_says_its_part():
    with laminax.set_mesh(laminax.make_mesh((8,), ("x",))):
        ref = new_ref(laminax.device_put(np.zeros(16, np.float32), P("x")))

        @laminax.jit
        @laminax.shard_map(out_specs=None)
        def add_index(part):
            assert part.shape == (2,)
            part[...] += lax.axis_index("x").astype(np.float32)

        add_index(ref)
        np.testing.assert_array_equal(ref[...], np.repeat(np.arange(8), 2))
