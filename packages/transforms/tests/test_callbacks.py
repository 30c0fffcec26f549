"""Callbacks under transformations, on the reference evaluator."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops.buffer_callbacks import buffer_callback
from laminax_ir.ops.callbacks import debug_callback, debug_print, inspect_sharding, io_callback, pure_callback
from laminax_ir.ops.elementwise import sin
from laminax_ir.ops.loops import scan
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct
from laminax_transforms import checkpoint, custom_jvp, grad, jvp, value_and_grad, vmap

S32 = ShapeDtypeStruct((3,), np.float32)
X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = np.float32([10, 20, 30])


@pytest.mark.parametrize("method, shapes", [
    ("sequential", [((3,), (3,))] * 2),
    ("sequential_unrolled", [((3,), (3,))] * 2),
    ("expand_dims", [((2, 3), (1, 3))]),
    ("broadcast_all", [((2, 3), (2, 3))]),
    ("legacy_vectorized", [((2, 3), (3,))]),
])
@pytest.mark.parametrize("axis", [0, 1])
def test_vmap_methods(method, shapes, axis):
    seen = []

    def add(x, y):
        seen.append((x.shape, y.shape))
        return x + y

    f = vmap(lambda x, y: pure_callback(add, S32, x, y, vmap_method=method), in_axes=(axis, None))
    np.testing.assert_array_equal(f(np.moveaxis(X, 0, axis), Y), X + Y)
    assert seen == shapes


def test_two_batches():
    f = vmap(vmap(lambda x: pure_callback(np.sin, S32, x, vmap_method="expand_dims")))
    np.testing.assert_allclose(f(np.stack([X, 2 * X])), np.sin([X, 2 * X]), rtol=1e-6)


def test_no_vmap_method():
    with pytest.raises(NotImplementedError, match="only supported for the pure_callback primitive when vmap_method is one of"):
        vmap(lambda x: pure_callback(np.sin, S32, x))(X)


def test_differentiation():
    with pytest.raises(ValueError, match="Pure callbacks do not support JVP. Please use `laminax.custom_jvp`"):
        grad(lambda x: pure_callback(np.sin, ShapeDtypeStruct((), np.float32), x))(np.float32(1))
    with pytest.raises(ValueError, match="IO callbacks do not support JVP"):
        jvp(lambda x: io_callback(np.sin, S32, x), (Y,), (Y,))

    @custom_jvp
    def f(x):
        return pure_callback(np.sin, ShapeDtypeStruct((), np.float32), x)

    f.defjvps(lambda t, y, x: t * pure_callback(np.cos, ShapeDtypeStruct((), np.float32), x))
    np.testing.assert_allclose(value_and_grad(f)(np.float32(1)), [np.sin(1), np.cos(1)], rtol=1e-6)


def test_io_callbacks_over_a_batch():
    seen = []
    f = vmap(lambda x: io_callback(lambda x: seen.append(x.shape) or 2 * x, S32, x))
    np.testing.assert_array_equal(f(X), 2 * X)
    assert seen == [(3,), (3,)]
    with pytest.raises(ValueError, match="Cannot `vmap` ordered IO callback"):
        vmap(lambda x: io_callback(lambda x: x, S32, x, ordered=True))(X)


def test_debugging_sees_every_example_once():
    seen = []
    f = vmap(lambda x, y: debug_callback(lambda x, y: seen.append((float(x), float(y))), x, y) or sin(x), in_axes=(0, None))
    f(np.float32([1, 2, 3]), np.float32(5))
    assert seen == [(1, 5), (2, 5), (3, 5)]


@pytest.mark.parametrize("transform", [vmap, lambda f: vmap(vmap(grad(f))), lambda f: lambda x: jvp(f, (x,), (sin(x),))[1]])
def test_inspection_of_a_sharding_is_of_all_examples_and_of_primal_values(transform):
    def f(x):
        inspect_sharding(x, print)
        return sin(x)

    program = stage(lambda x: [transform(f)(x)], [get_aval(X)]).jaxpr
    (inspection,) = [eqn for eqn in program.eqns if eqn.primitive.name == "inspect_sharding"]
    assert inspection.invars == program.invars


def test_debugging_sees_primal_values(capsys):
    def f(x):
        debug_print("x = {}", x)
        return x * x

    assert grad(f)(np.float32(3)) == 6
    assert jvp(f, (np.float32(4),), (np.float32(1),)) == (16, 8)
    assert capsys.readouterr().out == "x = 3.0\nx = 4.0\n"
    assert grad(checkpoint(f))(np.float32(5)) == 10
    assert capsys.readouterr().out == "x = 5.0\nx = 5.0\n"  # a second time with the recomputation
    closed = stage(lambda x: [grad(f)(x)], [get_aval(np.float32(1))])
    assert closed.effects


def test_in_a_scan(capsys):
    def step(c, x):
        debug_print("c = {}", c, ordered=True)
        return c + x, None

    def loss(c):
        return scan(step, c, np.float32([1, 2]))[0]

    assert value_and_grad(loss)(np.float32(1)) == (4, 1)
    assert capsys.readouterr().out == "c = 1.0\nc = 2.0\n"


def test_a_callback_that_the_derivative_needs_in_a_checkpoint():
    def f(x):
        return sin(x) * io_callback(lambda: np.float32(2), ShapeDtypeStruct((), np.float32))

    np.testing.assert_allclose(grad(f)(np.float32(1)), 2 * np.cos(1), rtol=1e-6)
    with pytest.raises(NotImplementedError, match="io_callback has effects .* it would have to run twice"):
        grad(checkpoint(f))(np.float32(1))


def test_callbacks_on_buffers_are_mapped_and_not_differentiated():
    def call(method=None):
        return lambda x: buffer_callback(print, ShapeDtypeStruct((), np.float32), vmap_method=method)(x)

    with pytest.raises(ValueError, match="Buffer callbacks do not support JVP. Please use `laminax.custom_jvp`.*print"):
        jvp(call(), (np.float32(1),), (np.float32(1),))
    closed = stage(lambda x: [vmap(call("broadcast_all"))(x)], [get_aval(np.zeros(3, np.float32))])
    (eqn,) = closed.eqns
    assert eqn.primitive.name == "buffer_callback" and [v.aval.shape for v in (*eqn.invars, *eqn.outvars)] == [(3,), (3,)]
    with pytest.raises(NotImplementedError, match="only supported for the buffer_callback primitive when vmap_method is one of"):
        stage(lambda x: [vmap(call())(x)], [get_aval(np.zeros(3, np.float32))])
