"""The page of a report: one file without a network, in which the parts of a program are linked by the user's line.

The styles and the script stand beside this module. Whatever comes from a program is escaped.
"""

from __future__ import annotations

import json
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Sequence

from laminax._src.explaining.source_table import source_table
from laminax._src.explaining.structure import Block, repeated
from laminax._src.explaining.tables import Row, bar, table
from laminax._src.inspecting.memory import Buffer, MemoryRun, alike, group_name
from laminax._src.inspecting.places import Place, byte_text, count_text

if TYPE_CHECKING:
    from laminax._src.explaining.compiled_costs import Collective
    from laminax._src.explaining.report import Report
    from laminax._src.explaining.texts import Text

_POINTS, _BUFFERS, _LONGEST = 600, 200, 20000


def page(report: Report) -> str:
    """The page of a report."""
    numbers = {line.place: i for i, line in enumerate(report.lines)}
    parts = [_heading(report), '<h2 id="source">Source and program</h2>',
             "<p>Point at a line to see what it has become; click to keep it marked and to bring its parts into view.</p>",
             f'<div class="panes"><div class="pane"><div class="scroll">{source_table(report, numbers)}</div></div>'
             f'{_texts((report.jaxpr, report.stablehlo, report.compiled), numbers)}</div>',
             *_memory(report, numbers), *_collectives(report, numbers), *_structure(report, numbers), *_history(report)]
    return document(f"{report.name}: laminax.explain", "\n".join(parts))


def framed(text: str) -> str:
    """A page as a part of another, a notebook, whose styles it is not to change."""
    return (f'<iframe srcdoc="{escape(text, quote=True)}" style="width:100%;height:720px;border:0" '
            'title="laminax.explain" sandbox="allow-scripts"></iframe>')


def document(title: str, body: str) -> str:
    """A page of HTML, complete with its styles and its script; `body` is HTML already, the title is text."""
    folder = resources.files("laminax._src.explaining")
    styles, script = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<title>{escape(title)}</title><style>{styles}</style></head>\n<body><main>\n{body}\n</main><script>{script}</script></body></html>\n')


def _heading(report: Report) -> str:
    where = report.platform if report.devices == 1 else f"{report.devices} devices, {report.platform}"
    seconds = sum(report.history.seconds(what) for what in ("tracing", "lowering", "compiling"))
    cards = [("floating-point operations", count_text(report.flops)), ("moved to and from memory", byte_text(report.bytes)),
             ("in memory at once", byte_text(report.memory.peak)), ("to compile", f"{seconds:.2f} s" if seconds >= 0.005 else "kept")]
    if report.collectives:
        cards.append(("sent by each device", byte_text(sum(c.moved for c in report.collectives))))
    notes = [f"Compiled {report.regions}."] if report.regions else []
    if report.has_unknown_loops:
        notes.append("Loops whose length is not known before they run count once.")
    links = [("source", "Source"), ("memory", "Memory"), *([("devices", "Devices")] if report.collectives else []),
             ("structure", "Structure"), ("compiling", "Compiling")]
    return (f'<h1>{escape(report.name)} <span class="muted">on {escape(where)}</span></h1>{_paragraphs(notes)}{_cards(cards)}<nav>'
            + "".join(f'<a href="#{target}">{title}</a>' for target, title in links) + "</nav>")


def _cards(cards: Iterable[tuple[str, str]]) -> str:
    made = [f'<div class="card"><b>{escape(value)}</b><span>{escape(name)}</span></div>' for name, value in cards]
    return f'<div class="cards">{"".join(made)}</div>'


def _paragraphs(notes: Iterable[str]) -> str:
    return "".join(f"<p>{escape(note)}</p>" for note in notes)


def link(place: Place | None, numbers: dict[Place, int]) -> str:
    """The attribute that links an element to a line."""
    number = _number(place, numbers)
    return f' data-p="{number}"' if number is not None else ""


def _number(place: Place | None, numbers: dict[Place, int]) -> int | None:
    return numbers.get(place) if place is not None else None


def _texts(texts: Sequence[Text], numbers: dict[Place, int]) -> str:
    tabs = "".join(f'<button role="tab" aria-controls="text{i}" aria-selected="{"false" if i else "true"}">{escape(text.title)}</button>'
                   for i, text in enumerate(texts))
    return f'<div class="pane"><div class="tabs" role="tablist">{tabs}</div>' + "".join(
        f'<div class="scroll" role="tabpanel" id="text{i}"{" hidden" if i else ""}><pre>{"".join(_lines(text, numbers))}</pre></div>'
        for i, text in enumerate(texts)) + "</div>"


