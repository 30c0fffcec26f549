"""Topologies where no plugin describes any: ci/tpu and ci/gpu have those that do."""

from __future__ import annotations

import pytest

import laminax_runtime as runtime
from laminax_runtime.compiling.unloaded import UnloadedProgram


def test_a_platform_without_plugin_has_no_topologies(tmp_path, monkeypatch):
    monkeypatch.setattr("laminax_runtime.backends.backends._registered", [])
    with pytest.raises(runtime.PlatformError, match="There is no topology of 'nowhere'. There is no plugin of this name"):
        runtime.topology_devices("2x2", "nowhere")
    runtime.register_plugin("absent", str(tmp_path / "absent.so"))
    with pytest.raises(runtime.PlatformError, match="no topology of 'absent': its plugin's library .*absent.so does not exist"):
        runtime.topology_devices("2x2", "absent")
    (tmp_path / "text.so").write_text("no library")
    runtime.register_plugin("text", str(tmp_path / "text.so"))
    with pytest.raises(runtime.PlatformError, match="The plugin .*text.so of text did not load"):
        runtime.topology_devices("2x2", "text")


def test_options_are_texts_and_numbers():
    with pytest.raises(TypeError, match="get_topology_desc: the option target_config must be a string, .* got None"):
        runtime.topology_devices("", "cuda", target_config=None)


def test_attached_devices_run():
    device = runtime.devices("cpu")[0]
    assert not runtime.is_compile_only(device) and runtime.default_memory_kind(device) == "device"


def test_what_is_compiled_for_elsewhere_does_not_run():
    class Compiled:
        def cost_analysis(self):
            return {"flops": 2.0}

    class Device:
        device_kind, platform = "TPU v9", "tpu"

        def __repr__(self):
            return "TPU_0"

    program = UnloadedProgram(Compiled(), Device())
    assert program.cost_analysis() == {"flops": 2.0} and program.fingerprint is None
    with pytest.raises(RuntimeError, match=r"compiled for devices of the kind 'TPU v9' \(tpu\), such as TPU_0, .*cost_analysis\(\)"):
        program.execute_sharded([])
