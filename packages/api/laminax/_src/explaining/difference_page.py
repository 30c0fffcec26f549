"""The page of a difference between two reports."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Iterator

from laminax._src.explaining.page import document
from laminax._src.explaining.tables import Row, table
from laminax._src.inspecting.places import byte_text, change_text, count_text

if TYPE_CHECKING:
    from laminax._src.explaining.differences import Difference


def difference_page(difference: Difference) -> str:
    """The page of a difference."""
    before, after = difference.before, difference.after
    totals = [("", [escape(name), _number(name, old), _number(name, new),
                    f'<span class="{"minus" if new > old else "plus"}">{change_text(old, new)}</span>'])
              for name, (old, new) in difference.totals.items() if old or new]
    program = "".join(f'<span class="{_CLASSES.get(line[:1], "")}">{escape(line, quote=False)}</span>' for line in difference.program)
    return document(f"{before.name}, {after.name}: laminax.explain.diff", "\n".join([
        f"<h1>{escape(before.name)} before, {escape(after.name)} after</h1>",
        table((("", "t"), ("before", ""), ("after", ""), ("change", "")), totals),
        "<h2>Lines whose costs changed</h2>",
        table((("", "t"), ("flops", ""), ("moved", ""), ("held", ""), ("line", "t extra"), ("", "c")), _line_rows(difference)),
        "<h2>Buffers at the peak</h2>",
        table((("", "t"), ("size", ""), ("type", "c"), ("value", "wide"), ("made by", "t")), _buffer_rows(difference)),
        "<h2>Program</h2>",
        f'<div class="pane"><div class="scroll"><pre>{program or "<span>the same</span>"}</pre></div></div>']))


_CLASSES = {"+": "plus", "-": "minus"}
_NEW, _GONE = '<span class="plus">new</span>', '<span class="minus">gone</span>'


def _line_rows(difference: Difference) -> Iterator[Row]:
    for before, after in difference.lines:
        line = after or before
        if line is not None:
            costs = [(getattr(before, name, 0), getattr(after, name, 0), name) for name in ("flops", "bytes", "held")]
            yield "", [_NEW if before is None else _GONE if after is None else "changed", *[_change(*cost) for cost in costs],
                       escape(str(line.place)), escape(line.text)]


def _buffer_rows(difference: Difference) -> Iterator[Row]:
    for before, after in difference.buffers:
        buffer = after or before
        if buffer is not None:
            yield "", [_NEW if before is None else _GONE, byte_text(buffer.size), escape(buffer.type), escape(buffer.name),
                       escape(str(buffer.place or ""))]


def _number(name: str, value: float) -> str:
    return count_text(value) if name in ("flops", "operations") else byte_text(value)


def _change(old: float, new: float, name: str) -> str:
    return _number(name, new) if old == new else f"{_number(name, old)} \u2192 {_number(name, new)}"
