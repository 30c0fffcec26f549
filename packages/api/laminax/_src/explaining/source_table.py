"""The user's source as a table of a page: each line with what it costs."""

from __future__ import annotations

import linecache
import os
from html import escape
from typing import TYPE_CHECKING, Iterator

from laminax._src.inspecting.places import Place, byte_text, count_text

if TYPE_CHECKING:
    from laminax._src.explaining.report import Report, SourceLine

_AROUND, _LONGEST_GAP = 2, 8  # lines shown around those with costs, and how many lines without are left out at least


def source_table(report: Report, numbers: dict[Place, int]) -> str:
    """The lines of each file from the first to the last with costs; long stretches without are left out."""
    heads = ('<th></th><th title="share of the estimated time">time</th><th>flops</th><th title="bytes read and written">moved</th>'
             '<th title="the most bytes that values made here take at once">held</th><th class="extra" title="the most bytes in use '
             'while it runs">in use</th><th class="extra" title="operations that it makes">ops</th><th class="t">line</th>')
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(_rows(report, numbers))}</tbody></table>"


def _rows(report: Report, numbers: dict[Place, int]) -> Iterator[str]:
    by_file: dict[str, dict[int, SourceLine]] = {}
    for line in report.lines:
        by_file.setdefault(line.place.file, {})[line.place.line] = line
    by_share = sorted(by_file.items(), key=lambda item: -sum(line.share for line in item[1].values()))
    for file, costed in by_file.items() if len(by_file) == 1 else by_share:
        if len(by_file) > 1:
            yield f'<tr class="file"><td colspan="8">{escape(_short_path(file))}</td></tr>'
        text = linecache.getlines(file)
        before = 0
        for number in _shown(sorted(costed), len(text)):
            if before and number > before + 1:
                yield '<tr class="gap"><td colspan="8">\u22ef</td></tr>'
            source = text[number - 1].rstrip("\n") if number <= len(text) else ""
            yield _row(number, source, costed.get(number), numbers)
            before = number


def _short_path(file: str) -> str:
    """The path of a file from the current folder, if it lies there."""
    here = os.path.join(os.getcwd(), "")
    return file.removeprefix(here)


def _shown(costed: list[int], length: int) -> Iterator[int]:
    """The numbers of the lines to show."""
    last = 0
    for number in costed:
        start = max(number - _AROUND, 1)
        if last and start - last <= _LONGEST_GAP:
            start = last + 1
        yield from range(max(start, last + 1), number + 1)
        end = min(number + _AROUND, max(length, number))
        yield from (following := [n for n in range(number + 1, end + 1) if n not in costed and not any(number < c <= n for c in costed)])
        last = following[-1] if following else number


def _row(number: int, source: str, line: SourceLine | None, numbers: dict[Place, int]) -> str:
    number_cell, code = f'<td class="n">{number}</td>', f'<td class="c">{escape(source, quote=False)}</td>'
    if line is None:
        return f'<tr class="plain">{number_cell}<td colspan="4"></td><td class="extra" colspan="2"></td>{code}</tr>'
    cells = [count_text(line.flops) if line.flops else "", *(byte_text(count) if count else "" for count in (line.bytes, line.held))]
    further = [byte_text(line.in_use) if line.in_use else "", count_text(line.operations)]
    share = f"{line.share:.1%}" if line.share >= 0.0005 else ""
    return (f'<tr data-p="{numbers[line.place]}">{number_cell}<td class="s" style="--w:{100 * line.share:.0f}%">{share}</td>'
            + "".join(f"<td>{cell}</td>" for cell in cells)
            + "".join(f'<td class="extra">{cell}</td>' for cell in further) + f"{code}</tr>")
