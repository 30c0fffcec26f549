"""Stacking: derivatives against differences, vmap against a loop."""

import itertools

import numpy as np
import pytest
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops.stacking import stack, unstack


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_derivatives(axis):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 2, 3))
    check_derivatives(lambda x, y: stack([x, y * x, np.ones((2, 3))], axis), x, y)
    if axis < 2:
        check_derivatives(lambda x: unstack(x, axis)[1] ** 2, x)


@pytest.mark.parametrize("axis, x_axis, y_axis", list(itertools.product([0, 1, 2], [0, 1, 2], [None, 0, 2])))
def test_vmap(axis, x_axis, y_axis):
    rng = np.random.default_rng(0)
    x = np.moveaxis(rng.normal(size=(4, 2, 3)).astype("float32"), 0, x_axis)
    y = rng.normal(size=(2, 3)).astype("float32")
    if y_axis is not None:
        y = np.moveaxis(np.stack([y, y + 1, y + 2, y + 3]), 0, y_axis)
    check_vmap(lambda x, y: stack([x, y], axis), [x, y], [x_axis, y_axis])
    if axis < 2:
        check_vmap(lambda x: unstack(x, axis)[1], [x], [x_axis])
