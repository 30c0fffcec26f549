"""Conditions, loops, memory and small arithmetic of kernels, against Python and NumPy."""

import math

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax.experimental import checkify
from laminax.experimental import pallas as pl
from laminax.experimental.pallas import tpu as pltpu
from laminax.experimental.pallas import triton

X = np.arange(8, dtype=np.float32)


def run(kernel, *args, out=X, **options):
    return pl.pallas_call(kernel, laminax.ShapeDtypeStruct(out.shape, out.dtype), interpret=True, **options)(*args)


@pytest.mark.parametrize("lower, upper, step", [(0, 8, 1), (1, 8, 3), (5, 5, 1), (6, 2, 1), (0, 7, 2)])
@pytest.mark.parametrize("is_traced", [False, True])
def test_a_loop_with_a_step(lower, upper, step, is_traced):
    def kernel(bounds_ref, x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)
        start, stop = (bounds_ref[0], bounds_ref[1]) if is_traced else (lower, upper)

        @pl.loop(start, stop, step=step)
        def _(i):
            o_ref[i] = x_ref[i] + 1
    expected = np.zeros(8)
    expected[lower:upper:step] = X[lower:upper:step] + 1
    np.testing.assert_array_equal(run(kernel, np.array([lower, upper]), X), expected)


def test_a_loop_with_a_carry():
    def kernel(x_ref, o_ref):
        @pl.loop(0, 8, init_carry=jnp.float32(1))
        def total(i, carry):
            return carry * 2 + x_ref[i]
        o_ref[...] = jnp.full((8,), total)
    expected = 1.
    for x in X:
        expected = expected * 2 + x
    np.testing.assert_array_equal(run(kernel, X), np.full(8, expected))
    with pytest.raises(ValueError, match="step must be positive, got 0"):
        pl.loop(0, 3, step=0)


def test_when_conditions_are_known_or_traced():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        for i, condition in enumerate((True, False, x_ref[1] == 1, x_ref[1] == 2)):
            @pl.when(condition)
            def _(i=i):
                o_ref[i] = -1.
    np.testing.assert_array_equal(run(kernel, X), [-1, 1, -1, 3, 4, 5, 6, 7])
    with pytest.raises(TypeError, match="condition must be a boolean scalar"):
        pl.when(np.array([True]))(lambda: None)


def test_memory_for_a_part_of_a_kernel():
    def kernel(x_ref, o_ref):
        def body(row_ref, sem_ref, *, named_ref):
            named_ref[...] = x_ref[...] + sem_ref[...]  # semaphores begin at 0
            row_ref[...] = named_ref[...] * 2
            return row_ref[...]

        @pl.with_scoped(pl.MemorySpace.ANY((8,), "float32"))
        def add(ref, y):
            ref[...] = y
            return ref[...] + 1
        o_ref[...] = add(pl.run_scoped(body, pltpu.VMEM((8,), "float32"), pltpu.SemaphoreType.REGULAR,
                                       named_ref=pltpu.VMEM((8,), "float32")))
    np.testing.assert_array_equal(run(kernel, X), 2 * X + 1)
    with pytest.raises(NotImplementedError, match="collective_axes"):
        pl.run_scoped(abs, collective_axes="x")


def test_functions_of_arrays_from_ones_of_references():
    def swap_halves(refs):
        first, second = refs
        first[...], second[...] = second[...], first[...]
    out = pl.run_state(swap_halves)((X, X + 1))
    np.testing.assert_array_equal(out, [X + 1, X])
    assert np.isnan(pl.empty((2,), "float32")).all() and pl.empty_like({"a": X})["a"].shape == (8,)
    assert pl.empty_ref_like(pltpu.SMEM((2,), "int32"))[...].dtype == np.int32


@pytest.mark.parametrize("a, b", [(0, 3), (1, 3), (3, 3), (7, 3), (9, 4)])
def test_small_arithmetic(a, b):
    assert pl.cdiv(a, b) == math.ceil(a / b) == laminax.jit(pl.cdiv)(a, b)
    assert pl.align_to(a, b) == math.ceil(a / b) * b == laminax.jit(pl.align_to)(a, b)
    assert pl.next_power_of_2(a) == (1 if a == 0 else 2 ** math.ceil(math.log2(a)))
    assert pl.strides_from_shape((a, b, 2)) == (2 * b, 2, 1)
    assert pl.multiple_of(a, b) is a
    with pytest.raises(ValueError, match="must not be negative"):
        pl.next_power_of_2(-1)