def _lines(text: Text, numbers: dict[Place, int]) -> Iterator[str]:
    for line, place in zip(text.lines[:_LONGEST], text.places):
        yield f"<span{link(place, numbers)}>{escape(line, quote=False)}</span>"
    if len(text.lines) > _LONGEST:
        yield f"<span>... and {len(text.lines) - _LONGEST} more lines, which the report has</span>"


def _memory(report: Report, numbers: dict[Place, int]) -> Iterator[str]:
    memory = report.memory
    yield '<h2 id="memory">Memory over the run</h2>'
    yield _paragraphs([f"{byte_text(memory.peak)} at once: arguments {byte_text(memory.arguments)} and results "
                       f"{byte_text(memory.results)}, of which {byte_text(memory.shared)} are both, and {byte_text(memory.temporary)} "
                       "for what lies between."])
    yield _chart(memory, numbers)
    yield _paragraphs([f"What is in memory then: {len(memory.at_peak)} values, and {byte_text(max(memory.gaps, 0))} between them that no "
                       "value needs."])
    yield table((("together", ""), ("each", ""), ("values", ""), ("type", "c"), ("value", "wide"), ("made by", "t"), ("steps", "extra")),
                _buffer_rows(alike(memory.at_peak), numbers))


def _buffer_rows(groups: Sequence[Sequence[Buffer]], numbers: dict[Place, int]) -> Iterator[Row]:
    for group in groups[:_BUFFERS]:
        first = group[0]
        life = "all" if first.kind != "temporary" else f"{first.first} to {first.last}" if len(group) == 1 else ""
        together = byte_text(sum(b.size for b in group))
        yield link(first.place, numbers), [together, byte_text(first.size), str(len(group)), escape(first.type), escape(group_name(group)),
                                           escape(str(first.place or "")), life]
    rest = [b for group in groups[_BUFFERS:] for b in group]
    if rest:
        yield "", [byte_text(sum(b.size for b in rest)), "", str(len(rest)), "", "others", "", ""]


def _chart(memory: MemoryRun, numbers: dict[Place, int]) -> str:
    """A picture of the bytes in use at each step."""
    count, fixed = len(memory.in_use), memory.arguments + memory.results - memory.shared
    points, top = _points(memory.in_use), max(memory.peak, 1)
    heights = [f"{1000 * (1 - memory.in_use[i] / top):.1f}" for i in points]
    stairs = " ".join(f"H{i} V{height}" for i, height in zip(points[1:], heights[1:]))
    data = json.dumps([[i, byte_text(memory.in_use[i]), _step(memory, i), _number(memory.steps[i][1], numbers)] for i in points])
    peak = memory.peak_step
    return (
        f'<div class="pane chart"><div class="axis"><span>{byte_text(memory.peak)}</span><span>grey: arguments and results</span></div>'
        f'<svg viewBox="0 0 {count} 1000" preserveAspectRatio="none" role="img" aria-label="memory in use at each step" '
        f'data-steps="{count}" data-points="{escape(data)}"><path class="area" d="M0,1000 V{heights[0]} {stairs} H{count} V1000 Z"/>'
        f'<rect class="base" x="0" width="{count}" y="{1000 * (1 - fixed / top):.1f}" height="{1000 * fixed / top:.1f}"/>'
        f'<line class="at" x1="{peak + .5}" x2="{peak + .5}" y1="0" y2="1000"/>'
        '<line class="cursor" hidden x1="0" x2="0" y1="0" y2="1000"/></svg>'
        f'<div class="axis"><span>step 0</span><span>step {count}</span></div>'
        f'<div class="tip">The most is in use at step {peak}, {escape(_step(memory, peak))}.</div></div>')


def _step(memory: MemoryRun, step: int) -> str:
    what, place = memory.steps[step]
    return f"{what} at {place}" if place is not None else what


