"""Derivatives and batching of shape operations, against differences, inner products and loops."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops import elementwise
from laminax_ir.ops import shape as ops
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_transforms import jvp, vjp, vmap

X, Y = (2, 1, 3), (2, 4, 3)
OPERATIONS = {
    "broadcast_in_dim": (lambda x: ops.broadcast_in_dim(x, (5, 2, 4, 1, 3), (1, 2, 4)), [X]),
    "broadcast_in_dim of a scalar": (lambda x: ops.broadcast_in_dim(x, (2, 3), ()), [()]),
    "broadcast to an empty shape": (lambda x: ops.broadcast_in_dim(x, (0, 2, 4, 3), (1, 2, 3)), [X]),
    "reshape": (lambda x: ops.reshape(x, (3, 2)), [X]),
    "reshape in another order": (lambda x: ops.reshape(x, (6, 4), (2, 0, 1)), [Y]),
    "transpose": (lambda x: ops.transpose(x, (2, 0, 1)), [Y]),
    "squeeze": (lambda x: ops.squeeze(x, (1,)), [X]),
    "expand_dims": (lambda x: ops.expand_dims(x, (0, -1)), [X]),
    "concatenate": (lambda x, y: ops.concatenate([x, y, x], 1), [X, Y]),
    "pad": (lambda x, v: ops.pad(x, v, ((1, 2, 3), (-1, 0, 0), (0, -1, 2))), [Y, ()]),
    "pad of an empty array": (lambda x, v: ops.pad(x, v, ((1, 2, 3),)), [(0,), ()]),
    "rev": (lambda x: ops.rev(x, (0, 2)), [Y]),
    "split": (lambda x: ops.split(x, (1, 3), 1)[1], [Y]),
    "tile": (lambda x: ops.tile(x, (2, 1, 3)), [Y]),
    "collapse": (lambda x: ops.collapse(x, 1), [Y]),
}


def values(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=s) for s in shapes]


@pytest.mark.parametrize("name", OPERATIONS)
def test_derivatives(name):
    fun, shapes = OPERATIONS[name]
    check_derivatives(lambda *xs: elementwise.sin(fun(*xs)), *values(shapes))


@pytest.mark.parametrize("name", ["broadcast_in_dim", "concatenate", "pad"])
def test_derivatives_of_complex_arrays(name):
    fun, shapes = OPERATIONS[name]
    check_derivatives(lambda *xs: elementwise.sin(fun(*xs)), *(x + 1j * y for x, y in zip(values(shapes), values(shapes, 1))))


@pytest.mark.parametrize("dtype", ["float16", ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", OPERATIONS)
def test_cotangents_have_the_dtype_of_their_operand(name, dtype):
    fun, shapes = OPERATIONS[name]
    args = [np.ones(s, dtype) for s in shapes]
    y, pullback = vjp(fun, *args)
    cts = pullback(np.ones(np.shape(y), dtype))
    assert [(c.dtype, c.shape) for c in cts] == [(x.dtype, x.shape) for x in args]
    # Each result element is a copy of one operand element, so the cotangents of ones add up to their number.
    assert sum(c.astype(np.float32).sum() for c in cts) == np.size(y)


@pytest.mark.parametrize("name", OPERATIONS)
def test_vmap_is_the_loop(name):
    fun, shapes = OPERATIONS[name]
    choices = [[None, 0, len(s)] for s in shapes]
    combinations = [(a,) for a in choices[0][1:]] if len(shapes) == 1 else \
        [(a, b) for a in choices[0] for b in choices[1] if not a is b is None]
    for axes in combinations:
        args = [x if a is None else np.stack([x, x + 1, 2 * x], a).astype(np.float32)
                for x, a in zip((v.astype(np.float32) for v in values(shapes)), axes)]
        check_vmap(fun, args, axes)


@pytest.mark.parametrize("name", OPERATIONS)
def test_vmap_of_a_pullback_is_the_loop(name):
    fun, shapes = OPERATIONS[name]
    args = [x.astype(np.float32) for x in values(shapes)]
    result = np.asarray(fun(*args))

    def pulled_back(*xs):
        return list(vjp(fun, *xs[:-1])[1](xs[-1]))

    args = [np.stack([x, x + 1]) for x in [*args, result]]
    check_vmap(pulled_back, args, (0,) * len(args))


def test_split_differentiates_through_one_piece():
    x = np.arange(4, dtype=np.float32)
    pieces, pullback = vjp(lambda x: ops.split(x, (1, 3)), x)
    np.testing.assert_array_equal(pullback([np.float32([5]), np.float32([1, 2, 3])])[0], [5, 1, 2, 3])
    _, pullback = vjp(lambda x: ops.split(x, (1, 3))[1], x)
    np.testing.assert_array_equal(pullback(np.float32([1, 2, 3]))[0], [0, 1, 2, 3])


def test_concatenate_with_a_constant_operand():
    x, c = np.float32([1, 2]), np.float32([7, 8, 9])
    _, pullback = vjp(lambda x: ops.concatenate([c, x, c], 0), x)
    np.testing.assert_array_equal(pullback(np.arange(8, dtype=np.float32))[0], [3, 4])


def test_integers_pass_through_differentiation():
    def fun(x):
        return ops.reshape(x, (2, 1)), ops.concatenate([np.int32([1]), np.int32([2])], 0)
    (y, i), (y_dot, _) = jvp(fun, (np.float32([1, 2]),), (np.float32([3, 4]),))
    np.testing.assert_array_equal(y_dot, [[3], [4]])
    np.testing.assert_array_equal(i, [1, 2])


@settings(max_examples=25)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple), st.data())
def test_vmap_over_any_axis(shape, data):
    rank = len(shape)
    axis = data.draw(st.integers(0, rank))
    order = tuple(data.draw(st.permutations(range(rank))))
    dims = tuple(sorted(data.draw(st.permutations(range(rank + 2)))[:rank]))
    others = iter((2, 3))
    target = tuple(shape[dims.index(i)] if i in dims else next(others) for i in range(rank + 2))
    x = np.random.default_rng(0).normal(size=(*shape[:axis], 2, *shape[axis:])).astype(np.float32)
    out_axis = data.draw(st.integers(0, 1))
    for fun in (lambda x: ops.transpose(x, order), lambda x: ops.broadcast_in_dim(x, target, dims), lambda x: ops.rev(x, order[:1]),
                lambda x: ops.reshape(x, (x.size, 1), order), lambda x: ops.pad(x, 0., ((1, 0, 1),) * rank),
                lambda x: ops.concatenate([x, x], order[0])):
        check_vmap(fun, [x], [axis], out_axis)


def test_batched_broadcast_moves_no_axis():
    """The batch axis keeps its place, so that a broadcast stays one operation."""
    jaxpr = stage(lambda x: [vmap(lambda x: ops.broadcast_in_dim(x, (5, 2, 3), (1, 2)), in_axes=1, out_axes=2)(x)],
                  [ShapedArray((2, 4, 3), np.float32)])
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["broadcast_in_dim"]
