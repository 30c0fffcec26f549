"""Batches of block-scaled products."""

import itertools

import numpy as np
import pytest
from numeric_checks import check_vmap

from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.scaled_dot import scaled_dot
from laminax_transforms import grad


@pytest.mark.parametrize("axes", [axes for axes in itertools.product([None, 0, 2], repeat=3) if any(a is not None for a in axes)])
def test_vmap(axes):
    rng = np.random.default_rng(0)
    args = [rng.normal(size=shape).astype(np.float32) for shape in ((2, 4), (4, 3), (2, 2))]
    args = [x if a is None else np.moveaxis(np.stack([x, x + 1, -x]), 0, a) for x, a in zip(args, axes)]
    check_vmap(lambda x, y, s: scaled_dot(x, y, lhs_scale=s, preferred_element_type=np.float32), args, list(axes))


def test_there_is_no_derivative():
    x = np.ones((2, 2), np.float32)
    with pytest.raises(NotImplementedError, match="Differentiation rule for 'scaled_dot' not implemented"):
        grad(lambda a: reduce_sum(scaled_dot(a, x, preferred_element_type=np.float32), (0, 1)))(x)
