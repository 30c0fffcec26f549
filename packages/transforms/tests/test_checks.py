"""Checks under transformations: the primal is checked, and a batch shows what its first failing example has."""

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.checks import FailedCheckError, check
from laminax_ir.ops.slicing import index_in_dim
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray
from laminax_transforms import grad, jvp, vmap


def squared_if_positive(x):
    check(op.gt(x, np.float32(0)), "{} is not positive", x)
    return x * x


def test_derivatives_check_the_primal():
    for derivative in (grad(squared_if_positive), lambda x: jvp(squared_if_positive, (x,), (np.float32(1),))[1]):
        assert derivative(np.float32(3)) == 6
        with pytest.raises(FailedCheckError, match="-3.0 is not positive"):
            derivative(np.float32(-3))


@pytest.mark.parametrize("axis", [0, 1])
def test_a_batch_shows_its_first_failure(axis):
    def row_sum(row, other):
        first = index_in_dim(row, 0, keepdims=False)
        check(op.lt(first, other), "{} is not below {}", row, other)
        return first

    rows = np.array([[1, 2], [5, 6], [7, 8]], np.float32)
    mapped = lambda x, y: [vmap(row_sum, in_axes=(axis, None))(x, y)]  # noqa: E731
    given = rows if axis == 0 else rows.T
    closed = stage(mapped, [ShapedArray(given.shape, np.float32), ShapedArray((), np.float32)])
    np.testing.assert_array_equal(evaluate(closed, given, np.float32(9))[0], [1, 5, 7])
    with pytest.raises(FailedCheckError) as caught:
        evaluate(closed, given, np.float32(5))
    assert str(caught.value) == "[5. 6.] is not below 5.0 (`check` failed)"


def test_what_is_checked_need_not_be_mapped():
    def f(x, limit):
        check(op.lt(limit, np.float32(2)), "{} of {}", limit, x)
        return x

    with pytest.raises(FailedCheckError, match="3.0 of 1.0"):
        vmap(f, in_axes=(0, None))(np.array([1, 2], np.float32), np.float32(3))
