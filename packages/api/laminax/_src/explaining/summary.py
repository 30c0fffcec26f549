"""A report in a terminal: the totals, the most expensive lines, the largest buffers, the times of compiling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator

from laminax._src.inspecting.memory import alike, group_name
from laminax._src.inspecting.places import byte_text, count_text

if TYPE_CHECKING:
    from laminax._src.explaining.report import Report

_LINES, _BUFFERS = 8, 5


def summary(report: Report) -> str:
    """The text of `print(report)`."""
    return "\n".join(_parts(report))


def _parts(report: Report) -> Iterator[str]:
    memory, history = report.memory, report.history
    where = report.platform if report.devices == 1 else f"{report.devices} devices ({report.platform})"
    yield f"{report.name} on {where}: {count_text(report.flops)} flops, {byte_text(report.bytes)} moved, {byte_text(memory.peak)} at once"
    if report.regions:
        yield f"  compiled {report.regions}"
    if report.has_unknown_loops:
        yield "  loops whose length is not known before they run count once"
    yield ""
    yield f"{'time':>6}  {'flops':>8}  {'moved':>8}  {'memory':>8}  line"
    ranked = sorted(report.lines, key=lambda line: -line.share)
    for line in ranked[:_LINES]:
        yield (f"{line.share:>6.1%}  {count_text(line.flops):>8}  {byte_text(line.bytes):>8}  {byte_text(line.held):>8}  "
               f"{line.place}  {line.text[:70]}")
    if len(ranked) > _LINES:
        yield f"{sum(line.share for line in ranked[_LINES:]):>6.1%}  in {len(ranked) - _LINES} other lines"
    yield ""
    yield (f"memory: {byte_text(memory.peak)} at once = arguments {byte_text(memory.arguments)} + results {byte_text(memory.results)} - "
           f"shared {byte_text(memory.shared)} + between {byte_text(memory.temporary)}")
    groups = alike(memory.at_peak)
    what, place = memory.steps[memory.peak_step]
    yield f"the most is in use at step {memory.peak_step} of {len(memory.steps)}, {what}{f' at {place}' if place is not None else ''}:"
    for group in groups[:_BUFFERS]:
        buffer, many = group[0], f"{len(group)} x " if len(group) > 1 else ""
        yield (f"{byte_text(sum(b.size for b in group)):>10}  {many}{buffer.type:<{20 - len(many)}} {group_name(group)}"
               f"{f'  {buffer.place}' if buffer.place else ''}")
    rest = [b for group in groups[_BUFFERS:] for b in group]
    if rest:
        yield f"{byte_text(sum(b.size for b in rest)):>10}  in {len(rest)} others"
    if report.collectives:
        yield ""
        total = sum(c.moved for c in report.collectives)
        yield f"each device sends {byte_text(total)} in {sum(c.times for c in report.collectives)} collectives"
        for where_, moved in sorted(report.resharding.items(), key=lambda item: -item[1])[:_BUFFERS]:
            yield f"{byte_text(moved):>10}  resharding at {where_ if where_ is not None else 'an unknown line'}"
    yield ""
    times = [f"{what} {history.seconds(what):.2f} s" for what in ("tracing", "lowering", "compiling") if history.seconds(what)]
    kept = [name for name, is_kept in (("traced", history.was_traced), ("compiled", history.was_compiled)) if is_kept]
    yield "; ".join([*times, *([f"{' and '.join(kept)} before"] if kept else []),
                     *([f"{history.disk_hits} programs from the cache on disk"] if history.disk_hits else [])])
    if len(history.traces) > 1:
        yield f"traced {len(history.traces)} times:"
        for trace in history.traces[1:]:
            yield f"  for ({trace.arguments[:80]}): {'; '.join(trace.reasons[:3])}"
