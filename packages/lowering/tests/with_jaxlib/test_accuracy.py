"""The accuracy of elementwise functions as XLA reads it: it compiles what it can do, and refuses what it cannot."""

import numpy as np
import pytest
from stablehlo_runner import check

from laminax_ir.ops import elementwise as op
from laminax_ir.recording.staging import stage
from laminax_ir.types.accuracy import AccuracyMode, Tolerance
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower

FUNCTIONS = (op.exp, op.exp2, op.expm1, op.log, op.log1p, op.sin, op.cos, op.tan, op.tanh, op.sqrt, op.rsqrt, op.cbrt, op.logistic)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("accuracy", [AccuracyMode.HIGHEST, AccuracyMode.DEFAULT, Tolerance(1e-5, 1e-3), Tolerance(ulps=3)], ids=str)
def test_functions_compile_with_an_accuracy(function, accuracy):
    x = np.array([0.25, 0.5, 0.75], np.float32)
    check(lambda x: [function(x, accuracy=accuracy)], x, rtol=1e-5)  # XLA's polynomials for float32


def test_text():
    def text(accuracy):
        return lower(stage(lambda x: [op.log(x, accuracy=accuracy)], [ShapedArray((), np.float32)])).text

    assert "result_accuracy" not in text(None)
    assert '{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}' in text(AccuracyMode.HIGHEST)
    assert ("rtol = 2.50000000000000000e-01, ulps = 7, mode = #stablehlo.result_accuracy_mode<TOLERANCE>"
            in text(Tolerance(rtol=0.25, ulps=7)))
