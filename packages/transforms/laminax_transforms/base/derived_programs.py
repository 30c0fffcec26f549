"""Facts and programs derived from a program, remembered with it."""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, Hashable

from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.tracing.name_stacks import no_names
from laminax_ir.tracing.trace import state


def cached_by_jaxpr(transform: Callable) -> Callable:
    """Remembers `transform(closed, *key)` with the closed jaxpr, for as long as that lives."""

    @wraps(transform)
    def lookup(closed: ClosedJaxpr, *key: Hashable) -> Any:
        question = (lookup, *key)
        found = closed.derived.get(question)
        if found is None:
            previous = state.source, state.name_stack
            state.source, state.name_stack = None, no_names  # the program's own positions, not those of whoever asks first
            try:
                found = closed.remember(question, transform(closed, *key))
            finally:
                state.source, state.name_stack = previous
        return found

    return lookup
