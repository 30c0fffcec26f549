"""Compiles and runs StableHLO text with raw jaxlib, in a process of its own.

jaxlib has settings that can be made once per process, and the runtime layer makes them its own way; so the lowering's tests,
which stand on jaxlib alone, keep it out of the process that pytest runs in. Requests and replies are pickles on the standard
streams: `(text, inputs)`, then `(True, outputs)` or `(False, message)`. NumPy arrays on both sides. Without inputs (None), the
module is only verified, and the outputs are none.
"""

from __future__ import annotations

import pickle
import sys

sys.modules.setdefault("jax", None)  # jaxlib imports it where it is installed, and it would make the settings

import ml_dtypes  # noqa: E402, F401  (arrays of its types are unpickled here)
import numpy as np  # noqa: E402
from jaxlib import _hlo, _jax  # noqa: E402
from jaxlib.cpu import _lapack  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402
from jaxlib.mlir._mlir_libs import _chlo, _jax_mlir_ext, _sdy, _stablehlo  # noqa: E402

# jaxlib reads these states at the first transfer, and they must be there. With x64 it leaves 64-bit values alone.
_x64 = _jax.config.Config("enable_x64", True, include_in_jit_key=True, include_in_trace_context=True)
_no_jit = _jax.config.Config("disable_jit", False, include_in_jit_key=True, include_in_trace_context=True)
_post_hook = _jax.config.Config("post_hook", None)


def prepare() -> None:
    """Hands jaxlib its settings, and XLA the LAPACK kernels."""
    _jax.jax_jit.set_enable_x64_state(_x64)
    _jax.jax_jit.set_disable_jit_state(_no_jit)
    _jax.jax_jit.set_post_hook_state(_post_hook)
    if not hasattr(_jax.SingleDeviceSharding, "_to_xla_hlo_sharding"):  # asked for by jaxlib 0.10.2
        _jax.SingleDeviceSharding._to_xla_hlo_sharding = lambda self, ndim: _hlo.HloSharding.replicate()
    _lapack.initialize()
    for name, target in _lapack.registrations().items():
        _jax.register_custom_call_target(name, target, platform="cpu", api_version=1 if name.endswith("_ffi") else 0)


class _Aval:
    """As much of an aval as jaxlib asks for."""

    weak_type = False

    def __init__(self, array: np.ndarray):
        self.shape, self.dtype = array.shape, array.dtype


def run(device, text: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Compiles a module for one device and runs it."""
    options = _jax.CompileOptions()
    assignment = _jax.DeviceAssignment.create(np.array([[device.id]], np.int32))
    options.device_assignment = options.executable_build_options.device_assignment = assignment
    executable = device.client.compile_and_load(text, _jax.DeviceList((device,)), options)
    sharding = _jax.SingleDeviceSharding(device)
    placed = [_jax.batched_device_put(_Aval(x), sharding, [x], [device]) for x in inputs]
    results = executable.execute_sharded(placed).disassemble_into_single_device_arrays()
    return [np.array(shards[0]._single_device_array_to_np_array_did_copy()[0]) for shards in results]


def verify(text: str) -> None:
    """Parses a module, verifies it, and translates it into XLA's own representation, which checks shapes anew."""
    context = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    for dialect in (_stablehlo, _chlo, _sdy):
        dialect.register_dialect(context)
    with context:
        if not ir.Module.parse(text).operation.verify():
            raise ValueError("MLIR's verifier refuses the module")
    _jax.mlir.mlir_module_to_xla_computation(text, False, False)


def main() -> None:
    prepare()
    device = _jax.get_tfrt_cpu_client(asynchronous=False).devices()[0]
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            text, inputs = pickle.load(requests)
        except EOFError:
            return
        try:
            if inputs is None:
                verify(text)
            reply = True, [] if inputs is None else run(device, text, inputs)
        except Exception as error:
            reply = False, f"{type(error).__name__}: {error}"
        pickle.dump(reply, replies)
        replies.flush()


if __name__ == "__main__":
    main()
