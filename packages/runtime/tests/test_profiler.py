"""Profiles: traces on the disk with the events of the program, and the profile of device memory."""

import gzip
import json
import socket

import numpy as np
import pytest
from stablehlo_modules import aval, compile_text, unary

from laminax_runtime import device_put
from laminax_runtime.running import profiler

A = aval((4,))


def recorded(folder):
    """The names of the events of the one trace in the folder, each with what is shown with it."""
    (path,) = folder.glob("plugins/profile/*/*.trace.json.gz")
    events = json.loads(gzip.open(path).read())["traceEvents"]
    return {event["name"]: event.get("args", {}) for event in events if "name" in event}


def test_a_trace_has_the_annotated_events(tmp_path):
    program = compile_text(unary("negate", A), in_avals=[A], out_avals=[A], name="negation")
    x = np.ones(4, np.float32)

    @profiler.annotate_function
    def decorated():
        with profiler.TraceAnnotation("inner work", size=4):
            return program.execute([x])[0].tolist()

    with profiler.trace(tmp_path, create_perfetto_trace=True), profiler.StepTraceAnnotation("train", step_num=7):
        assert decorated() == [-1] * 4
    events = recorded(tmp_path)
    assert events["inner work"] == {"size": "4"} and events["train"]["step_num"] == "7"
    assert any(name.endswith("decorated") for name in events)
    (perfetto,) = tmp_path.glob("plugins/profile/*/perfetto_trace.json.gz")
    assert "metadata" not in json.loads(gzip.open(perfetto).read())
    (written,) = tmp_path.glob("plugins/profile/*/*.xplane.pb")
    assert any("CPU" in plane.name for plane in profiler.ProfileData.from_file(str(written)).planes)


def test_one_trace_at_a_time(tmp_path):
    with pytest.raises(RuntimeError, match="No profile started"):
        profiler.stop_trace()
    with profiler.trace(tmp_path), pytest.raises(RuntimeError, match="has already been started"):
        profiler.start_trace(tmp_path)
    with pytest.raises(NotImplementedError, match="create_perfetto_trace=True"):
        profiler.start_trace(tmp_path, create_perfetto_link=True)


def test_a_trace_that_fails_is_stopped(tmp_path):
    with pytest.raises(KeyError), profiler.trace(tmp_path):
        raise KeyError("in the traced code")
    with profiler.trace(tmp_path / "next"):
        pass


def test_device_memory_profile(tmp_path):
    array = device_put(np.ones(12345, np.float32))
    profiler.save_device_memory_profile(tmp_path / "memory.prof")
    profile = gzip.decompress((tmp_path / "memory.prof").read_bytes())
    assert b"buffer" in profile and b"test_profiler.py" in profile  # who made the array
    assert array.size == 12345


def test_server():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(ValueError, match="No active profiler server"):
        profiler.stop_server()
    profiler.start_server(port)
    with pytest.raises(ValueError, match="Only one profiler server can be active at a time"):
        profiler.start_server(port)
    socket.create_connection(("127.0.0.1", port), timeout=10).close()
    profiler.stop_server()


def names_in(data) -> set:
    return {event.name for plane in data.planes for line in plane.lines for event in line.events}


def test_sessions_keep_what_they_record(tmp_path):
    with profiler.ProfileSession() as session:
        assert session.is_running and session.profile_data is None
        with profiler.TraceAnnotation("in memory"):
            pass
    assert not session.is_running and "in memory" in names_in(session.profile_data)
    assert isinstance(session.profile_data, profiler.ProfileData)
    if hasattr(profiler._profiler, "export_to_xprof"):
        session.export_profile_data(tmp_path, create_perfetto_trace=True)
        assert "in memory" in recorded(tmp_path)
    else:
        with pytest.raises(RuntimeError, match="cannot write a recording that is in memory"):
            session.export_profile_data(tmp_path)


def test_a_trace_on_the_disk_is_also_given(tmp_path):
    with profiler.trace(tmp_path) as session, profiler.TraceAnnotation("on the disk"):
        pass
    assert "on the disk" in names_in(session.profile_data) and "on the disk" in recorded(tmp_path)
    profiler.start_trace()
    assert isinstance(profiler.stop_trace(), profiler.ProfileData)


def test_sessions_are_used_in_order(tmp_path):
    session = profiler.ProfileSession()
    with pytest.raises(RuntimeError, match="No profile started"):
        session.stop()
    with pytest.raises(RuntimeError, match="No profile data to export"):
        profiler.export_profile_data(session, tmp_path)
    with session:
        with pytest.raises(RuntimeError, match="already been started"):
            profiler.ProfileSession().start()
        with pytest.raises(RuntimeError, match="while it is running"):
            profiler.export_profile_data(session, tmp_path)
        session.stop()
    with pytest.raises(TypeError, match="Expected ProfileData or ProfileSession, got int"):
        profiler.export_profile_data(3, tmp_path)
