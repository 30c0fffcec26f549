"""Derivatives and batches of approximate selection."""

import numpy as np
import pytest
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops.sorting import approx_max_k, approx_min_k


@pytest.mark.parametrize("find", [approx_max_k, approx_min_k])
@pytest.mark.parametrize("axis", [0, 1])
def test_derivatives_and_batches(find, axis):
    x = np.random.default_rng(0).permutation(12).reshape(3, 4) / 2
    check_derivatives(lambda x: find(x, 2, axis)[0] ** 2, x)
    check_vmap(lambda x: list(find(x, 2)), [x.astype(np.float32)], [axis])
    check_vmap(lambda x: find(x, 2, 0)[1], [np.stack([x, -x], axis).astype(np.float32)], [axis])
