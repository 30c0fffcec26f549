"""The phases of compiling a function: each is timed, told to `laminax.monitoring`, and logged while `log_compiles` is on."""

from __future__ import annotations

import time
from typing import Sequence

from laminax_ir import config
from laminax_ir.avals import ShapedArray
from laminax_runtime import monitoring

_EVENTS = {  # as JAX calls them
    "Tracing": "/jax/core/compile/jaxpr_trace_duration",
    "Lowering": "/jax/core/compile/jaxpr_to_mlir_module_duration",
    "Compiling": "/jax/core/compile/backend_compile_duration",
}


class phase:
    """A context manager around one phase: `with phase("Tracing", "jit(f)"): ...`; what fails is not reported.

    Args:
      verb: "Tracing", "Lowering" or "Compiling".
      title: what is compiled.
      avals: the arguments' types, for the log.
    """

    __slots__ = ("_verb", "_title", "_avals", "_start")

    def __init__(self, verb: str, title: str, avals: Sequence[ShapedArray]):
        self._verb = verb
        self._title = title
        self._avals = avals

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, error_type, error, traceback) -> None:
        if error_type is not None:
            return
        seconds = time.perf_counter() - self._start
        monitoring.record_event_duration_secs(_EVENTS[self._verb], seconds, fun_name=self._title)
        if config.log_compiles.value:
            import logging  # 5 ms of import time that few need
            avals = ", ".join(aval.str_short() for aval in self._avals)
            logging.getLogger("laminax").warning("%s %s for arguments (%s) took %.4f s.", self._verb, self._title, avals, seconds)


def check_may_trace(title: str) -> None:
    """Raises RuntimeError while the option `no_tracing` is on."""
    if config.no_tracing.value:
        raise RuntimeError(f"{title} was to be traced, but the option no_tracing is set. Call it with arguments of these types "
                           "before that, or outside of it; explain_cache_misses tells what is new.")
