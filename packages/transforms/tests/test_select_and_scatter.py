"""Batches of picking from windows."""

import numpy as np
import pytest
from numeric_checks import check_vmap

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.windows import select_and_scatter
from laminax_transforms import vmap

WINDOW = (2, 2), (1, 2), ((0, 0), (0, 0))


@pytest.mark.parametrize("axes", [(0, 0), (2, None), (None, 1)])
def test_vmap(axes):
    rng = np.random.default_rng(0)
    args = [rng.normal(size=shape).astype(np.float32) for shape in ((4, 4), (3, 2))]
    args = [x if a is None else np.moveaxis(np.stack([x, x + 1, -x]), 0, a) for x, a in zip(args, axes)]
    check_vmap(lambda x, s: select_and_scatter(x, op.ge, *WINDOW, s, np.float32(0), op.add), args, list(axes))


def test_the_initial_value_is_not_mapped():
    with pytest.raises(NotImplementedError, match="initial value"):
        vmap(lambda i: select_and_scatter(np.ones((4, 4), np.float32), op.ge, *WINDOW, np.ones((3, 2), np.float32), i, op.add))(
            np.ones(2, np.float32))
