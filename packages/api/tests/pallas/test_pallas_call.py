"""Kernels over grids of blocks, against NumPy."""

import functools

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax.experimental import pallas as pl
from laminax.experimental.pallas import tpu as pltpu

DRAWN = np.random.default_rng(0)


def kernel_call(kernel, out, **options):
    return pl.pallas_call(kernel, laminax.ShapeDtypeStruct(out.shape, out.dtype), interpret=True, **options)


def product(x_ref, y_ref, o_ref, sum_ref):
    @pl.when(pl.program_id(2) == 0)
    def _():
        sum_ref[...] = jnp.zeros_like(sum_ref)

    sum_ref[...] += x_ref[...] @ y_ref[...]

    @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
    def _():
        o_ref[...] = sum_ref[...]


@pytest.fixture
def matrices():
    return DRAWN.normal(size=(8, 12)).astype(np.float32), DRAWN.normal(size=(12, 6)).astype(np.float32)


@pytest.fixture
def blocked_product():
    return kernel_call(product, np.empty((8, 6), np.float32), grid=(2, 3, 4), scratch_shapes=[pltpu.VMEM((4, 2), jnp.float32)],
                       in_specs=[pl.BlockSpec((4, 3), lambda i, j, k: (i, k)), pl.BlockSpec((3, 2), lambda i, j, k: (k, j))],
                       out_specs=pl.BlockSpec((4, 2), lambda i, j, k: (i, j)))


def test_a_product_of_blocks_with_memory_that_stays(matrices, blocked_product):
    x, y = matrices
    np.testing.assert_allclose(blocked_product(x, y), x @ y, rtol=1e-5)
    np.testing.assert_allclose(laminax.jit(blocked_product)(x, y), x @ y, rtol=1e-5)


def test_derivatives_both_ways(matrices, blocked_product):
    x, y = matrices
    weights = DRAWN.normal(size=(8, 6)).astype(np.float32)
    by_x, by_y = laminax.grad(lambda x, y: (blocked_product(x, y) * weights).sum(), (0, 1))(x, y)
    np.testing.assert_allclose(by_x, weights @ y.T, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(by_y, x.T @ weights, rtol=1e-4, atol=1e-5)
    tangent = DRAWN.normal(size=x.shape).astype(np.float32)
    _, moved = laminax.jvp(lambda x: blocked_product(x, y), (x,), (tangent,))
    np.testing.assert_allclose(moved, tangent @ y, rtol=1e-4, atol=1e-5)


def test_vmap(matrices, blocked_product):
    x, y = matrices
    xs = np.stack([x, -2 * x, x + 1])
    np.testing.assert_allclose(laminax.vmap(blocked_product, in_axes=(0, None))(xs, y), xs @ y, rtol=1e-4, atol=1e-5)


def test_a_grid_is_walked_with_its_last_axis_fastest():
    def kernel(o_ref):
        o_ref[...] = jnp.full(o_ref.shape, 10 * pl.program_id(0) + pl.program_id(1))
    ids = kernel_call(kernel, np.empty((2, 3), np.int32), grid=(2, 3), out_specs=pl.BlockSpec((1, 1), lambda i, j: (i, j)))()
    np.testing.assert_array_equal(ids, [[0, 1, 2], [10, 11, 12]])
    last = kernel_call(kernel, np.empty((1,), np.int32), grid=(2, 3))()  # all steps write to one block
    np.testing.assert_array_equal(last, [12])


@pytest.mark.parametrize("dtype, filler", [("float32", np.nan), ("int32", -2**31), ("uint8", 0), ("bool", False), ("complex64", np.nan)])
def test_what_nobody_has_written(dtype, filler):
    nothing = kernel_call(lambda o_ref: None, np.empty((3,), dtype))
    np.testing.assert_array_equal(nothing(), np.full(3, filler, dtype))
    padded = kernel_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), np.empty((4,), dtype), grid=(1,),
                         in_specs=[pl.BlockSpec((4,), lambda i: i)])
    np.testing.assert_array_equal(padded(np.ones(3, dtype)), np.concatenate([np.ones(3, dtype), np.full(1, filler, dtype)]))


def test_memory_can_begin_with_zero():
    params = pltpu.InterpretParams(uninitialized_memory="zero")
    call = pl.pallas_call(lambda o_ref: None, laminax.ShapeDtypeStruct((2,), "float32"), interpret=params)
    np.testing.assert_array_equal(call(), [0, 0])


