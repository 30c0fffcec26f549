"""Runs lowered programs with jaxlib's own client: the oracle for what the text means to XLA.

It stands on jaxlib alone, since the lowering layer's tests may not use the runtime layer.
"""

from __future__ import annotations

import functools
import sys

import numpy as np
from jaxlib import _hlo, _jax

from laminax_ir.avals import get_aval
from laminax_ir.jaxpr import ClosedJaxpr
from laminax_ir.keys import physical_aval
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.staging import stage
from laminax_lowering import lower


sys.modules.setdefault("jax", None)  # jaxlib imports it where it is installed, and it would set the states below its own way
# jaxlib reads these states at the first transfer, and they must be there. With x64 it leaves 64-bit values alone.
_x64 = _jax.config.Config("enable_x64", True, include_in_jit_key=True, include_in_trace_context=True)
_no_jit = _jax.config.Config("disable_jit", False, include_in_jit_key=True, include_in_trace_context=True)
_post_hook = _jax.config.Config("post_hook", None)


@functools.cache
def _device():
    _jax.jax_jit.set_enable_x64_state(_x64)
    _jax.jax_jit.set_disable_jit_state(_no_jit)
    _jax.jax_jit.set_post_hook_state(_post_hook)
    if not hasattr(_jax.SingleDeviceSharding, "_to_xla_hlo_sharding"):  # asked for by jaxlib 0.10.2
        _jax.SingleDeviceSharding._to_xla_hlo_sharding = lambda self, ndim: _hlo.HloSharding.replicate()
    return _jax.get_tfrt_cpu_client(asynchronous=False).devices()[0]


def compile_text(text: str):
    """The loaded executable of a StableHLO module, for one CPU device."""
    device = _device()
    options = _jax.CompileOptions()
    assignment = _jax.DeviceAssignment.create(np.array([[device.id]], np.int32))
    options.device_assignment = options.executable_build_options.device_assignment = assignment
    return device.client.compile_and_load(text, _jax.DeviceList((device,)), options)


def run(closed: ClosedJaxpr, *args) -> list[np.ndarray]:
    """Lowers, compiles and runs a program; takes and returns NumPy arrays, of keys their words."""
    module = lower(closed, keep_unused=True)
    executable = compile_text(module.text)
    device = _device()
    sharding = _jax.SingleDeviceSharding(device)
    avals = [*(v.aval for v in closed.jaxpr.constvars), *closed.in_avals]
    inputs = []
    for x, aval in zip([*closed.consts, *args], map(physical_aval, avals), strict=True):
        inputs.append(_jax.batched_device_put(aval, sharding, [np.asarray(x, aval.dtype)], [device]))
    results = executable.execute_sharded(inputs).disassemble_into_single_device_arrays()
    return [_to_numpy(shards[0], physical_aval(aval)) for shards, aval in zip(results, closed.out_avals)]


def _to_numpy(x, aval) -> np.ndarray:
    array = x._single_device_array_to_np_array_did_copy()[0]
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
