"""Facts and programs derived from a program, remembered with it."""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, Hashable

from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.symbolic.sized_programs import value_at_sizes
from laminax_ir.symbolic.symbolic_dims import SymbolicDim
from laminax_ir.tracing.name_stacks import no_names
from laminax_ir.tracing.trace import state
from laminax_ir.types.errors import InconclusiveDimensionOperation


def cached_by_jaxpr(transform: Callable) -> Callable:
    """Remembers `transform(closed, *key)` with the closed jaxpr, for as long as that lives.

    A program with symbolic dimensions that has been given sizes is not transformed itself: its template is, once for all sizes.
    """

    @wraps(transform)
    def lookup(closed: ClosedJaxpr, *key: Hashable) -> Any:
        question = (lookup, *key)
        found = closed.derived.get(question)
        if found is None:
            previous = state.source, state.name_stack
            state.source, state.name_stack = None, no_names  # the program's own positions, not those of whoever asks first
            try:
                found = None if closed.template is None else _at_sizes_of(lookup, closed.template, key)
                found = closed.remember(question, transform(closed, *key) if found is None else found)
            finally:
                state.source, state.name_stack = previous
        return found

    return lookup


def _at_sizes_of(lookup: Callable, template: tuple[ClosedJaxpr, tuple[tuple[str, Any], ...]], key: tuple[Hashable, ...]) -> Any:
    """The answer for the program's template, at the sizes; None where the question has other programs or symbolic dimensions, or the
    answer depends on the sizes."""
    if any(map(_is_of_one_size, key)):
        return None
    program, sizes = template
    try:
        return value_at_sizes(lookup(program, *key), dict(sizes))
    except InconclusiveDimensionOperation:
        return None


def _is_of_one_size(part: Any) -> bool:
    """Whether a part of a question is, or has, a program or a symbolic dimension."""
    if isinstance(part, tuple):
        return any(map(_is_of_one_size, part))
    return isinstance(part, (ClosedJaxpr, SymbolicDim)) or type(getattr(part, "size", None)) is SymbolicDim
