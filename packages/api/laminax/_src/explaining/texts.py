"""The three texts of a program, each line with the user's line that it came from: the jaxpr, the StableHLO, the compiled text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from laminax_ir.programs.jaxpr import ClosedJaxpr

from laminax._src.inspecting.compiled_text import Module
from laminax._src.inspecting.places import Place


@dataclass(frozen=True)
class Text:
    """A text with a place, or None, for each line.

    Attributes:
      title: what it is.
      lines: its lines.
      places: the user's line for each.
    """

    title: str
    lines: tuple[str, ...]
    places: tuple[Place | None, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)


_POSITION = re.compile(r"^(.*):(\d+):\d+ \(.*\)$")


def jaxpr_text(closed: ClosedJaxpr) -> Text:
    """The program, with the places that its printer writes at the ends of lines."""
    lines: list[str] = []
    places: list[Place | None] = []
    for line in closed.pretty_print(source_info=True).split("\n"):
        text, mark, note = line.rpartition(" # ")
        found = _POSITION.match(note) if mark else None
        if found is None and not (mark and note == "unknown"):
            text = line
        if found is not None and not text.strip() and lines:
            continue  # a further operation of the line above
        lines.append(text.rstrip())
        places.append(Place(found[1], int(found[2])) if found is not None else None)
    return Text("jaxpr", tuple(lines), tuple(places))


_LOCATION = re.compile(r" loc\((#loc\d*)\)$")
_DEFINED = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_IN_FILE = re.compile(r'^"((?:[^"\\]|\\.)*)":(\d+)(?::\d+)?')


def stablehlo_text(printed: str) -> Text:
    """A module as `as_text(debug_info=True)` prints it; the locations become places."""
    definitions: dict[str, str] = {}
    body: list[str] = []
    for line in printed.split("\n"):
        if (defined := _DEFINED.match(line)) is not None:
            definitions[defined[1]] = defined[2]
        else:
            body.append(line)
    known: dict[str, Place | None] = {}

    def place(name: str) -> Place | None:
        if name not in known:
            known[name] = None  # a location never leads back to itself
            text = definitions.get(name, "")
            if (found := _IN_FILE.match(text)) is not None and found[1] != "-":
                known[name] = Place(found[1], int(found[2]))
            elif found is None:
                known[name] = next((p for inner in re.findall(r"#loc\d*", text) if (p := place(inner)) is not None), None)
        return known[name]

    lines, places = [], []
    for line in body:
        found = _LOCATION.search(line)
        lines.append(re.sub(r" loc\((?:#loc\d*|unknown)\)", "", line).rstrip())
        places.append(place(found[1]) if found is not None else None)
    while lines and not lines[-1]:
        lines.pop()
        places.pop()
    return Text("StableHLO", tuple(lines), tuple(places))


_METADATA = re.compile(r', metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}')


def compiled_text(modules: list[tuple[str, Module]]) -> Text:
    """The compiled modules, each with a heading where there are several; without the tables and notes that have become places."""
    lines: list[str] = []
    places: list[Place | None] = []
    for heading, module in modules:
        at = {i.text_line: i for computation in module.computations.values() for i in computation.instructions}
        if len(modules) > 1:
            lines += ([""] if lines else []) + [f"// {heading}"]
            places += [None] * (len(lines) - len(places))
        in_tables = False
        for number, line in enumerate(module.text.split("\n")):
            in_tables = in_tables and not line.endswith("{") or line == "FileNames"
            if in_tables or not line and (not lines or not lines[-1]):
                continue
            lines.append(_METADATA.sub("", line))
            places.append(at[number].place if number in at else None)
    return Text("compiled", tuple(lines), tuple(places))
