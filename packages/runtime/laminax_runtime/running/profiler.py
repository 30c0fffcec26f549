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
ProfileData, ProfileEvent, ProfilePlane = _jaxlib.profile_data_types()

_TraceMe: Any = _profiler.TraceMe

_lock = threading.Lock()
_server: Any = None
_session: _Session | None = None


class _Session:
    """A trace that is being recorded."""

    def __init__(self, folder: str, has_perfetto: bool, options: Any) -> None:
        self.folder = folder
        self.has_perfetto = has_perfetto
        self.recording = _profiler.ProfilerSession(options)


def start_trace(
    log_dir: os.PathLike | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> None:
    """Begins to record what the host and the devices do, until `stop_trace`.

    Args:
        log_dir: the folder that the trace is written to, in subfolders of its own.
        create_perfetto_link: not supported: opening a browser's connection to this process.
        create_perfetto_trace: whether to write also a `perfetto_trace.json.gz`, for ui.perfetto.dev.
        profiler_options: what to record; by default what jaxlib does.

    Raises:
        RuntimeError: a trace is being recorded already.
    """
    global _session
    if create_perfetto_link:
        raise NotImplementedError(
            "start_trace: create_perfetto_link is not supported; give create_perfetto_trace=True, and open the file "
            "perfetto_trace.json.gz at https://ui.perfetto.dev"
        )
    with _lock:
        if _session is not None:
            raise RuntimeError(
                f"Profile has already been started. Only one profile may be run at a time. It goes to {_session.folder}; call "
                "stop_trace before start_trace."
            )
        backends.client()  # accelerators are traced by their clients, which must exist
        _session = _Session(os.fspath(log_dir), create_perfetto_trace, profiler_options or ProfileOptions())


def stop_trace() -> None:
    """Ends the recording that `start_trace` began, and writes it to its folder.

    Raises:
        RuntimeError: none is being recorded.
    """
    global _session
    with _lock:
        if _session is None:
            raise RuntimeError("No profile started: stop_trace was called without start_trace")
        session, _session = _session, None
        session.recording.stop_and_export(session.folder)
        if session.has_perfetto:
            _write_perfetto_trace(Path(session.folder))


def _write_perfetto_trace(folder: Path) -> None:
    """The newest trace of the folder once more, without the `metadata` that Perfetto refuses."""
    newest = max((folder / "plugins" / "profile").iterdir(), key=os.path.getmtime)
    (written,) = newest.glob("*.trace.json.gz")
    with gzip.open(written, "rt") as file:
        trace = json.load(file)
    trace.pop("metadata", None)
    with gzip.open(newest / "perfetto_trace.json.gz", "wt") as file:
        json.dump(trace, file)


@contextlib.contextmanager
def trace(
    log_dir: os.PathLike | str,
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:
    """Context manager: records what happens inside; the arguments are those of `start_trace`.

    Example:
        >>> with trace("profiles"):
        ...     step(state).block_until_ready()
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


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
