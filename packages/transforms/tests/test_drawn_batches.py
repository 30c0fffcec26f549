"""`vmap` of every operation, and of its gradient, against a loop, over drawn shapes, axes and all floating dtypes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from drawn_cases import CASES, FIRST_ORDER, FORWARD_ONLY, REVERSE_ONLY, over_shapes
from numeric_checks import check_vmap

from laminax_ir.ops.elementwise import real
from laminax_ir.ops.reduction import reduce_sum
from laminax_transforms import grad, jvp, vmap

EVERY = {**CASES, **FIRST_ORDER, **FORWARD_ONLY, **REVERSE_ONLY}
DTYPES = [pytest.param(name, dtype, id=f"{name} {dtype}") for name, case in EVERY.items() for dtype in case.dtypes]


def batches(case, size, dtype):
    """The arguments of two examples along a new axis each, which is another one for each argument and shape; and these axes."""
    pairs = list(zip(case.arguments(size, dtype), case.arguments(size, dtype, seed=1)))
    in_axes = [(sum(size) + i) % (first.ndim + 1) for i, (first, _) in enumerate(pairs)]
    return [np.stack(pair, axis) for pair, axis in zip(pairs, in_axes)], in_axes


@pytest.mark.parametrize("name, dtype", DTYPES)
def test_vmap(name, dtype):
    case = EVERY[name]
    # Sums in another order, and factorizations of another layout, differ in the last places.
    tolerance = case.rtol * float(ml_dtypes.finfo(dtype).eps)

    def check(size):
        arguments, in_axes = batches(case, size, dtype)
        check_vmap(case.fun, arguments, in_axes, rtol=tolerance, atol=tolerance)
        for only in range(len(arguments) if len(arguments) > 1 else 0):  # the others are shared by all examples
            shared = [x if i == only else np.take(x, 0, axis) for i, (x, axis) in enumerate(zip(arguments, in_axes))]
            check_vmap(case.fun, shared, [axis if i == only else None for i, axis in enumerate(in_axes)], rtol=tolerance, atol=tolerance)

    over_shapes(check)


@pytest.mark.parametrize("name, dtype", DTYPES)
def test_vmap_of_derivatives(name, dtype):
    """Of the gradient with respect to all arguments; of the tangent where there is no gradient."""
    case = EVERY[name]
    tolerance = case.rtol * float(ml_dtypes.finfo(dtype).eps)

    def derivative(*xs):
        if not case.reverse:
            return jvp(case.fun, xs, xs)[1]
        return grad(total, tuple(range(len(xs))))(*xs)

    def total(*xs):
        result = case.fun(*xs)
        result = reduce_sum(result, tuple(range(len(result.shape))))
        return real(result) if np.dtype(result.dtype).kind == "c" else result

    def check(size):
        arguments, in_axes = batches(case, size, dtype)
        check_vmap(derivative, arguments, in_axes, rtol=tolerance, atol=tolerance)
        if len(arguments) > 1:
            check_vmap(derivative, [arguments[0], *(np.take(x, 1, axis) for x, axis in zip(arguments[1:], in_axes[1:]))],
                       [in_axes[0], *(None for _ in in_axes[1:])], rtol=tolerance, atol=tolerance)

    over_shapes(check)


def test_vmap_may_put_the_batch_axis_anywhere():
    case = EVERY["elementwise: mul"]
    arguments = case.arguments((2, 3), np.dtype(np.float32))
    for out_axis in (0, 1, -1):
        result = vmap(case.fun, in_axes=1, out_axes=out_axis)(*arguments)
        np.testing.assert_array_equal(result, np.moveaxis((arguments[0] * arguments[1]).T, 0, out_axis))
