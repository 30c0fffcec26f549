"""Laying out text: documents that know where they may be broken into lines.

A document is text, a break, or documents put together. A group is printed on one line if it fits into what is
left of the width, and otherwise with a new line at each of its own breaks. Each document knows its width on one
line, so laying out takes time linear in the text. Source: Lindig, "Strictly Pretty", 2000; as in JAX, what follows
a group does not count when it is asked whether the group fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable


@dataclass(frozen=True, slots=True)
class Text:
    """Text without line breaks of its own; `notes` are comments that go to the end of its line."""
    text: str
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        return len(self.text)


@dataclass(frozen=True, slots=True)
class Break:
    """A new line, or `flat` when its group fits on one line."""
    flat: str = " "

    @property
    def width(self) -> int:
        return len(self.flat)


@dataclass(frozen=True, slots=True)
class Sequence:
    """Documents one after the other."""
    parts: tuple[Doc, ...]
    width: int


@dataclass(frozen=True, slots=True)
class Nest:
    """A document whose new lines are indented further."""
    indent: int
    doc: Doc

    @property
    def width(self) -> int:
        return self.doc.width


@dataclass(frozen=True, slots=True)
class Group:
    """A document that is printed on one line if it fits."""
    doc: Doc

    @property
    def width(self) -> int:
        return self.doc.width


Doc = Text | Break | Sequence | Nest | Group


def concat(*parts: Doc | str) -> Sequence:
    """Documents one after the other; strings are text."""
    docs = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    return Sequence(docs, sum(doc.width for doc in docs))


def join(separator: Doc, docs: Iterable[Doc]) -> Sequence:
    """Documents with a separator between them."""
    parts: list[Doc] = []
    for doc in docs:
        parts += [separator, doc] if parts else [doc]
    return concat(*parts)


def render(doc: Doc, width: int = 80) -> str:
    """The document as text, wrapped at `width` columns where its groups allow."""
    lines: list[tuple[str, list[str]]] = []  # each line with its notes
    line: list[str] = []
    notes: list[str] = []
    column = 0
    stack: list[tuple[int, bool, Doc]] = [(0, False, doc)]  # indentation, on one line?, document
    while stack:
        indent, flat, doc = stack.pop()
        if isinstance(doc, Text):
            line.append(doc.text)
            column += len(doc.text)
            notes += doc.notes
        elif isinstance(doc, Break) and flat:
            line.append(doc.flat)
            column += len(doc.flat)
        elif isinstance(doc, Break):
            lines.append(("".join(line), notes))
            line, notes, column = [" " * indent], [], indent
        elif isinstance(doc, Sequence):
            stack += [(indent, flat, part) for part in reversed(doc.parts)]
        elif isinstance(doc, Nest):
            stack.append((indent + doc.indent, flat, doc.doc))
        else:
            stack.append((indent, flat or doc.width <= width - column, doc.doc))
    lines.append(("".join(line), notes))
    return "\n".join(_with_notes(lines))


def _with_notes(lines: list[tuple[str, list[str]]]) -> Iterable[str]:
    """The lines with their notes as comments in one column; a second note of a line goes below the first."""
    column = max(len(text) for text, _ in lines)
    for text, notes in lines:
        if not notes:
            yield text
        for i, note in enumerate(notes):
            yield f"{'' if i else text:<{column}} # {note}"
