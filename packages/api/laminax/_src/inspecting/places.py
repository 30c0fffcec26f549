"""Places in the user's source: what the parts of a report have in common, and by which they are linked."""

from __future__ import annotations

import linecache
import os
from typing import NamedTuple

from laminax_ir.programs.jaxpr import JaxprEqn
from laminax_ir.tracing import source


class Place(NamedTuple):
    """A line of a file, 1-based."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{os.path.basename(self.file)}:{self.line}"

    @property
    def text(self) -> str:
        """The line itself without indentation; empty where the file cannot be read."""
        return linecache.getline(self.file, self.line).strip()


def place_of(eqn: JaxprEqn) -> Place | None:
    """The user's line that made an equation."""
    where = source.position(eqn.source_info)
    return None if where is None else Place(where.file, where.line)


def byte_text(count: float) -> str:
    """A number of bytes for people: `1.25 MB`."""
    return _scaled(count, "B", ("kB", "MB", "GB", "TB", "PB"))


def count_text(count: float) -> str:
    """A number of operations for people: `1.25 M`."""
    return _scaled(count, "", ("k", "M", "G", "T", "P"))


def change_text(old: float, new: float) -> str:
    """By how much a number has changed: `+12.5 %`."""
    return "same" if old == new else "new" if not old else f"{100 * (new - old) / old:+.1f} %"


def _scaled(count: float, unit: str, larger: tuple[str, ...]) -> str:
    if abs(count) < 1000:
        return f"{count:.0f} {unit}".strip() if count == int(count) else f"{count:.3g} {unit}".strip()
    for name in larger:
        count /= 1000
        if abs(count) < 999.5:
            break
    return f"{count:.3g} {name}"