def test_masks():
    def kernel(x_ref, o_ref):
        odd = x_ref[...].astype(int) % 2 == 1
        o_ref[...] = triton.load(x_ref, mask=odd, other=-1)
        pltpu.store(o_ref.at[pl.ds(0, 4)], x_ref[:4] * 10, mask=odd[:4])
    np.testing.assert_array_equal(run(kernel, X), [-1, 10, -1, 30, -1, 5, -1, 7])
    with pytest.raises(ValueError, match="other is for the elements that a mask leaves out"):
        run(lambda x_ref, o_ref: triton.load(x_ref, other=0.), X)


@pytest.mark.parametrize("name, update", [("add", np.add), ("max", np.maximum), ("min", np.minimum), ("xchg", lambda old, new: new),
                                          ("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)])
def test_updates_that_return_what_was_there(name, update):
    x, y = np.array([1, 5, 2, 7], np.int32), np.array([3, 3, 3, 3], np.int32)

    def kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...]
        old = getattr(triton, f"atomic_{name}")(o_ref, (pl.ds(0, 3),), y_ref[:3], mask=jnp.array([True, False, True]))
        o_ref[3] = old[1]
    expected = np.array([*update(x, y)[:3], x[1]])
    expected[1] = x[1]
    np.testing.assert_array_equal(run(kernel, x, y, out=x), expected)


def test_places_that_are_named_twice_are_added_to_twice():
    def kernel(i_ref, o_ref):
        o_ref[...] = jnp.zeros((4,))
        triton.atomic_add(o_ref, (i_ref[...],), jnp.ones((3,)))
    np.testing.assert_array_equal(run(kernel, np.array([1, 1, 3]), out=np.empty(4, np.float32)), [0, 2, 0, 1])
    with pytest.raises(NotImplementedError, match="atomic_max: index arrays"):
        run(lambda i_ref, o_ref: triton.atomic_max(o_ref, (i_ref[...],), jnp.ones((3,))) and None, np.array([1, 1, 3]), out=X)


def test_compare_and_swap():
    def kernel(o_ref):
        o_ref[...] = jnp.array(3)
        first = triton.atomic_cas(o_ref, 3, 4)
        second = triton.atomic_cas(o_ref, 3, 5)
        o_ref[...] = first * 100 + second * 10 + o_ref[...]
    assert run(kernel, out=np.empty((), np.int32)) == 344


def test_a_product_in_wider_floats():
    x = np.ones((4, 3), np.float16)

    def kernel(x_ref, o_ref):
        o_ref[...] = triton.dot(x_ref[...], x_ref[...], trans_b=True)
    np.testing.assert_array_equal(run(kernel, x, out=np.empty((4, 4), np.float32)), np.full((4, 4), 3))
    with pytest.raises(ValueError, match="give either allow_tf32 or precision"):
        triton.dot(x, x, allow_tf32=True, precision="highest")


def test_printing_from_a_kernel(capfd):
    def kernel(x_ref, o_ref):
        pl.debug_print("x is {}", x_ref)
        pl.debug_print("step", pl.program_id(0))
        o_ref[...] = x_ref[...]
    laminax.block_until_ready(run(kernel, X[:2], out=X[:2], grid=(2,)))
    laminax.effects_barrier()
    printed = capfd.readouterr().out
    assert printed.count("x is [0. 1.]") == 2 and "step 0" in printed and "step 1" in printed


def test_checks_in_kernels():
    def kernel(x_ref, o_ref):
        pl.debug_check(x_ref[0] >= 0, "x must not be negative")
        o_ref[...] = x_ref[...]
    block = pl.BlockSpec((2,), lambda i: i)

    def checked(x):
        return checkify.checkify(lambda x: run(kernel, x, grid=(4,), in_specs=[block], out_specs=block))(x)
    bad = np.array([0, 1, 2, 3, -4, 5, 6, 7], np.float32)  # in the third of four steps
    for x, message in ((X, None), (bad, "x must not be negative")):
        with pl.enable_debug_checks():
            error, out = checked(x)
        assert message is None and error.get() is None or message in error.get()
        np.testing.assert_array_equal(out, x)
    assert checked(bad)[0].get() is None  # where checks are not on, nothing is checked


def test_costs():
    x, y = laminax.ShapeDtypeStruct((4, 5), "float32"), laminax.ShapeDtypeStruct((5, 6), "float32")
    assert pl.estimate_cost(lambda x, y: jnp.exp(x @ y), x, y) == pl.CostEstimate(2 * 4 * 5 * 6, 24, 4 * (20 + 30 + 24))
    looped = pl.estimate_cost(lambda x: laminax.lax.fori_loop(0, 3, lambda i, x: x * x, x), x)
    assert looped.flops >= 60 and b'"transcendentals": 0' in looped.to_json()
    assert pl.estimate_cost(lambda x: x ** 7, x).flops == 20 * 5
