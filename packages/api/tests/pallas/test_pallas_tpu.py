"""Copies, semaphores, pipelines and arithmetic of kernels for TPUs, interpreted, against NumPy."""

import numpy as np
import pytest

import laminax
from laminax.experimental import pallas as pl
from laminax.experimental.pallas import tpu as pltpu

X = np.arange(24, dtype=np.float32).reshape(6, 4)
WHOLE = pl.BlockSpec(memory_space=pl.ANY)


def run(kernel, *args, out, **options):
    return pl.pallas_call(kernel, laminax.ShapeDtypeStruct(out.shape, out.dtype), interpret=True, **options)(*args)


def test_a_copy_and_its_semaphore():
    def kernel(x_ref, o_ref, seen_ref, rows_ref, sem_ref):
        copy = pltpu.make_async_copy(x_ref.at[pl.ds(2, 3)], rows_ref, sem_ref)
        copy.start()
        seen_ref[0] = pl.semaphore_read(sem_ref)
        copy.wait()
        seen_ref[1] = pl.semaphore_read(sem_ref)
        rows_ref[...] *= 2
        pltpu.sync_copy((rows_ref,), (o_ref,))
        pltpu.async_copy(x_ref.at[pl.ds(0, 3)], o_ref, add=True)
    shapes = laminax.ShapeDtypeStruct((3, 4), "float32"), laminax.ShapeDtypeStruct((2,), "int32")
    rows, seen = pl.pallas_call(kernel, shapes, in_specs=[WHOLE], interpret=True,
                                scratch_shapes=[pltpu.VMEM((3, 4), "float32"), pltpu.SemaphoreType.DMA])(X)
    np.testing.assert_array_equal(rows, 2 * X[2:5] + X[:3])
    np.testing.assert_array_equal(seen, [3 * 4 * 4, 0])


def test_semaphores_count():
    def kernel(o_ref, sems_ref):
        pl.semaphore_signal(sems_ref.at[0], 3)
        pl.semaphore_wait(sems_ref.at[0], 2)
        pl.semaphore_signal(sems_ref.at[1])
        pl.semaphore_wait(sems_ref.at[1], decrement=False)
        for i in range(2):
            o_ref[i] = pl.semaphore_read(sems_ref.at[i])
    np.testing.assert_array_equal(run(kernel, out=np.empty(2, np.int32), scratch_shapes=[pltpu.SemaphoreType.REGULAR((2,))]), [1, 1])
    with pytest.raises(NotImplementedError, match="device_id and core_index"):
        pl.semaphore_signal(None, device_id=1)


def test_a_copy_between_trees_of_different_structure():
    with pytest.raises(ValueError, match="sync_copy: src_ref and dst_ref must have one structure"):
        run(lambda x_ref, o_ref: pltpu.sync_copy((x_ref, x_ref), (o_ref,)), X, out=X)


@pytest.mark.parametrize("rows", [2, 4])  # of 6: the last block of 4 reaches over the end
def test_a_pipeline_over_blocks(rows):
    def kernel(x_ref, o_ref, count_ref):
        count_ref[...] = np.zeros((1,), np.int32)

        def body(block_ref, out_ref, counted_ref):
            out_ref[...] = block_ref[...] * 2 + pl.program_id(0)
            counted_ref[...] += 1
        block = pl.BlockSpec((rows, 4), lambda i: (i, 0))
        pltpu.emit_pipeline(body, grid=(-(-6 // rows),), in_specs=[block], out_specs=[block])(x_ref, o_ref, scratches=(count_ref,))
        o_ref[0, 0] = count_ref[0].astype("float32")
    expected = 2 * X + (np.arange(6) // rows)[:, None]
    expected[0, 0] = -(-6 // rows)
    np.testing.assert_array_equal(run(kernel, X, out=X, scratch_shapes=[pltpu.SMEM((1,), "int32")]), expected)
    with pytest.raises(NotImplementedError, match="core_axis"):
        pltpu.emit_pipeline(abs, grid=(1,), core_axis=0)
    with pytest.raises(TypeError, match="takes 1 references that are read and 0 that are written, got 0"):
        pltpu.emit_pipeline(abs, grid=(1,), in_specs=[WHOLE])()


@pytest.mark.parametrize("shift", [0, 1, 5, -1])
def test_roll(shift):
    np.testing.assert_array_equal(pltpu.roll(X, shift, 0), np.roll(X, shift, 0))
    columns = [np.roll(X[:, j], shift + 2 * j) for j in range(4)]
    np.testing.assert_array_equal(pltpu.roll(X, shift, 0, stride=2, stride_axis=1), np.stack(columns, 1))
    np.testing.assert_array_equal(laminax.jit(lambda x, s: pltpu.roll(x, s, 0, stride=2, stride_axis=-1))(X, shift), np.stack(columns, 1))


def test_roll_refuses_half_a_stride():
    with pytest.raises(ValueError, match="stride and stride_axis go together"):
        pltpu.roll(X, 1, 0, stride=1)
    with pytest.raises(ValueError, match="another axis"):
        pltpu.roll(X, 1, 0, stride=1, stride_axis=0)


def test_bits_as_another_dtype():
    words = np.array([[0x00010002, 0x00030004], [0x00050006, 0x00070008]], np.uint32)
    halves = pltpu.bitcast(words, "uint16")
    np.testing.assert_array_equal(halves, [[2, 4], [1, 3], [6, 8], [5, 7]])
    np.testing.assert_array_equal(pltpu.bitcast(halves, "uint32"), words)
    np.testing.assert_array_equal(pltpu.bitcast(X, "int32"), X.view(np.int32))
    with pytest.raises(ValueError, match="must be a multiple of 2"):
        pltpu.bitcast(np.zeros((3, 2), np.uint16), "uint32")


def test_what_has_no_effect_on_interpreted_kernels():
    params = pltpu.CompilerParams(dimension_semantics=[pltpu.GridDimensionSemantics.PARALLEL])

    def kernel(x_ref, o_ref):
        pltpu.touch(x_ref)
        o_ref[...] = pltpu.reciprocal(pltpu.with_memory_space_constraint(x_ref[...] + 1, pltpu.VMEM), approx=True)
    np.testing.assert_allclose(run(kernel, X, out=X, grid=(1,), compiler_params=params), 1 / (X + 1), rtol=1e-6)
