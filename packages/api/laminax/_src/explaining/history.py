"""What was done to compile a function: phases with their times, what the caches had, and why the function was traced again."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Callable

from laminax_runtime.base import monitoring

from laminax._src.base.phases import PHASE_EVENTS
from laminax._src.compiling.cache_misses import closest_differences


@dataclass(frozen=True)
class Phase:
    """A phase of compiling.

    Attributes:
      what: "tracing", "lowering" or "compiling".
      name: the function, or the region of it: `jit(step_block)`.
      seconds: how long it took. Functions that are traced within another count in both.
    """

    what: str
    name: str
    seconds: float


@dataclass(frozen=True)
class Retrace:
    """A trace of a function.

    Attributes:
      arguments: the types of its arguments, in one line.
      reasons: what differs from the closest trace before it, by argument path; empty for the first.
      is_this: whether it is the trace that the report is about.
    """

    arguments: str
    reasons: tuple[str, ...]
    is_this: bool


@dataclass
class History:
    """What was done for a report, and for the function before.

    Attributes:
      phases: the phases that took place for this report, in order.
      was_traced, was_compiled: whether the caches of this process had the trace and the program.
      was_compiled_again: whether it had it from the disk, of an earlier version with other lines.
      disk_hits, disk_misses: programs that the cache on disk had, and had not.
      traces: all traces of the function, the oldest first.
    """

    phases: list[Phase] = field(default_factory=list)
    was_traced: bool = False
    was_compiled: bool = False
    was_compiled_again: bool = False
    disk_hits: int = 0
    disk_misses: int = 0
    traces: list[Retrace] = field(default_factory=list)

    def seconds(self, what: str) -> float:
        """How long the phases of one kind took together; those of tracing within another's tracing do not count again."""
        found = [phase.seconds for phase in self.phases if phase.what == what]
        return max(found, default=0.0) if what == "tracing" else sum(found)


class Recorder:
    """A context manager that notes the phases and the cache's events while it is entered, of all threads."""

    def __init__(self) -> None:
        self.history = History()
        self._lock = threading.Lock()
        self._names = {event: verb.lower() for verb, event in PHASE_EVENTS.items()}

    def __enter__(self) -> History:
        monitoring.register_event_duration_secs_listener(self._duration)
        monitoring.register_event_listener(self._event)
        return self.history

    def __exit__(self, *error: object) -> None:
        monitoring.unregister_event_duration_listener(self._duration)
        monitoring.unregister_event_listener(self._event)

    def _duration(self, event: str, seconds: float, **metadata: Any) -> None:
        if (what := self._names.get(event)) is not None:
            with self._lock:
                self.history.phases.append(Phase(what, str(metadata.get("fun_name", "")), seconds))

    def _event(self, event: str, **metadata: Any) -> None:
        with self._lock:
            self.history.disk_hits += event == "/jax/compilation_cache/cache_hits"
            self.history.disk_misses += event == "/jax/compilation_cache/cache_misses"


_MOST_TRACES = 20


def traces_of(fun: Callable[..., Any], namer: Callable[[int], str], entries: dict[Any, Any], current: Any) -> list[Retrace]:
    """The traces of a function with what each differed in from those before it; the latest ones, if there are many.

    Args:
      fun: the function.
      namer: from the number of an argument's leaf to its name.
      entries: its traces by key, the oldest first.
      current: the trace that the report is about.
    """
    keys = list(entries)
    found = []
    for i in range(max(0, len(keys) - _MOST_TRACES), len(keys)):
        reasons = [line for _, line in closest_differences(fun, namer, keys[:i], keys[i])] if i else []
        found.append(Retrace(", ".join(aval.str_short() for aval in keys[i].avals), tuple(reasons), entries[keys[i]] is current))
    return found
