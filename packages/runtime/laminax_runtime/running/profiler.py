"""Profiles: the activity of the host and the devices over time, and the arrays that hold device memory.

The recording is jaxlib's; its files are those that TensorBoard's profile plugin and XProf read. Source: XLA's profiler,
and JAX's guide "Profiling computation".
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from laminax_runtime import _jaxlib
from laminax_runtime.backends import backends

_profiler = _jaxlib.profiler_module()
ProfileOptions: Any = _profiler.ProfileOptions
ProfileData, ProfileEvent, ProfileLine, ProfilePlane = _jaxlib.profile_data_types()

_TraceMe: Any = _profiler.TraceMe

_lock = threading.Lock()
_server: Any = None
_session: ProfileSession | None = None  # the one that records


class ProfileSession:
    """A recording of what the host and the devices do, from `start` to `stop`; also a context manager.

    Args:
        log_dir: the folder that the trace is written to, in subfolders of its own; with None it is kept in memory only.
        create_perfetto_link: not supported: opening a browser's connection to this process.
        create_perfetto_trace: whether to write also a `perfetto_trace.json.gz`, for ui.perfetto.dev.
        profiler_options: what to record; by default what jaxlib does.

    Raises:
        NotImplementedError: for create_perfetto_link.

    Example:
        >>> with ProfileSession() as session:
        ...     step(state).block_until_ready()
        >>> [plane.name for plane in session.profile_data.planes]
    """

    def __init__(self, log_dir: os.PathLike | str | None = None, create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
                 profiler_options: Any = None) -> None:
        _refuse_link(create_perfetto_link)
        self.log_dir = None if log_dir is None else os.fspath(log_dir)
        self.create_perfetto_trace = create_perfetto_trace
        self.profiler_options = profiler_options
        self._recording: Any = None
        self._data: Any = None

    @property
    def is_running(self) -> bool:
        return self._recording is not None

    @property
    def profile_data(self) -> Any:
        """What was recorded, a `ProfileData`; None before the end."""
        return self._data

    def start(self) -> ProfileSession:
        """Begins to record.

        Raises:
            RuntimeError: another session records, or this one.
        """
        global _session
        with _lock:
            if _session is not None:
                raise RuntimeError("Profile has already been started. Only one profile may be run at a time. It goes to "
                                   f"{_session.log_dir or 'memory'}; call stop_trace before start_trace.")
            backends.client()  # accelerators are traced by their clients, which must exist
            self._recording, self._data = _profiler.ProfilerSession(self.profiler_options or ProfileOptions()), None
            _session = self
        return self

    def stop(self) -> Any:
        """Ends the recording, writes it to its folder if it has one, and returns it, a `ProfileData`.

        Raises:
            RuntimeError: the session does not record.
        """
        global _session
        with _lock:
            if self._recording is None:
                raise RuntimeError("No profile started: stop was called without start")
            recording, self._recording, _session = self._recording, None, None
            if self.log_dir is None:
                self._data = recording.stop_and_get_profile_data()
            else:
                recording.stop_and_export(self.log_dir)
                (written,) = _newest(self.log_dir).glob("*.xplane.pb")
                self._data = ProfileData.from_file(os.fspath(written))
                if self.create_perfetto_trace:
                    _write_perfetto_trace(self.log_dir)
        return self._data

    def export_profile_data(self, log_dir: os.PathLike | str, create_perfetto_link: bool = False, create_perfetto_trace: bool = False,
                            session_id: str | None = None) -> None:
        """Writes what was recorded to a folder; see the function `export_profile_data`."""
        export_profile_data(self, log_dir, create_perfetto_link, create_perfetto_trace, session_id)

    def __enter__(self) -> ProfileSession:
        return self.start()

    def __exit__(self, *_: object) -> None:
        if self.is_running:
            self.stop()


def _refuse_link(create_perfetto_link: bool) -> None:
    if create_perfetto_link:
        raise NotImplementedError(
            "start_trace: create_perfetto_link is not supported; give create_perfetto_trace=True, and open the file "
            "perfetto_trace.json.gz at https://ui.perfetto.dev"
        )


def export_profile_data(profile_data: Any, log_dir: os.PathLike | str, create_perfetto_link: bool = False,
                        create_perfetto_trace: bool = False, session_id: str | None = None) -> None:
    """Writes a recording to a folder, as `start_trace` with that folder would have.

    Args:
        profile_data: a `ProfileData`, or a `ProfileSession` that has ended.
        log_dir: the folder.
        create_perfetto_link: not supported.
        create_perfetto_trace: whether to write also a `perfetto_trace.json.gz`.
        session_id: the name of the recording's own subfolder; by default the time.

    Raises:
        TypeError: profile_data is neither.
        RuntimeError: the session records, or has recorded nothing; or this jaxlib, of before 0.11, cannot write recordings.
    """
    _refuse_link(create_perfetto_link)
    data = profile_data
    if isinstance(profile_data, ProfileSession):
        if profile_data.is_running:
            raise RuntimeError("export_profile_data: Cannot export a ProfileSession while it is running. Call stop() first.")
        if (data := profile_data.profile_data) is None:
            raise RuntimeError("export_profile_data: No profile data to export: the session was not started.")
        session_id = session_id or getattr(profile_data.profiler_options, "session_id", None)
    elif not isinstance(profile_data, ProfileData):
        raise TypeError(f"export_profile_data: Expected ProfileData or ProfileSession, got {type(profile_data).__name__}")
    if not hasattr(_profiler, "export_to_xprof"):
        raise RuntimeError("export_profile_data: this version of jaxlib cannot write a recording that is in memory. Give the folder to "
                           "start_trace, or use a newer jaxlib.")
    _profiler.export_to_xprof(data, os.fspath(log_dir), session_id=session_id or "")
    if create_perfetto_trace:
        _write_perfetto_trace(log_dir)


def start_trace(
    log_dir: os.PathLike | str | None = None,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> ProfileSession:
    """Begins to record what the host and the devices do, until `stop_trace`; arguments and errors are those of `ProfileSession`.

    Returns:
        The session.

    Raises:
        RuntimeError: a trace is being recorded already.
    """
    return ProfileSession(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options).start()


def stop_trace() -> Any:
    """Ends the recording that `start_trace` began, and writes it to its folder.

    Returns:
        What was recorded, a `ProfileData`.

    Raises:
        RuntimeError: none is being recorded.
    """
    if (session := _session) is None:
        raise RuntimeError("No profile started: stop_trace was called without start_trace")
    return session.stop()


def _newest(folder: os.PathLike | str) -> Path:
    """Where the last recording was written to."""
    return max((Path(folder) / "plugins" / "profile").iterdir(), key=os.path.getmtime)


def _write_perfetto_trace(folder: os.PathLike | str) -> None:
    """The newest trace of the folder once more, without the `metadata` that Perfetto refuses."""
    newest = _newest(folder)
    (written,) = newest.glob("*.trace.json.gz")
    with gzip.open(written, "rt") as file:
        trace = json.load(file)
    trace.pop("metadata", None)
    with gzip.open(newest / "perfetto_trace.json.gz", "wt") as file:
        json.dump(trace, file)


@contextlib.contextmanager
def trace(
    log_dir: os.PathLike | str | None = None,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[ProfileSession]:
    """Context manager: records what happens inside, and gives the session; arguments and errors are those of `ProfileSession`.

    Example:
        >>> with trace("profiles"):
        ...     step(state).block_until_ready()
    """
    with ProfileSession(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options) as session:
        yield session


class TraceAnnotation(_TraceMe):
    """Context manager: the time inside is an event of this name in the trace.

    Args:
        name: the event's name.
        **kwargs: numbers and strings to show with it.

    Example:
        >>> with TraceAnnotation("load batch"):
        ...     batch = next(batches)
    """


class StepTraceAnnotation(TraceAnnotation):
    """Context manager: the time inside is a step, such as one of training, which profile viewers analyse step by step.

    Args:
        name: the event's name.
        **kwargs: numbers and strings to show with it; `step_num` is the step's number.
    """

    def __init__(self, name: str, **kwargs: Any) -> None:
        super().__init__(name, _r=1, **kwargs)  # this marks the root of a step


def annotate_function(func: Callable[..., Any], name: str | None = None, **decorator_kwargs: Any) -> Callable[..., Any]:
    """Decorator: each call of the function is an event in the trace.

    Args:
        func: the function.
        name: the event's name; by default the function's.
        **decorator_kwargs: numbers and strings to show with it.
    """
    label = name or getattr(func, "__qualname__", None) or func.__name__

    @functools.wraps(func)
    def annotated(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(label, **decorator_kwargs):
            return func(*args, **kwargs)

    return annotated


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Starts a server from which TensorBoard or XProf can ask for a trace.

    Args:
        port: the port it listens on.
        requires_backend: whether to start the platform first.

    Raises:
        ValueError: there is one already.
    """
    global _server
    with _lock:
        if _server is not None:
            raise ValueError("start_server: Only one profiler server can be active at a time. Call stop_server first.")
        if requires_backend:
            backends.client()
        _server = _profiler.start_server(port)
        return _server


