"""Hints in StableHLO: nothing is written for them, but for a value that the compiler has to compute."""

import numpy as np
from stablehlo_runner import check, run_text

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.hints import dce_sink
from laminax_ir.ops.hints import stage as staged_value
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower


def test_stage():
    check(lambda x: [staged_value(2.0) * x], np.arange(3, dtype=np.float32))


def test_dce_sink():
    def text(**options):
        def fun(x):
            dce_sink(op.sin(x), **options)
            return [x]
        return lower(stage(fun, [ShapedArray((2,), np.float32)])).text

    assert "dce_sink" not in text().split("#loc")[0]
    kept = text(prevent_mlir_dce=True)
    assert 'call_target_name = "dce_sink"' in kept and "stablehlo.sine" in kept
    assert run_text(kept, [np.ones(2, np.float32)])[0].tolist() == [1, 1]
