"""Picking from windows through XLA against the reference."""

import numpy as np
import pytest
from stablehlo_runner import check

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.windows import select_and_scatter


@pytest.mark.parametrize("select, scatter, init",
                         [(op.ge, op.add, 0.0), (op.lt, op.max, -9.0), (op.ge, lambda a, b: op.add(op.mul(a, 1.0), b), 2.0)])
def test_select_and_scatter(select, scatter, init):
    rng = np.random.default_rng(0)
    x, source = rng.permutation(20).reshape(4, 5).astype(np.float32), rng.integers(-3, 4, size=(4, 3)).astype(np.float32)
    check(lambda x, s: [select_and_scatter(x, select, (2, 3), (1, 2), ((1, 0), (0, 2)), s, np.float32(init), scatter)], x, source)
