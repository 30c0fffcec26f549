"""What changed between two reports: totals, costs by line, buffers at the peak, and the program's text."""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Iterator

from laminax._src.explaining.difference_page import difference_page
from laminax._src.explaining.page import framed
from laminax._src.explaining.report import Report, SourceLine, show_page
from laminax._src.inspecting.memory import Buffer
from laminax._src.inspecting.places import byte_text, change_text, count_text


@dataclass(frozen=True)
class Difference:
    """The difference between two reports: `print` it, or `show` it in a browser.

    Attributes:
      before, after: the reports.
      totals: of "flops", "bytes", "peak memory", "moved between devices" and "operations": the number before and after.
      lines: pairs of a line before and after, of those whose costs differ; None where there is none. Lines belong together by their text.
      buffers: pairs of buffers at the peak likewise: of equal type and line, or None.
      program: the lines of a unified diff of the jaxprs.
    """

    before: Report
    after: Report
    totals: dict[str, tuple[float, float]]
    lines: tuple[tuple[SourceLine | None, SourceLine | None], ...]
    buffers: tuple[tuple[Buffer | None, Buffer | None], ...]
    program: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(_summary(self))

    def __repr__(self) -> str:
        return str(self)

    def html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The difference as a page that needs no network; written to `path`, if one is given."""
        text = difference_page(self)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def show(self) -> str:
        """Opens the page in a browser; returns the path of the temporary file."""
        return show_page(self.html(), f"{self.before.name}-{self.after.name}")

    def _repr_html_(self) -> str:
        return framed(self.html())


def difference(before: Report, after: Report) -> Difference:
    """Compares two reports."""
    totals = {"flops": (before.flops, after.flops), "bytes": (before.bytes, after.bytes),
              "peak memory": (float(before.memory.peak), float(after.memory.peak)),
              "moved between devices": (_moved(before), _moved(after)), "operations": (_operations(before), _operations(after))}
    program = difflib.unified_diff(before.jaxpr.lines, after.jaxpr.lines, "before", "after", lineterm="", n=2)
    return Difference(before, after, totals, tuple(_changed_lines(before, after)), tuple(_changed_buffers(before, after)), tuple(program))


def _moved(report: Report) -> float:
    return float(sum(c.moved for c in report.collectives))


def _operations(report: Report) -> float:
    return sum(line.operations for line in report.lines)


def _changed_lines(before: Report, after: Report) -> Iterator[tuple[SourceLine | None, SourceLine | None]]:
    """Lines whose costs differ, matched in order by their texts; lines that were changed in place are matched too."""
    old, new = before.lines, after.lines
    matcher = difflib.SequenceMatcher(None, [line.text for line in old], [line.text for line in new], autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            yield from ((a, b) for a, b in zip(old[i1:i2], new[j1:j2]) if _costs(a) != _costs(b))
        else:
            count = min(i2 - i1, j2 - j1) if tag == "replace" else 0
            yield from zip(old[i1:i1 + count], new[j1:j1 + count])
            yield from ((a, None) for a in old[i1 + count:i2])
            yield from ((None, b) for b in new[j1 + count:j2])


def _costs(line: SourceLine) -> tuple[float, ...]:
    return line.operations, line.flops, line.bytes, line.held, line.moved


def _changed_buffers(before: Report, after: Report) -> Iterator[tuple[Buffer | None, Buffer | None]]:
    """Buffers at one peak that are not at the other, the largest first."""
    remaining = list(after.memory.at_peak)
    gone: list[Buffer] = []
    for buffer in before.memory.at_peak:
        same = next((b for b in remaining if _described(b) == _described(buffer)), None)
        if same is None:
            gone.append(buffer)
        else:
            remaining.remove(same)
    changed = [(buffer.size, buffer, None) for buffer in gone] + [(buffer.size, None, buffer) for buffer in remaining]
    for _, old, new in sorted(changed, key=lambda item: -item[0]):
        yield old, new


def _described(buffer: Buffer) -> tuple[str, str, str, str]:
    return buffer.kind, buffer.type, buffer.name, buffer.place.text if buffer.place is not None else ""


def _summary(difference: Difference) -> Iterator[str]:
    yield f"{difference.before.name} before, {difference.after.name} after"
    for name, (old, new) in difference.totals.items():
        text = count_text if name in ("flops", "operations") else byte_text
        if old or new:
            yield f"  {name:<22} {text(old):>9} -> {text(new):>9}  {change_text(old, new)}"
    if difference.lines:
        yield "lines:"
    for a, b in difference.lines[:12]:
        line = b or a
        assert line is not None
        mark = "+" if a is None else "-" if b is None else "~"
        yield (f"  {mark} {_pair(a, b, 'flops', count_text)} flops, {_pair(a, b, 'bytes', byte_text)} moved, "
               f"{_pair(a, b, 'held', byte_text)} held  {line.place}  {line.text[:60]}")
    if difference.buffers:
        yield "buffers at the peak:"
    for old_buffer, new_buffer in difference.buffers[:8]:
        buffer = new_buffer or old_buffer
        assert buffer is not None
        mark = "+" if old_buffer is None else "-"
        yield f"  {mark} {byte_text(buffer.size):>9}  {buffer.type}  {buffer.name}  {buffer.place or ''}".rstrip()


def _pair(a: SourceLine | None, b: SourceLine | None, name: str, text: object) -> str:
    assert callable(text)
    old, new = (getattr(line, name) if line is not None else 0 for line in (a, b))
    return text(new) if old == new else f"{text(old)} -> {text(new)}"
