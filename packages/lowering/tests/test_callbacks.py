"""The StableHLO text of callbacks; that they are called is tested by the api."""

from __future__ import annotations

import re

import numpy as np
import pytest

from laminax_ir.ops.callbacks import debug_callback, io_callback, pure_callback
from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.loops import scan, while_loop
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct
from laminax_lowering import lower

F32 = ShapedArray((2, 3), np.float32)


def f(x):
    y = pure_callback(np.sin, ShapeDtypeStruct((), np.float32), x)
    io_callback(print, None, x, ordered=True)
    debug_callback(print, ordered=True)
    return [y]


def test_custom_calls():
    module = lower(stage(f, [F32]))
    assert len(module.convention.host_callbacks) == 3
    assert ('"stablehlo.custom_call"(%arg0) {call_target_name = "xla_ffi_python_cpu_callback", api_version = 4 : i32, '
            'backend_config = {index = 0 : ui64}, has_side_effect = false, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], '
            "result_layouts = [dense<> : tensor<0xindex>]} : (tensor<2x3xf32>) -> tensor<f32>") in module.text
    assert '%2 = "stablehlo.custom_call"(%c0, %arg0)' in module.text  # the token
    assert '%3 = "stablehlo.custom_call"(%2)' in module.text
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    with pytest.raises(ValueError, match=r"expected \(\), got \(2, 3\)"):
        module.convention.host_callbacks[0](x)
    token = np.bool_(False)
    assert module.convention.host_callbacks[2](token) == (token,)


def test_platforms():
    closed = stage(f, [F32])
    for platform in ("cuda", "rocm"):
        assert "xla_ffi_python_gpu_callback" in lower(closed, platform=platform).text


def test_tpus_send_to_the_host_and_receive():
    """The channels in the text are those by which the calling convention names the functions' operands and results."""
    module = lower(stage(f, [F32]), platform="tpu")
    assert "custom_call" not in module.text and not module.convention.host_callbacks and module.convention.needs_this_process
    sends, receives = (re.findall(rf'"stablehlo.{name}".*?handle = (\d+), type = {kind}.*?rendezvous = "(\d+)"', module.text)
                       for name, kind in (("send", 2), ("recv", 3)))
    assert all(handle == rendezvous for handle, rendezvous in sends + receives)
    transfers = module.convention.host_transfers
    assert [int(handle) for handle, _ in sends] == [channel for transfer in transfers for channel in transfer.send_channels]
    assert [int(handle) for handle, _ in receives] == [channel for transfer in transfers for channel in transfer.receive_channels]
    assert len({handle for handle, _ in sends + receives}) == len(sends + receives)
    for transfer in transfers:
        assert len(transfer.send_channels) == len(transfer.operands) and len(transfer.receive_channels) == len(transfer.results) > 0


def test_tpus_receive_no_empty_arrays_and_are_sent_something():
    empty = ShapeDtypeStruct((0, 2), np.float32)

    def g():
        return io_callback(lambda: (np.float32(5), np.zeros((0, 2), np.float32)), (ShapeDtypeStruct((), np.float32), empty))

    module = lower(stage(lambda: list(g()), []), platform="tpu")
    (transfer,) = module.convention.host_transfers
    assert [aval.shape for aval in transfer.operands] == [()] and [aval.shape for aval in transfer.results] == [()]
    assert transfer.function(np.float32(0)) == (np.float32(5),)
    assert "tensor<0x2xf32>" in module.text


def test_of_several_tpus_the_first_calls():
    text = lower(stage(f, [F32]), platform="tpu", num_partitions=4).text
    for line in text.splitlines():
        assert ("@maximal_mesh_0, []>" in line) == ("stablehlo.send" in line or "stablehlo.recv" in line)
    closed = stage(lambda x: debug_callback(print, x, partitioned=True) or [], [F32])
    with pytest.raises(NotImplementedError, match="partitioned=True is not supported on tpu.*Leave partitioned out"):
        lower(closed, platform="tpu", num_partitions=4)


def test_the_token_goes_through_loops_and_branches():
    def note(x):
        debug_callback(print, x, ordered=True)
        return x

    scalar = ShapedArray((), np.float32)
    text = lower(stage(lambda x: [scan(lambda c, _: (note(c) * 2.0, None), x, None, length=3)[0]], [scalar])).text
    assert "(tensor<i32>, tensor<f32>, tensor<i1>) -> (tensor<i32>, tensor<f32>, tensor<i1>)" in text
    text = lower(stage(lambda x: [cond(x > 0.0, note, lambda x: x, x)], [scalar])).text
    assert "(tensor<i32>) -> (tensor<f32>, tensor<i1>)" in text
    text = lower(stage(lambda x: [while_loop(lambda c: c < 3.0, lambda c: note(c) + 1.0, x)], [scalar])).text
    assert "(tensor<f32>, tensor<i1>) -> (tensor<f32>, tensor<i1>)" in text
    text = lower(stage(lambda x: [while_loop(lambda c: note(c) < 3.0, lambda c: c + 1.0, x)], [scalar])).text
    assert "(tensor<i1>, tensor<f32>, tensor<i1>) -> (tensor<i1>, tensor<f32>, tensor<i1>)" in text  # the condition's answer is carried


class OnOneDevice:
    """A sharding, as far as a callback asks."""

    def __init__(self, device):
        self.device_set = {device}


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
def test_a_sharding_names_the_device_that_calls(platform):
    def g(x):
        return pure_callback(np.sin, ShapeDtypeStruct((3,), np.float32), x, sharding=OnOneDevice("c")),

    text = lower(stage(g, [F32]), platform=platform, num_partitions=4, devices="abcd").text
    assert "sdy.mesh @maximal_mesh_2 = <[], device_ids=[2]>" in text and "maximal_mesh_0" not in text
    calls = [line for line in text.splitlines() if re.search("stablehlo.(send|recv|custom_call)", line)]
    assert calls and all("@maximal_mesh_2, []>" in line for line in calls)
    with pytest.raises(ValueError, match="specifies a device, c, that is not in the device assignment"):
        lower(stage(g, [F32]), platform=platform, num_partitions=2, devices="ab")
    assert "maximal" not in lower(stage(g, [F32]), platform=platform).text
