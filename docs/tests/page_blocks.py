"""The Python in a page of documentation, executed: what a page shows is what the programs in it print.

    python docs/tests/page_blocks.py docs/quickstart.md

Blocks fenced as ```python run from the top in one namespace, as a reader would type them. A block with `>>>` shows after each statement
what it prints, as in the standard library's doctest, `...` standing for anything; where a statement raises, the last lines are the
exception's type and message. A block without `>>>` is a program, and a block ```output right after it is what it prints. A comment
before a block says what is otherwise:

    <!-- not run: needs a GPU -->
    <!-- a process of its own -->      the block, and those after it, start with nothing
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass

BLOCK = re.compile(r"(?:^<!-- *(?P<remark>[^\n]*?) *-->\n+)?^```(?P<language>[\w-]*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
COMPARED = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MARK = "a process of its own"


@dataclass
class Block:
    """One fenced block: its text, the line of the page it begins in, and what it should print (None: nothing is compared)."""

    text: str
    line: int
    remark: str = ""
    output: str | None = None


class PageError(Exception):
    """A block does not do what the page shows."""


def python_blocks(page: str) -> list[Block]:
    """The blocks of a page that are Python, each with the output that follows it."""
    blocks: list[Block] = []
    end = -1
    for match in BLOCK.finditer(page):
        line = page.count("\n", 0, match.start("text")) + 1
        if match["language"] == "python":
            blocks.append(Block(match["text"], line, match["remark"] or ""))
            end = match.end()
        elif match["language"] == "output":
            if end < 0 or page[end : match.start()].strip():
                raise PageError(f"line {line}: an output without a program right before it")
            blocks[-1].output = match["text"]
    return blocks


def processes(blocks: list[Block]) -> list[list[Block]]:
    """The blocks that run, by process; those marked as not run need a reason."""
    groups: list[list[Block]] = [[]]
    for block in blocks:
        if block.remark.startswith("not run"):
            if not block.remark.partition(":")[2].strip():
                raise PageError(f"line {block.line}: say why it is not run, <!-- not run: reason -->")
            continue
        if block.remark == MARK:
            groups.append([])
        groups[-1].append(block)
    return [group for group in groups if group]


def run_block(block: Block, names: dict[str, object], page: str) -> None:
    if ">>>" in block.text:
        for example in doctest.DocTestParser().get_examples(block.text):
            line = block.line + example.lineno
            printed, error = execute(example.source, "single", names)
            if error is not None and example.exc_msg is None:
                raise PageError(f"{page}:{line}: {example.source}raised {''.join(traceback.format_exception(error))}") from error
            if example.exc_msg is not None:
                printed, expected = ("" if error is None else shown(error)), example.exc_msg
            else:
                expected = example.want
            compare(expected, printed, f"{page}:{line}: {example.source}")
        return
    printed, error = execute(block.text, "exec", names)
    if error is not None:
        raise PageError(f"{page}:{block.line}: {''.join(traceback.format_exception(error))}") from error
    if block.output is not None or printed:
        compare(block.output or "", printed, f"{page}:{block.line}: the program")


def execute(source: str, mode: str, names: dict[str, object]) -> tuple[str, Exception | None]:
    """What running the source prints on standard output, and the exception it ends with."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(source, "<stdin>", mode), names)  # the file that messages name where a reader types the same
        except Exception as error:
            return printed.getvalue(), error
    return printed.getvalue(), None


def shown(error: Exception) -> str:
    """Type and message, as a traceback ends; without the notes."""
    name = type(error).__qualname__
    if type(error).__module__ != "builtins":
        name = f"{type(error).__module__}.{name}"
    return f"{name}: {error}\n"


def compare(expected: str, printed: str, what: str) -> None:
    if not doctest.OutputChecker().check_output(expected, printed, COMPARED):
        raise PageError(f"{what}\nshould print\n{expected}\nand prints\n{printed}")


def run_page(page: pathlib.Path) -> int:
    """Runs a page, each of its processes apart; returns how many blocks have run."""
    groups = processes(python_blocks(page.read_text()))
    for number in range(len(groups)):
        with tempfile.TemporaryDirectory() as folder:  # programs write their files there
            command = [sys.executable, __file__, str(page.absolute()), str(number)]
            path = os.pathsep.join(filter(None, map(os.path.abspath, sys.path)))
            done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=600,
                                  env={**os.environ, "LAMINAX_PLATFORMS": "cpu", "PYTHONPATH": path, "MPLBACKEND": "Agg"})
        if done.returncode:
            raise PageError(done.stdout + done.stderr)
    return sum(map(len, groups))


def main(page: str, number: str | None = None) -> None:
    if number is None:
        print(f"{run_page(pathlib.Path(page))} blocks ran")
        return
    names: dict[str, object] = {"__name__": "__main__"}
    try:
        for block in processes(python_blocks(pathlib.Path(page).read_text()))[int(number)]:
            run_block(block, names, pathlib.Path(page).name)
    except PageError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