def _points(in_use: Sequence[int]) -> list[int]:
    """Steps to draw: all, or the highest of each stretch of a long run, and the first."""
    width = -(-len(in_use) // _POINTS)
    highest = [max(range(start, min(start + width, len(in_use))), key=in_use.__getitem__) for start in range(0, len(in_use), width)]
    return list(dict.fromkeys([0, *highest]))


def _collectives(report: Report, numbers: dict[Place, int]) -> Iterator[str]:
    if not report.collectives:
        return
    yield '<h2 id="devices">Between devices</h2>'
    sent = byte_text(sum(c.moved for c in report.collectives))
    yield _paragraphs([f"Each device sends {sent} in one run, {byte_text(sum(report.resharding.values()))} of it since the compiler splits "
                       "values in another way there (resharding), the rest where the program says so."])
    groups: dict[tuple[Any, ...], list[Collective]] = {}
    for c in report.collectives:
        groups.setdefault((c.place, c.kind, c.devices, c.is_asked_for, c.operation), []).append(c)
    yield table(
        (("sent", ""), ("times", ""), ("kind", "t"), ("devices", ""), ("line", "t"), ("why", "t"), ("operation", "wide extra")),
        [(link(place, numbers), [byte_text(sum(c.moved for c in group)), str(sum(c.times for c in group)), escape(kind), str(devices),
                                 escape(str(place or "")), "asked for" if is_asked_for else "resharding", escape(operation)])
         for (place, kind, devices, is_asked_for, operation), group in sorted(groups.items(), key=lambda g: -sum(c.moved for c in g[1]))])


def _structure(report: Report, numbers: dict[Place, int]) -> Iterator[str]:
    yield '<h2 id="structure">Structure</h2>'
    yield _paragraphs(["Blue: calls; green: loops; orange: branches; grey: scopes; red: each device runs it on its part; on violet "
                       "ground: derivatives backwards. Blocks that repeat are shown once."])
    yield f'<div class="graph">{_block(report.structure, numbers, 0)}</div>'


def _block(block: Block, numbers: dict[Place, int], depth: int) -> str:
    place = block.places[0] if block.places else None
    backward = " backward" if block.is_backward else ""
    flops = f' <span class="muted">{count_text(block.flops)} flops</span>' if block.flops else ""
    chips = "".join(f'<span class="chip split" style="background:{_colour(text)}">{escape(text)}</span>' for text in block.shardings)
    moves: dict[str, int] = {}
    for c in block.collectives:
        moves[c.kind] = moves.get(c.kind, 0) + c.moved
    chips += "".join(f'<span class="chip move">{escape(kind)} {byte_text(moved)}</span>' for kind, moved in moves.items())
    if block.kind == "operations":
        names = "".join(f'<span class="chip">{f"{count} " if count > 1 else ""}{escape(name)}</span>'
                        for name, count in block.operations.most_common())
        return f'<div class="leaf{backward}"{link(place, numbers)}>{names}{flops} {chips}</div>'
    inner = "".join(_group(count, blocks, numbers, depth + 1) for count, blocks in repeated(block.blocks))
    times = f" \u00d7 {block.times}" if block.times > 1 else ""
    where = f' <span class="muted"{link(place, numbers)}>{escape(str(place))}</span>' if place is not None else ""
    head = f"<summary>{escape(block.name)}{times}{flops}{where} {chips}</summary>"
    return f'<details class="{block.kind}{backward}"{" open" if depth < 2 else ""}>{head}<div class="in">{inner}</div></details>'


def _group(count: int, blocks: Sequence[Block], numbers: dict[Place, int], depth: int) -> str:
    inner = "".join(_block(block, numbers, depth + (count > 1)) for block in blocks)
    if count == 1:
        return inner
    return f'<details class="repeat" open><summary>{count} times in turn</summary><div class="in">{inner}</div></details>'


def _colour(text: str) -> str:
    """A colour for a sharding, the same for the same text, dark enough for white letters."""
    return f"hsl({sum((i + 1) * ord(char) for i, char in enumerate(text)) * 47 % 360} 55% 36%)"


def _history(report: Report) -> Iterator[str]:
    history = report.history
    yield '<h2 id="compiling">Tracing and compiling</h2>'
    kept = [name for name, is_kept in (("the trace", history.was_traced), ("the compiled program", history.was_compiled)) if is_kept]
    notes = [f"Kept from an earlier call: {' and '.join(kept)}."] if kept else []
    if history.was_compiled_again:
        notes.append("That program came from the disk and named lines of an earlier version, so it was compiled again.")
    if history.disk_hits or history.disk_misses:
        notes.append(f"The cache on disk had {history.disk_hits} programs, and had not {history.disk_misses}.")
    yield _paragraphs(notes)
    longest = max([phase.seconds for phase in history.phases], default=0.0) or 1.0
    yield table((("phase", "t"), ("function or region", "wide"), ("seconds", "")), [
        ("", [escape(phase.what), escape(phase.name), bar(phase.seconds / longest, f"{phase.seconds:.3f}")]) for phase in history.phases])
    if len(history.traces) > 1:
        yield f"<p>The function has been traced {len(history.traces)} times. Why each time, beside the first:</p><ul>"
        for trace in history.traces[1:]:
            mark = " (this one)" if trace.is_this else ""
            yield (f"<li><code>{escape(trace.arguments[:300])}</code>{mark}<ul>" + "".join(f"<li>{escape(r)}</li>" for r in trace.reasons)
                   + "</ul></li>")
        yield "</ul>"
