"""Functions with an accuracy have the derivatives and batches of those without."""

import numpy as np
import pytest
from numeric_checks import check_derivatives, check_vmap

from laminax_ir.ops import elementwise as op
from laminax_ir.types.accuracy import Tolerance

FUNCTIONS = (op.exp, op.exp2, op.expm1, op.log, op.log1p, op.sin, op.cos, op.tan, op.tanh, op.sqrt, op.rsqrt, op.cbrt, op.logistic)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_derivatives_and_batches(function):
    x = np.array([0.25, 0.5, 0.75])
    check_derivatives(lambda x: function(x, accuracy=Tolerance(rtol=1e-3)), x)
    check_vmap(lambda x: function(x, accuracy=Tolerance(rtol=1e-3)), [x], [0])