def test_the_last_block_may_reach_over_the_end():
    x = np.arange(7, dtype=np.float32)

    def kernel(x_ref, o_ref):
        o_ref[...] = 2 * x_ref[...] + pl.program_id(0)
    doubled = kernel_call(kernel, x, grid=(3,), in_specs=[pl.BlockSpec((3,), lambda i: i)], out_specs=pl.BlockSpec((3,), lambda i: i))
    np.testing.assert_array_equal(doubled(x), 2 * x + np.arange(7) // 3)


def test_a_size_of_the_grid_may_be_traced():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + pl.num_programs(0)

    @laminax.jit
    def first_blocks(x, n):
        block = pl.BlockSpec((2,), lambda i: i)
        return kernel_call(kernel, x, grid=(n,), in_specs=[block], out_specs=block, input_output_aliases={0: 0})(x)
    x = np.arange(6, dtype=np.float32)
    np.testing.assert_array_equal(first_blocks(x, 2), [2, 3, 4, 5, 4, 5])
    np.testing.assert_array_equal(first_blocks(x, 0), x)


def test_an_argument_can_be_what_a_result_begins_with():
    def kernel(x_ref, y_ref, o_ref):
        o_ref[0] = x_ref[0] + o_ref[1]
    x, y = np.arange(4, dtype=np.float32), np.arange(4, 8, dtype=np.float32)
    np.testing.assert_array_equal(kernel_call(kernel, x, input_output_aliases={1: 0})(x, y), [5, 5, 6, 7])


def test_trees_of_arguments_and_results():
    def kernel(tree_ref, y_ref, out_refs):
        out_refs["sum"][...] = tree_ref["a"][...] + tree_ref["b"][0][...]
        out_refs["y"][...] = y_ref[...] * 2
    shapes = {"sum": laminax.ShapeDtypeStruct((3,), "float32"), "y": laminax.ShapeDtypeStruct((2,), "int32")}
    a, y = np.arange(3, dtype=np.float32), np.arange(2, dtype=np.int32)
    out = pl.pallas_call(kernel, shapes, interpret=True)({"a": a, "b": (a + 1,)}, y)
    np.testing.assert_array_equal(out["sum"], 2 * a + 1)
    np.testing.assert_array_equal(out["y"], 2 * y)
    several = pl.pallas_call(lambda x_ref, *o_refs: [o_ref.__setitem__(..., x_ref[...]) for o_ref in o_refs] and None,
                             [shapes["y"], shapes["y"]], interpret=True)(y)
    assert type(several) is tuple
    np.testing.assert_array_equal(several, [y, y])


def test_a_kernel_is_traced_once_for_arguments_of_one_type():
    traced = []

    @functools.partial(pl.pallas_call, out_shape=laminax.ShapeDtypeStruct((), "float32"), interpret=True)
    def add_one(x_ref, o_ref):
        traced.append(1)
        o_ref[...] = x_ref[...] + 1

    assert laminax.jit(lambda x: add_one(add_one(x)))(np.float32(0)) == 2 and len(traced) == 1


def test_a_jitted_function_asks_for_the_step_of_each_kernel_that_calls_it():
    @laminax.jit
    def step():
        return pl.program_id(0) + pl.num_programs(0)

    for n in (2, 3):
        kernel = kernel_call(lambda o_ref: o_ref.__setitem__(..., jnp.full((1,), step())), np.empty((n,), np.int32), grid=(n,),
                             out_specs=pl.BlockSpec((1,), lambda i: i))
        np.testing.assert_array_equal(kernel(), np.arange(n) + n)


def test_floats_of_64_bits():
    with laminax.enable_x64(True):
        x = np.arange(4, dtype=np.float64)
        block = pl.BlockSpec((2,), lambda i: i)
        out = kernel_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] / 3), x, grid=(2,), in_specs=[block], out_specs=block)(x)
        assert out.dtype == np.float64
        np.testing.assert_array_equal(out, x / 3)


def test_an_exported_kernel():
    def f(x):
        block = pl.BlockSpec((2,), lambda i: i)
        return kernel_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] * 3), x, grid=(2,), in_specs=[block], out_specs=block)(x)
    x = np.arange(4, dtype=np.float32)
    exported = laminax.export.deserialize(laminax.export.export(laminax.jit(f))(x).serialize())
    np.testing.assert_array_equal(exported.call(x), 3 * x)


def test_debug_prints_the_kernel(capsys):
    x = np.ones(2, np.float32)
    kernel_call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...]), x, debug=True, name="copy")(x)
    assert "pallas_call copy" in capsys.readouterr().out
    traced = laminax.make_jaxpr(kernel_call(lambda o_ref: None, np.empty(2, np.float32), name="a_name"))()
    assert "name=a_name" in str(traced)
