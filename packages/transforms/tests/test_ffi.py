"""Calls of native functions under transformations: as equations, since there is no compiler here to run them."""

import numpy as np
import pytest

from laminax_ir.ops.ffi import ffi_call
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct
from laminax_transforms import grad, jvp, vmap

S23 = ShapeDtypeStruct((2, 3), np.float32)
X, Y = np.ones((5, 2, 3), np.float32), np.ones((2, 3), np.float32)


def batched(method, *args, in_axes):
    def call(x, y):
        return ffi_call("native", S23, vmap_method=method, input_layouts=[(1, 0), None], output_layouts=(1, 0))(x, y)

    return stage(lambda *xs: [vmap(call, in_axes=in_axes)(*xs)], [get_aval(x) for x in args])


@pytest.mark.parametrize("method, shape", [("broadcast_all", (5, 2, 3)), ("expand_dims", (1, 2, 3)), ("legacy_vectorized", (2, 3))])
def test_batched_in_one_call(method, shape):
    """The batch axis comes first in memory, before the axes in the order that was asked for."""
    closed = batched(method, X, Y, in_axes=(0, None))
    (eqn,) = (e for e in closed.eqns if e.primitive.name == "ffi_call")
    assert [v.aval.shape for v in eqn.invars] == [(5, 2, 3), shape] and closed.out_avals[0].shape == (5, 2, 3)
    assert eqn.params["input_layouts"] == ((0, 2, 1), (0, 1, 2) if len(shape) == 3 else (0, 1))
    assert eqn.params["output_layouts"] == ((0, 2, 1),)


@pytest.mark.parametrize("method, count", [("sequential", 0), ("sequential_unrolled", 5)])
def test_one_call_per_example(method, count):
    closed = batched(method, np.moveaxis(X, 0, 2), Y, in_axes=(2, None))
    assert sum(eqn.primitive.name == "ffi_call" for eqn in closed.eqns) == count
    assert any(eqn.primitive.name == "scan" for eqn in closed.eqns) == (count == 0)
    assert closed.out_avals[0].shape == (5, 2, 3)


def test_what_is_refused():
    def call(x):
        return ffi_call("native", ShapeDtypeStruct((), np.float32))(x)

    with pytest.raises(NotImplementedError, match="for the ffi_call primitive when vmap_method is one of .*The target is native"):
        stage(lambda x: [vmap(call)(x)], [get_aval(X)])
    for transformed in (grad(call), lambda x: jvp(call, (x,), (x,))[1]):
        with pytest.raises(ValueError, match="The FFI call to `native` cannot be differentiated.*custom_jvp"):
            stage(lambda x: [transformed(x)], [get_aval(Y)])
