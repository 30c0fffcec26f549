"""Derivatives and batching of sorting operations, against differences, inner products and loops."""

import numpy as np
import pytest
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops import elementwise
from laminax_ir.ops import sorting as ops
from laminax_transforms import jvp, vjp

# Distinct values, far enough apart that a central difference does not change the order.
X = np.random.default_rng(0).permutation(24).reshape(2, 3, 4) / 4.0
Y = np.random.default_rng(1).normal(size=X.shape)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_derivatives(axis):
    check_derivatives(lambda x: elementwise.sin(ops.sort(x, axis)), X)
    check_derivatives(lambda x, y: elementwise.mul(*ops.sort((x, elementwise.sin(y)), axis)), X, Y)
    check_derivatives(lambda x: elementwise.sin(ops.top_k(x, 2, axis=axis)[0]), X)


def test_derivative_of_values_sorted_by_constant_or_integer_keys():
    keys = np.int32([3, 1, 2])
    check_derivatives(lambda y: elementwise.sin(ops.sort_key_val(keys, y)[1]), np.array([1., 2, 3]))


def test_ties_keep_their_order():
    _, pullback = vjp(ops.sort, np.float32([1, 0, 1]))
    np.testing.assert_array_equal(pullback(np.float32([1, 2, 3]))[0], [2, 1, 3])
    _, pullback = vjp(lambda x: ops.top_k(x, 1)[0], np.float32([0, 1, 1]))
    np.testing.assert_array_equal(pullback(np.float32([5]))[0], [0, 5, 0])


def test_indices_have_no_tangent():
    (values, indices), (values_dot, _) = jvp(lambda x: tuple(ops.top_k(x, 2)), (np.float32([1, 3, 2]),), (np.float32([5, 6, 7]),))
    np.testing.assert_array_equal(indices, [1, 2])
    np.testing.assert_array_equal(values_dot, [6, 7])


def test_empty_arrays():
    check_derivatives(lambda x: ops.sort(x, 0), np.zeros((0, 3)))
    check_derivatives(lambda x: ops.top_k(x, 0)[0], np.zeros((2, 3)))


@pytest.mark.parametrize("axes", [(0, 0), (3, 1), (0, None), (None, 2)])
@pytest.mark.parametrize("dimension", [0, 1, 2])
def test_vmap_is_the_loop(axes, dimension):
    args = [x.astype(np.float32) if a is None else np.stack([x, -x], a).astype(np.float32) for x, a in zip((X, Y), axes)]
    check_vmap(lambda x, y: ops.sort((x, y), dimension, num_keys=2), args, axes)
    if axes[0] is not None:
        check_vmap(lambda x: ops.top_k(x, 2, axis=dimension), args[:1], axes[:1])
        check_vmap(lambda x: vjp(lambda x: ops.sort(x, dimension), x)[1](x)[0], args[:1], axes[:1])
