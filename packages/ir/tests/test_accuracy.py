"""What a function's `accuracy` may be, and where it stands in a program. Oracle: NumPy."""

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.recording.staging import stage
from laminax_ir.types.accuracy import AccuracyMode, Tolerance
from laminax_ir.types.avals import ShapedArray

X = np.array([0.25, 0.5, 0.75], np.float32)
FUNCTIONS = [(op.exp, np.exp), (op.exp2, np.exp2), (op.expm1, np.expm1), (op.log, np.log), (op.log1p, np.log1p), (op.sin, np.sin),
             (op.cos, np.cos), (op.tan, np.tan), (op.tanh, np.tanh), (op.sqrt, np.sqrt), (op.cbrt, np.cbrt),
             (op.rsqrt, lambda x: 1 / np.sqrt(x)), (op.logistic, lambda x: 1 / (1 + np.exp(-x)))]


@pytest.mark.parametrize("function, expected", FUNCTIONS, ids=lambda f: getattr(f, "__name__", ""))
def test_the_accuracy_is_a_parameter_and_changes_no_value(function, expected):
    for accuracy in (None, AccuracyMode.HIGHEST, AccuracyMode.DEFAULT, Tolerance(atol=1e-3), Tolerance(ulps=2)):
        np.testing.assert_allclose(function(X, accuracy=accuracy), expected(X), rtol=1e-6)
        (eqn,) = stage(lambda x: [function(x, accuracy=accuracy)], [ShapedArray((3,), np.float32)]).eqns
        assert eqn.params == ({} if accuracy is None else {"accuracy": accuracy})


def test_equal_tolerances_are_one_parameter():
    assert Tolerance(1e-3, ulps=2) == Tolerance(atol=1e-3, rtol=0.0, ulps=2) != Tolerance(1e-3)
    assert hash(Tolerance(1e-3)) == hash(Tolerance(1e-3))
    text = str(stage(lambda x: [op.sin(x, accuracy=Tolerance(ulps=2))], [ShapedArray((), np.float32)]))
    assert "sin[accuracy=Tolerance(atol=0.0, rtol=0.0, ulps=2)] a" in text


@pytest.mark.parametrize("call, error, message", [
    (lambda: Tolerance(atol=-1.0), ValueError, r"tolerances must be non-negative, got Tolerance\(atol=-1.0"),
    (lambda: Tolerance(ulps=-1), ValueError, "non-negative"),
    (lambda: op.sin(X, accuracy="highest"), TypeError, "sin: accuracy must be None, a Tolerance or an AccuracyMode, got 'highest'"),
    (lambda: op.sin(X, AccuracyMode.HIGHEST), TypeError, "positional"),
])
def test_other_accuracies_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
