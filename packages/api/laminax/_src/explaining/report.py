"""The report about a program: what `laminax.explain` returns."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from dataclasses import dataclass, field
from pathlib import Path

from laminax._src.explaining.compiled_costs import Collective
from laminax._src.explaining.history import History
from laminax._src.explaining.page import framed, page
from laminax._src.explaining.structure import Block
from laminax._src.explaining.summary import summary
from laminax._src.explaining.texts import Text
from laminax._src.inspecting.memory import MemoryRun
from laminax._src.inspecting.places import Place


@dataclass(frozen=True)
class SourceLine:
    """A line of the user's source, and what it costs in one run.

    Attributes:
      place: its file and number.
      text: the line.
      operations: how many operations it makes; in loops, each time.
      flops: operations on numbers that the program asks for there.
      bytes: bytes that the compiled program reads and writes there.
      share: its share of the estimated time, from 0 to 1.
      held: the most bytes that values made there take at once.
      in_use: the most bytes that the whole program has in memory while it runs.
      moved: bytes that each device sends there.
    """

    place: Place
    text: str
    operations: float
    flops: float
    bytes: float
    share: float
    held: int
    in_use: int
    moved: int


@dataclass(frozen=True)
class Report:
    """A report about a compiled function: `print` it, or `show` it in a browser.

    Attributes:
      name: the function's name.
      platform: where it runs: "cpu", "gpu", "tpu".
      devices: over how many devices its program is split.
      lines: the user's lines that made operations, in the order of files and lines.
      flops: operations on numbers that the program asks for in one run, on all devices; an elementwise operation counts one.
      bytes: bytes that the compiled program reads and writes, on each device.
      memory: memory over its run, on each device.
      structure: the program as blocks within blocks.
      history: phases and times of compiling, caches, and why it was traced again.
      collectives: what devices send each other.
      jaxpr, stablehlo, compiled: the texts of the program, with a place for each line.
      regions: how it is compiled, if by regions: the decision in words; or empty.
      has_unknown_loops: whether there are loops of a length that is not known before they run; they count once.
    """

    name: str
    platform: str
    devices: int
    lines: tuple[SourceLine, ...]
    flops: float
    bytes: float
    memory: MemoryRun
    structure: Block
    history: History
    collectives: tuple[Collective, ...]
    jaxpr: Text = field(repr=False)
    stablehlo: Text = field(repr=False)
    compiled: Text = field(repr=False)
    regions: str = ""
    has_unknown_loops: bool = False

    def __str__(self) -> str:
        return summary(self)

    def __repr__(self) -> str:
        return str(self)

    @property
    def resharding(self) -> dict[Place | None, int]:
        """The bytes that each device sends where the compiler splits values in another way, by line; what the program asks for, such as
        `psum`, does not count."""
        found: dict[Place | None, int] = {}
        for collective in self.collectives:
            if not collective.is_asked_for:
                found[collective.place] = found.get(collective.place, 0) + collective.moved
        return found

    def line(self, text: str) -> SourceLine:
        """The costs of the line that contains a text.

        Raises:
          KeyError: if no line does, or several do.
        """
        found = [line for line in self.lines if text in line.text]
        if len(found) != 1:
            raise KeyError(f"{len(found)} lines with costs contain {text!r}; there are {[line.text for line in self.lines]}")
        return found[0]

    def html(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report as a page that needs no network and no server.

        Args:
          path: the file to write; by default none is.

        Returns:
          The page's text.
        """
        text = page(self)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def show(self) -> str:
        """Opens the report in a browser; returns the path of the file, which is temporary."""
        return show_page(self.html(), self.name)

    def _repr_html_(self) -> str:
        return framed(self.html())


def show_page(text: str, name: str) -> str:
    """Writes a page to a temporary file and opens it in a browser; returns the file's path."""
    with tempfile.NamedTemporaryFile("w", prefix=f"laminax-{name}-".replace(os.sep, "_"), suffix=".html", delete=False,
                                     encoding="utf-8") as file:
        file.write(text)
    webbrowser.open(Path(file.name).as_uri())
    return file.name
