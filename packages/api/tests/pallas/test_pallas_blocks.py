"""Block shapes and index maps, against slices of NumPy."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax.experimental import pallas as pl
from laminax.experimental.pallas import tpu as pltpu

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


def copied(x, spec, out_shape, grid=(1,), out_specs=None):
    """What the kernel finds in the block of the last step."""
    def copy(x_ref, o_ref):
        o_ref[...] = x_ref[...]
    options = {} if out_specs is None else {"out_specs": out_specs}
    return pl.pallas_call(copy, laminax.ShapeDtypeStruct(out_shape, x.dtype), grid=grid, in_specs=[spec], interpret=True, **options)(x)


@pytest.mark.parametrize("block_shape, index_map, expected", [
    (None, None, X),
    ((3, 4, 5), None, X),
    ((1, 2, 5), lambda i: (2, 1, 0), X[2:3, 2:4]),
    ((None, 2, 5), lambda i: (2, 1, 0), X[2, 2:4]),
    ((pl.squeezed, None, 5), lambda i: (1, 3, 0), X[1, 3]),
    ((pl.Element(2), 4, None), lambda i: (1, 0, 2), X[1:3, :, 2]),
    ((pl.Blocked(1), pl.Element(3), pl.Element(2)), lambda i: (1, 1, 3), X[1:2, 1:4, 3:5]),
    ((3, pl.Element(4, (0, 0)), 5), lambda i: (0, 0, 0), X),
], ids=str)
def test_the_block_of_a_step(block_shape, index_map, expected):
    np.testing.assert_array_equal(copied(X, pl.BlockSpec(block_shape, index_map), expected.shape), expected)


def test_elements_may_be_padded():
    spec = pl.BlockSpec((pl.Element(6, (1, 2)),), lambda i: 0)
    np.testing.assert_array_equal(copied(np.ones(3, np.float32), spec, (6,)), [np.nan, 1, 1, 1, np.nan, np.nan])


def test_index_maps_that_overlap():
    spec = pl.BlockSpec((pl.Element(3),), lambda i: 2 * i)
    x = np.arange(7, dtype=np.float32)

    def kernel(x_ref, o_ref):
        o_ref[0] = x_ref[...].sum()
    sums = pl.pallas_call(kernel, laminax.ShapeDtypeStruct((3,), "float32"), grid=3, in_specs=[spec], interpret=True,
                          out_specs=pl.BlockSpec((1,), lambda i: i))(x)
    np.testing.assert_array_equal(sums, [x[:3].sum(), x[2:5].sum(), x[4:].sum()])


def test_scalars_that_are_read_first_choose_the_blocks():
    order = np.array([2, 0, 1, 2], np.int32)

    def kernel(order_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...] + 100 * order_ref[pl.program_id(0)]
    grid = pltpu.PrefetchScalarGridSpec(1, grid=(4,), in_specs=[pl.BlockSpec((None, 4, 5), lambda i, order: (order[i], 0, 0))],
                                        out_specs=pl.BlockSpec((None, 4, 5), lambda i, order: (i, 0, 0)))
    call = pl.pallas_call(kernel, laminax.ShapeDtypeStruct((4, 4, 5), "float32"), grid_spec=grid, interpret=True)
    np.testing.assert_array_equal(call(order, X), X[order] + 100 * order[:, None, None])
    orders = np.stack([order, order[::-1]])
    np.testing.assert_array_equal(laminax.vmap(call, in_axes=(0, None))(orders, X),
                                  [X[o] + 100 * o[:, None, None] for o in orders])


def test_scalars_in_a_tree():
    def kernel(tree, o_ref):
        o_ref[...] = jnp.full((2,), tree["a"][0])
    grid = pltpu.PrefetchScalarGridSpec(1, grid=(2,), out_specs=pl.BlockSpec((2,), lambda i, tree: tree["b"][i]))
    call = pl.pallas_call(kernel, laminax.ShapeDtypeStruct((4,), "int32"), grid_spec=grid, interpret=True)
    np.testing.assert_array_equal(call({"a": np.array([7], np.int32), "b": np.array([1, 0], np.int32)}), [7] * 4)


def test_index_maps_know_the_grid():
    spec = pl.BlockSpec((1,), lambda i: pl.num_programs(0) - 1 - i)
    x = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(copied(x, spec, (4,), grid=(4,), out_specs=pl.BlockSpec((1,), lambda i: i)), x[::-1])


def test_named_axes_of_a_grid_have_sizes():
    seen = []

    def kernel(x_ref, o_ref):
        seen.append((laminax.lax.axis_size("i"), laminax.lax.axis_size("j")))
        o_ref[...] = x_ref[...]
    block = pl.BlockSpec((None, None, 5), lambda i, j: (i, j, 0))
    out = pl.pallas_call(kernel, laminax.ShapeDtypeStruct(X.shape, X.dtype), grid=(("i", 3), ("j", 4)), in_specs=[block], out_specs=block,
                         interpret=True)(X)
    np.testing.assert_array_equal(out, X)
    assert seen == [(3, 4)]


def test_specifications_print_and_compare():
    spec = pl.BlockSpec((8, None))
    assert spec == pl.BlockSpec((8, None)) != pl.BlockSpec((8, 1)) and spec.replace(memory_space=pltpu.SMEM).memory_space is pltpu.SMEM
    assert "block_shape=(8, None)" in repr(spec) and "grid=(2,)" in repr(pl.GridSpec(2))
    assert pltpu.VMEM((2, 3), "float32").shape == (2, 3) and pltpu.SemaphoreType.DMA((2,)).dtype == np.int32
