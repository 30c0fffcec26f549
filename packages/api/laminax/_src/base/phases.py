"""The phases of compiling a function: each is timed, reported to `laminax.monitoring`, and logged.

The logger is "laminax"; the level is that of warnings while `log_compiles` is on, else that of debugging.
"""

from __future__ import annotations

import sys
import time
from typing import Any, Sequence

from laminax_ir.options import config
from laminax_ir.types.avals import ShapedArray
from laminax_runtime.base import monitoring

from laminax._src.base import progress

PHASE_EVENTS = {  # as JAX calls them
    "Tracing": "/jax/core/compile/jaxpr_trace_duration",
    "Lowering": "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "Compiling": "/jax/core/compile/backend_compile_duration",
}


class phase:
    """A context manager around one phase: `with phase("Tracing", "jit(f)"): ...`; a phase that fails is not reported.

    Args:
      verb: "Tracing", "Lowering" or "Compiling".
      title: the compiled function, for the log.
      avals: the arguments' types, for the log.
    """

    __slots__ = ("_verb", "_title", "_avals", "_start", "_shown")

    def __init__(self, verb: str, title: str, avals: Sequence[ShapedArray]) -> None:
        self._verb = verb
        self._title = title
        self._avals = avals

    def __enter__(self) -> None:
        if self._verb == "Lowering":
            _log("Compiling %s for arguments (%s).", self._title, _Listed(self._avals))
        self._shown = progress.begin(self._verb, self._title)
        self._start = time.perf_counter()

    def __exit__(self, error_type: Any, error: Any, traceback: Any) -> None:
        if self._shown is not None:
            progress.end(self._shown)
        if error_type is not None:
            return
        seconds = time.perf_counter() - self._start
        monitoring.record_event_duration_secs(PHASE_EVENTS[self._verb], seconds, fun_name=self._title)
        _log(_FINISHED[self._verb], _Traced(self._title) if self._verb == "Tracing" else self._title, _Listed(self._avals), seconds)


_FINISHED = {
    "Tracing": "Finished tracing %s with arguments (%s) in %.4f s.",
    "Lowering": "Finished lowering %s for arguments (%s) in %.4f s.",
    "Compiling": "Finished XLA compilation of %s for arguments (%s) in %.4f s.",
}


def log_decision(title: str, decision: Any) -> None:
    """Logs how something is compiled, and why: `str(decision)`."""
    _log("%s is compiled %s.", title, decision)


class _Listed:
    """Types for a log, written out only if somebody reads it."""

    __slots__ = ("_avals",)

    def __init__(self, avals: Sequence[ShapedArray]) -> None:
        self._avals = avals

    def __str__(self) -> str:
        return ", ".join(aval.str_short() for aval in self._avals)


class _Traced:
    """What was traced, as JAX's log has it, which tests count: `step for jit`, of `jit(step)`."""

    __slots__ = ("_title",)

    def __init__(self, title: str) -> None:
        self._title = title

    def __str__(self) -> str:
        wrapper, _, name = self._title.removesuffix(")").partition("(")
        return f"{name} for {wrapper}"


def _log(message: str, *values: Any) -> None:
    if not config.log_compiles.value and "logging" not in sys.modules:  # importing it takes 5 ms, and nobody listens
        return
    import logging
    level = logging.WARNING if config.log_compiles.value else logging.DEBUG
    logger = logging.getLogger("laminax")
    if logger.isEnabledFor(level):
        logger.log(level, message, *values)


def check_may_trace(title: str) -> None:
    """Raises RuntimeError while the option `no_tracing` is on."""
    if config.no_tracing.value:
        raise RuntimeError(f"{title} was to be traced, but the option no_tracing is set. Call it with arguments of these types "
                           "before that, or outside of it; explain_cache_misses tells what is new.")