def stop_server() -> None:
    """Stops the server that `start_server` started.

    Raises:
        ValueError: there is none.
    """
    global _server
    with _lock:
        if _server is None:
            raise ValueError("stop_server: No active profiler server. Call start_server first.")
        _server = None  # jaxlib stops it with its last reference


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Has the profiles of a subprocess that runs a profiler server included in this process's.

    Args:
        pid: the subprocess's id.
        port: its server's port.

    Returns:
        A function that ends it.
    """
    return _profiler.register_subprocess(pid, port)


def device_memory_profile(backend: str | None = None) -> bytes:
    """The arrays that hold the devices' memory now: a gzipped profile for `pprof`, by the place that made each array.

    Args:
        backend: the platform; None is the default one.
    """
    return gzip.compress(backends.client(backend).heap_profile())


def save_device_memory_profile(filename: os.PathLike | str, backend: str | None = None) -> None:
    """Writes `device_memory_profile` to a file."""
    Path(filename).write_bytes(device_memory_profile(backend))


def get_profiled_instructions_proto(tensorboard_dir: str) -> bytes:
    """The costs of single instructions in a recorded profile, a serialized `ProfiledInstructionsProto` of XLA; empty but for NVIDIA GPUs.

    Args:
        tensorboard_dir: the folder of one recording, `log_dir/plugins/profile/<its name>`.
    """
    return _profiler.get_profiled_instructions_proto(tensorboard_dir)
