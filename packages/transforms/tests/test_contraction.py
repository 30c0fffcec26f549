"""Contractions: derivatives against differences and the adjoint identity, vmap against a loop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops.contraction import RaggedDotDimensionNumbers, dot, dot_general, ragged_dot, ragged_dot_general
from laminax_transforms import grad, vjp, vmap

f32 = np.float32


@st.composite
def dots(draw):
    """Operand shapes and dimension numbers, axes in any order, sizes 1 to 3."""
    sizes = st.integers(1, 3)
    batch, contracting, lhs_free, rhs_free = (draw(st.lists(sizes, max_size=2)) for _ in range(4))

    def place(*groups):
        labels = [(kind, i, size) for kind, group in groups for i, size in enumerate(group)]
        order = draw(st.permutations(labels))
        where = {(kind, i): axis for axis, (kind, i, _) in enumerate(order)}
        return tuple(size for *_, size in order), where

    lhs_shape, lhs = place(("b", batch), ("k", contracting), ("m", lhs_free))
    rhs_shape, rhs = place(("b", batch), ("k", contracting), ("n", rhs_free))
    axes = lambda where, kind, n: tuple(where[kind, i] for i in range(n))
    return lhs_shape, rhs_shape, ((axes(lhs, "k", len(contracting)), axes(rhs, "k", len(contracting))),
                                  (axes(lhs, "b", len(batch)), axes(rhs, "b", len(batch))))


@settings(max_examples=25)
@given(dots(), st.booleans())
def test_dot_general_derivatives(case, is_complex):
    lhs_shape, rhs_shape, numbers = case
    rng = np.random.default_rng(0)
    draw = lambda s: rng.normal(size=s) + (1j * rng.normal(size=s) if is_complex else 0)
    check_derivatives(lambda x, y: dot_general(x, y, numbers), draw(lhs_shape), draw(rhs_shape))


def test_dot_of_an_array_with_itself():
    check_derivatives(lambda x: dot(dot(x, x), x), np.random.default_rng(0).normal(size=(3, 3)))


@settings(max_examples=40)
@given(dots(), st.data())
def test_dot_general_vmap(case, data):
    lhs_shape, rhs_shape, numbers = case
    rng = np.random.default_rng(0)
    axes, args = [], []
    for shape in (lhs_shape, rhs_shape):
        axis = data.draw(st.none() | st.integers(0, len(shape)))
        axes.append(axis)
        args.append(rng.normal(size=shape if axis is None else (*shape[:axis], 4, *shape[axis:])).astype(f32))
    if axes == [None, None]:
        axes[0], args[0] = 0, np.stack([args[0]] * 4)
    check_vmap(lambda x, y: dot_general(x, y, numbers), args, axes)


def test_cotangents_have_the_dtype_of_their_operands():
    # A float32 result of bfloat16 operands: the cotangent product runs in float32 and is rounded at the end.
    import ml_dtypes
    x, y = np.ones((2, 3), ml_dtypes.bfloat16), np.ones((3, 4), f32)
    result, pullback = vjp(lambda a, b: dot(a, b), x, y)
    x_ct, y_ct = pullback(np.ones_like(result))
    assert (np.asarray(x_ct).dtype, np.asarray(y_ct).dtype) == (ml_dtypes.bfloat16, f32)
    np.testing.assert_array_equal(np.asarray(x_ct, f32), np.full((2, 3), 4))


def test_derivatives_of_a_dot_algorithm_are_computed_by_it():
    x = np.array([1 + 2**-9, 1], f32)  # the first has no bfloat16, and the derivative loses what it loses
    square = lambda algorithm: grad(lambda a: dot(a, a, precision=algorithm))(x)
    assert square("BF16_BF16_F32").tolist() == [2, 2]
    assert square("F32_F32_F32").tolist() == [2 + 2**-8, 2]
    check_vmap(lambda x: dot(x, x, precision="BF16_BF16_F32"), [np.stack([x, x + 1])], [0])


def test_real_operand_of_a_complex_product_gets_a_real_cotangent():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=3).astype(f32), (rng.normal(size=3) + 1j * rng.normal(size=3)).astype(np.complex64)
    (x_ct,) = vjp(lambda a: dot(a, y), x)[1](np.complex64(1 + 2j))
    np.testing.assert_allclose(x_ct, ((1 + 2j) * y).real, rtol=1e-6)


def test_integer_operands_have_no_derivative():
    x = np.array([1.0, 2.0], f32)
    np.testing.assert_allclose(grad(lambda x: dot(x, np.array([3, 4], np.int32)))(x), [3, 4])


def test_per_example_gradients():
    rng = np.random.default_rng(0)
    w, xs = rng.normal(size=(3, 2)).astype(f32), rng.normal(size=(5, 3)).astype(f32)
    loss = lambda w, x: dot(dot(x, w), dot(x, w))
    result = vmap(grad(loss), in_axes=(None, 0))(w, xs)
    np.testing.assert_allclose(result, np.stack([2 * np.outer(x, x @ w) for x in xs]), rtol=1e-4, atol=1e-5)


# Ragged products

group_sizes = np.array([2, 0, 1], np.int32)  # and one row after the last group


def test_ragged_dot_derivatives():
    rng = np.random.default_rng(0)
    check_derivatives(lambda x, y: ragged_dot(x, y, group_sizes), rng.normal(size=(4, 2)), rng.normal(size=(3, 2, 3)))


def test_ragged_contraction_derivatives():
    rng = np.random.default_rng(0)
    numbers = RaggedDotDimensionNumbers((((0,), (1,)), ((), ())), (0,), ())
    check_derivatives(lambda x, y: ragged_dot_general(x, y, group_sizes, numbers), rng.normal(size=(4, 2)), rng.normal(size=(3, 4)))


def test_ragged_dot_with_batch_and_shuffled_axes_derivatives():
    rng = np.random.default_rng(0)
    numbers = RaggedDotDimensionNumbers((((2,), (0,)), ((1,), (1,))), (0,), (3,))
    sizes = np.array([[1, 3], [2, 1]], np.int32)
    check_derivatives(lambda x, y: ragged_dot_general(x, y, sizes, numbers),
                      rng.normal(size=(4, 2, 3)), rng.normal(size=(3, 2, 5, 2)))


@pytest.mark.parametrize("axes", [(0, None, None), (None, 3, None), (1, 0, 1), (None, None, 0), (2, None, 1)])
def test_ragged_dot_vmap(axes):
    rng = np.random.default_rng(0)
    shapes = [(4, 2), (3, 2, 3), (3,)]
    shapes = [s if a is None else (*s[:a], 2, *s[a:]) for s, a in zip(shapes, axes)]
    lhs, rhs = (rng.normal(size=s).astype(f32) for s in shapes[:2])
    sizes = np.broadcast_to(group_sizes[:, None] if axes[2] == 1 else group_sizes, shapes[2]).copy()
    if axes[2] is not None:
        np.moveaxis(sizes, axes[2], 0)[1] = [1, 1, 1]
    check_vmap(ragged_dot, (lhs, rhs, sizes), axes)
    # Twice: the batched product is batched again.
    check_vmap(vmap(ragged_dot, in_axes=axes), [np.stack([x] * 3) for x in (lhs, rhs, sizes)], (0, 0, 0))
