"""What kernels are refused for: each message names what is wrong."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax.experimental import pallas as pl
from laminax.experimental.pallas import tpu as pltpu

X = np.arange(8, dtype=np.int32)
CAPTURED = jnp.arange(8)


def copy(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def call(kernel=copy, out_shape=X, args=(X,), interpret=True, **options):
    return pl.pallas_call(kernel, out_shape, interpret=interpret, **options)(*args)


def index_map_of_two():
    return 0, 0


@pytest.mark.parametrize("options, error, message", [
    ({"interpret": False}, ValueError, "Only interpret mode is supported on CPU backend"),
    ({"kernel": 3}, TypeError, "pallas_call"),
    ({"grid": (1.5,)}, TypeError, "a size must be an integer, got 1.5"),
    ({"in_specs": pl.BlockSpec((8,))}, ValueError, "`in_specs` must be a tuple or a list"),
    ({"grid": (2,), "grid_spec": pl.GridSpec(2)}, ValueError, "give it or them, not both"),
    ({"in_specs": [None, None]}, ValueError, "`in_specs` and `inputs` do not match. There are 1 mismatches"),
    ({"out_specs": [None]}, ValueError, "`out_specs` and `out_shape` do not match"),
    ({"in_specs": [pl.BlockSpec((8, 1), lambda: (0, 0))]}, ValueError,
     r"Block shape for args\[0\] .* must have the same number of dimensions"),
    ({"out_specs": pl.BlockSpec((8, 1), lambda: (0, 0))}, ValueError, "Block shape for outputs .* must have the same number of dimensions"),
    ({"in_specs": [pl.BlockSpec((8,), index_map_of_two)]}, ValueError,
     r"Index map function index_map_of_two at .*test_pallas_errors.py.* for args\[0\] must return 1 values .*Currently returning 2 values"),
    ({"in_specs": [pl.BlockSpec((8,), lambda: 0.5)]}, ValueError, r"must return integer scalars. Output\[0\] has type .*float"),
    ({"in_specs": [pl.BlockSpec((8,), lambda: jnp.arange(2))]}, ValueError,
     r"must return integer scalars. Output\[0\] has type int32\[2\]"),
    ({"in_specs": [pl.BlockSpec((8,), lambda i: 0)]}, TypeError, "missing 1 required positional argument"),
    ({"in_specs": [pl.BlockSpec((8,), lambda: (CAPTURED[0],))]}, ValueError, r"must not capture constants: \[i32\[8\]\]"),
    ({"in_specs": [pl.BlockSpec((pl.BoundedSlice(8),), lambda: pl.ds(0, 8))]}, NotImplementedError, "Unsupported block dimension type"),
    ({"in_specs": [pl.BlockSpec(("x",), lambda: 0)]}, TypeError, "block_shape must be an int, None or a BlockDim, got 'x'"),
    ({"kernel": lambda x_ref: None}, TypeError, "takes 1 positional argument but 2 were given"),
    ({"kernel": lambda x_ref, o_ref: 3}, ValueError,
     "The kernel function in the pallas_call .* at .*test_pallas_errors.py.* should return None"),
    ({"kernel": lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref)}, ValueError, "Cannot store a Ref into another Ref"),
    ({"kernel": lambda x_ref, o_ref: o_ref.__setitem__(pl.ds(6, 4), x_ref[:4])}, ValueError, "Out of bound slice: start=6, size=4"),
    ({"kernel": lambda x_ref, o_ref: pl.program_id(1)}, ValueError, r"axis must be in \[0, 0\)"),
    ({"input_output_aliases": {1: 0}}, ValueError, r"mapping '1:0' with input index 1 outside the range \[0, 1\)"),
    ({"input_output_aliases": {0: 2}}, ValueError, r"mapping '0:2' with output index 2 outside the range \[0, 1\)"),
    ({"input_output_aliases": {0: 0}, "out_shape": laminax.ShapeDtypeStruct((8,), "float32")}, ValueError,
     r"input\[0\] with abstract value int32\[8\] .*output\[0\] with a different abstract value float32\[8\]"),
    ({"out_shape": "x"}, TypeError, "outputs must be an array or say a shape and a dtype"),
    ({"interpret": pltpu.InterpretParams(detect_races=True)}, NotImplementedError, "detect_races=True is not supported"),
    ({"interpret": pltpu.InterpretParams(uninitialized_memory="one")}, ValueError, "must be 'nan' or 'zero', got 'one'"),
])
def test_what_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        call(**options)


def test_a_kernel_closes_over_no_array():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + CAPTURED

    with pytest.raises(ValueError, match=r"The kernel function .*kernel at .* captures constants \[i32\[8\]\]. You should pass them"):
        call(kernel)
    with pytest.raises(ValueError, match=r"captures constants"):
        laminax.jit(lambda y: call(lambda x_ref, o_ref: o_ref.__setitem__(..., x_ref[...] + y)))(X)


def test_constants_that_functions_make_are_no_captures():
    def kernel(x_ref, o_ref):
        o_ref[...] = jnp.tril(x_ref[...])
    x = np.ones((4, 4), np.float32)
    np.testing.assert_array_equal(call(kernel, x, (x,)), np.tril(x))


def test_outside_of_kernels():
    with pytest.raises(ValueError, match="program_id: there is no grid here"):
        pl.program_id(0)
    with pytest.raises(NotImplementedError, match="experimental.pallas.core_map is not supported: kernels are interpreted"):
        pl.core_map(None)
    with pytest.raises(NotImplementedError, match="experimental.pallas.tpu.make_async_remote_copy is not supported"):
        pltpu.make_async_remote_copy()


def test_kernels_can_be_forced_to_be_interpreted():
    with pltpu.force_tpu_interpret_mode():
        np.testing.assert_array_equal(call(interpret=False), X)
    with pytest.raises(ValueError, match="Only interpret mode"):
        call(interpret=False)
    pltpu.set_tpu_interpret_mode()
    try:
        np.testing.assert_array_equal(call(interpret=False), X)
    finally:
        pltpu.set_tpu_interpret_mode(None)
