"""A line in the terminal while something is traced or compiled for longer than two seconds: what, for how long, which of its regions.

Phases say when they begin and end, which costs them a look at the option and at stderr. Only where that is a terminal a thread watches
them, and only while one lasts; it draws with tqdm, loaded when there is something to draw. The line is gone when the phase is.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from laminax_ir.options.config import show_progress

_PATIENCE, _INTERVAL = 2.0, 0.2  # seconds before a line is shown, and between its changes


class Running:
    """Something that goes on, and how many of its parts are done."""

    __slots__ = ("what", "title", "start", "total", "done")

    def __init__(self, what: str, title: str, total: int = 0) -> None:
        self.what = what
        self.title = title
        self.start = time.monotonic()
        self.total = total
        self.done = 0

    def text(self) -> str:
        """`Compiling jit(step), 3.2 s, region 2 of 5`."""
        region = f", region {min(self.done + 1, self.total)} of {self.total}" if self.total else ""
        return f"{self.what} {self.title}, {time.monotonic() - self.start:.1f} s{region}"


_running: list[Running] = []
_changed = threading.Condition()
_watcher: threading.Thread | None = None
_line: Any = None  # tqdm's, while one is shown


def begin(what: str, title: str, total: int = 0) -> Running | None:
    """Notes that something begins; None where nobody would see it.

    Args:
      what: "Tracing", "Lowering", "Compiling".
      title: the function.
      total: of how many parts it consists, if they are counted.
    """
    if not show_progress.value or not _is_terminal():
        return None
    started = Running(what, title, total)
    with _changed:
        _running.append(started)
        _watch()
        _changed.notify()
    return started


def end(started: Running) -> None:
    """Notes the end of what `begin` returned; the line is wiped before anything else is written."""
    global _line
    with _changed:
        _running.remove(started)
        if not _running and _line is not None:
            _line.close()
            _line = None
        _changed.notify()


def _is_terminal() -> bool:
    stream = sys.stderr
    try:
        return stream is not None and stream.isatty()
    except (AttributeError, ValueError):  # no file, or a closed one
        return False


def _watch() -> None:
    """Starts the thread that watches, once."""
    global _watcher
    if _watcher is None or not _watcher.is_alive():
        _watcher = threading.Thread(target=_run, name="laminax-progress", daemon=True)
        _watcher.start()


def _run() -> None:
    global _line
    with _changed:  # which waiting lets go
        while True:
            if not _running:
                _changed.wait()
                continue
            oldest = _running[0]
            remaining = _PATIENCE - (time.monotonic() - oldest.start)
            if remaining > 0:
                _changed.wait(remaining)
                continue
            if _line is None:
                _line = _bar()
                if _line is None:
                    return  # without tqdm there is nothing to show
            _line.set_description_str(oldest.text())
            _changed.wait(_INTERVAL)


def _bar() -> Any:
    """A line of tqdm's that vanishes; None where tqdm is not installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return None
    return tqdm(file=sys.stderr, bar_format="{desc}", leave=False)
