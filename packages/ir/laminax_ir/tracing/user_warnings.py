"""Warnings that name the user's line, and not one of laminax's."""

from __future__ import annotations

import warnings

from laminax_ir.tracing import source
from laminax_ir.types.warning_counts import count_warning


def warn_at_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warns as if the line of the user's program, from which laminax was called, had done so."""
    count_warning()
    where = source.position(source.current(3))
    file, line = (where.file, where.line) if where is not None else ("laminax", 0)
    warnings.warn_explicit(message, category, file, line)
