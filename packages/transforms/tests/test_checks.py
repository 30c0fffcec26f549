"""Checks under transformations: what holds is checked of the primal, and of a batch once."""

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.checks import FailedCheckError, check, check_p
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_transforms import grad, jvp, vmap


def positive_square(x):
    check(op.gt(x, np.float32(0)), "{} is not positive", x)
    return op.mul(x, x)


def test_the_primal_is_checked_where_something_is_differentiated():
    assert jvp(positive_square, (np.float32(3),), (np.float32(1),)) == (9, 6) and grad(positive_square)(np.float32(3)) == 6
    with pytest.raises(FailedCheckError, match="^-3.0 is not positive"):
        jvp(positive_square, (np.float32(-3),), (np.float32(1),))
    with pytest.raises(FailedCheckError, match="^-3.0 is not positive"):
        grad(positive_square)(np.float32(-3))


def test_a_batch_is_checked_once_and_shows_its_first_failure():
    np.testing.assert_array_equal(vmap(positive_square)(np.float32([1, 2, 3])), [1, 4, 9])
    with pytest.raises(FailedCheckError, match="^-2.0 is not positive"):
        vmap(positive_square)(np.float32([1, -2, -3]))
    closed = stage(lambda x: [vmap(positive_square)(x)], [ShapedArray((3,), np.float32)])
    assert [eqn.primitive for eqn in closed.eqns].count(check_p) == 1


def test_what_all_examples_share_is_checked_as_it_is():
    def fun(x, y):
        check(op.lt(y, np.float32(5)), "{} is too large", y)
        return op.add(x, y)

    with pytest.raises(FailedCheckError, match="^7.0 is too large"):
        vmap(fun, in_axes=(0, None))(np.float32([1, 2]), np.float32(7))
