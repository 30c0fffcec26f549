"""Runs lowered programs with jaxlib: the oracle for what the text means to XLA.

It stands on jaxlib alone, in a process of its own (`stablehlo_worker`), since the lowering layer's tests may not use the
runtime layer.
"""

from __future__ import annotations

import functools
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np

from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import get_aval
from laminax_lowering import lower


@functools.cache
def _worker() -> subprocess.Popen:
    script = Path(__file__).with_name("stablehlo_worker.py")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)


def run_text(text: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The results of a module for one CPU device.

    Raises:
      RuntimeError: with XLA's message, if it cannot be compiled or run.
    """
    return _ask(text, inputs)


def verify_text(text: str) -> None:
    """Has jaxlib's MLIR parse and verify a module, for whichever platform, and XLA read it.

    Raises:
      RuntimeError: with their message.
    """
    _ask(text, None)


def _ask(text: str, inputs: list[np.ndarray] | None) -> list[np.ndarray]:
    worker = _worker()
    pickle.dump((text, inputs), worker.stdin)
    worker.stdin.flush()
    succeeded, result = pickle.load(worker.stdout)
    if not succeeded:
        raise RuntimeError(result)
    return result


def run(closed: ClosedJaxpr, *args) -> list[np.ndarray]:
    """Lowers, compiles and runs a program; takes and returns NumPy arrays, of keys their words."""
    module = lower(closed, keep_unused=True)
    avals = [*(v.aval for v in closed.jaxpr.constvars), *closed.in_avals]
    inputs = [np.asarray(x, aval.dtype) for x, aval in zip([*closed.consts, *args], map(physical_aval, avals), strict=True)]
    results = run_text(module.text, inputs)
    return [_typed(x, physical_aval(aval)) for x, aval in zip(results, closed.out_avals, strict=True)]


def _typed(array: np.ndarray, aval) -> np.ndarray:
    assert array.shape == aval.shape, (array.shape, aval)
    return array if array.dtype == aval.dtype else array.view(aval.dtype)


def check(fun, *args, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Compares a program run by XLA with its meaning, the reference evaluator's results.

    Args:
      fun: takes arrays and returns a list of arrays.
      *args: NumPy arrays.
      rtol, atol: tolerances; by default the results must be equal, NaN in the same places.
    """
    closed = stage(fun, [get_aval(np.asarray(x)) for x in args])
    for result, expected in zip(run(closed, *args), evaluate(closed, *args), strict=True):
        assert result.dtype == expected.dtype and result.shape == expected.shape
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        np.testing.assert_allclose(result.astype(wide), expected.astype(wide), rtol=rtol, atol=atol)
