"""`experimental.buffer_callback`: Python functions on the buffers of a compiled program, against what they compute."""

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax.experimental.buffer_callback import Buffer, ExecutionContext, ExecutionStage, buffer_callback

pytestmark = pytest.mark.skipif(laminax.default_backend() != "cpu", reason="the buffers of a GPU are not NumPy's")


def like(x):
    return laminax.ShapeDtypeStruct(x.shape, x.dtype)


def add_one(context, out, x):
    np.asarray(out)[...] = np.asarray(x) + 1


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "uint32"])
@pytest.mark.parametrize("shape", [(), (0, 2), (3, 4)])
def test_results_are_what_was_written(dtype, shape):
    x = np.arange(np.prod(shape), dtype=np.int64).reshape(shape).astype(dtype)

    def turn(context, out, x):
        np.asarray(out)[...] = np.asarray(x).T

    call = buffer_callback(turn, laminax.ShapeDtypeStruct(shape[::-1], dtype))
    for f in (call, laminax.jit(call)):
        y = f(x)
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, x.T)


def test_what_the_function_is_given():
    seen = []

    def look(context, out, first, *, second):
        a, b = second
        seen.append([type(context) is ExecutionContext, context.stage is ExecutionStage.EXECUTE,
                     {type(buffer) is Buffer for buffer in (out["y"], first, a, b)}, out["y"].writeable, first.writeable,
                     first.shape, a.dtype, b.ndim])
        np.asarray(out["y"])[...] = np.asarray(first).sum() + np.asarray(a) + np.asarray(b).sum()

    call = laminax.jit(buffer_callback(look, {"y": laminax.ShapeDtypeStruct((), np.float32)}))
    assert call(jnp.ones((2, 3)), second=(np.int32(4), np.float32([1, 2])))["y"] == 13
    assert seen == [[True, True, {True}, True, False, (2, 3), np.int32, 1]]


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"])
def test_vmap(method):
    def scale(context, out, x, factor):
        np.asarray(out)[...] = np.asarray(x) * np.asarray(factor)[..., None]

    def f(x, factor):
        return buffer_callback(scale, like(x), vmap_method=method)(x, factor)

    x, factor = np.float32([[1, 2], [3, 4], [5, 6]]), np.float32(3)
    np.testing.assert_array_equal(laminax.vmap(f, in_axes=(0, None))(x, factor), x * 3)


def test_effects_and_aliases():
    x, calls = jnp.arange(3.0), []

    def note(context, out):
        calls.append(len(out))

    laminax.jit(lambda: buffer_callback(note, (), has_side_effect=True)())()
    laminax.effects_barrier()
    assert calls == [0]
    text = laminax.jit(buffer_callback(add_one, like(x), input_output_aliases={0: 0})).lower(x).as_text()
    assert "operand_index = 0" in text
    np.testing.assert_array_equal(buffer_callback(add_one, like(x), input_output_aliases={0: 0})(x), [1, 2, 3])
    np.testing.assert_array_equal(x, [0, 1, 2])


def test_refusals():
    x = jnp.ones(3)
    call = buffer_callback(add_one, like(x))
    with pytest.raises(ValueError, match="Buffer callbacks do not support JVP.*add_one"):
        laminax.grad(lambda x: call(x).sum())(x)
    with pytest.raises(NotImplementedError, match="vmap_method"):
        laminax.vmap(call)(x)
    with pytest.raises(ValueError, match="buffer_callback: vmap_method must be one of"):
        buffer_callback(add_one, like(x), vmap_method="all")
    with pytest.raises(ValueError, match="buffer_callback: input_output_aliases.*output index 1 outside"):
        buffer_callback(add_one, like(x), input_output_aliases={0: 1})(x)
    with pytest.raises(TypeError, match="buffer_callback: the callback must be callable"):
        buffer_callback(3, like(x))(x)
    with pytest.raises(laminax.errors.JaxRuntimeError, match="must not return any values"):
        laminax.block_until_ready(buffer_callback(lambda context, out, x: x, like(x))(x))
