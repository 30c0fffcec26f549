"""`debug.breakpoint`: a debugger inside of programs that may be compiled.

Where the function is traced, the frames of the user are kept with their local variables. A callback takes the arrays among these,
and when the program comes there, a command line shows the frames with the values that the arrays have then.
"""

from __future__ import annotations

import cmd
import linecache
import pprint
import sys
import threading
import warnings
from dataclasses import dataclass
from types import FrameType
from typing import IO, Any, Mapping, Sequence

from laminax_ir.ops.callbacks import debug_callback
from laminax_ir.pytrees.pytree import tree_leaves, tree_map
from laminax_ir.tracing import source
from laminax_ir.tracing.trace import Tracer

_CONTEXT = 5  # lines shown before and after the current one
_one_at_a_time = threading.Lock()


def breakpoint(*, backend: str | None = None, filter_frames: bool = True, num_frames: int | None = None, ordered: bool = False,
                     token: Any = None, stdin: IO[str] | None = None, stdout: IO[str] | None = None) -> None:
    """Stops a program, which may be compiled, and lets the user look at the local variables with their values.

    Type `help` at the prompt for the commands: print values, list lines, go up and down the frames, continue, quit.

    Args:
      backend: the debugger; None or "cli", the command line, is the only one.
      filter_frames: whether the frames of laminax itself are left out.
      num_frames: how many frames are kept, the innermost first; by default all.
      ordered: whether it keeps its place among other ordered callbacks.
      token: not supported; use ordered.
      stdin, stdout: where commands are read from and answers are written to; by default the terminal.

    Returns:
      None.

    Raises:
      ValueError: for another backend, or fewer than one frame.
      NotImplementedError: if a token is given.

    Example:
      >>> @jit
      ... def f(x):
      ...     y = x + 1
      ...     debug.breakpoint()
      ...     return y
    """
    if token is not None:
        raise NotImplementedError("debug.breakpoint: token is not supported; ordered=True keeps breakpoints in order")
    if backend not in (None, "cli"):
        raise ValueError(f"debug.breakpoint: backend must be None or 'cli', got {backend!r}")
    if num_frames is not None and (not isinstance(num_frames, int) or num_frames < 1):
        raise ValueError(f"debug.breakpoint: num_frames must be None or an int of at least 1, got {num_frames!r}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # variables may be what no function of arrays should be given, such as generators
        frames = _frames(sys._getframe(1), filter_frames, num_frames)

    def stop(values: Sequence[Mapping[str, Any]]) -> None:
        with _one_at_a_time:
            _CommandLine(frames, values, stdin, stdout).cmdloop()

    debug_callback(stop, [frame.variables for frame in frames], ordered=ordered)


@dataclass(frozen=True)
class _Frame:
    """A frame as it was when the function was traced."""

    file: str
    line: int
    first_line: int
    last_line: int
    variables: Mapping[str, Any]
    module_variables: Mapping[str, Any]

    def describe(self) -> str:
        """The frame's lines around the current one, which has an arrow."""
        lines = [f"> {self.file}({self.line})"]
        for number in range(max(self.first_line, self.line - _CONTEXT), min(self.last_line, self.line + _CONTEXT) + 1):
            lines.append(f"{'->' if number == self.line else '  '}  {linecache.getline(self.file, number).rstrip()}")
        return "\n".join(lines)


def _frames(frame: FrameType | None, filter_frames: bool, count: int | None) -> list[_Frame]:
    """The frames from this one outwards."""
    found: list[_Frame] = []
    while frame is not None and (count is None or len(found) < count):
        code = frame.f_code
        if not (filter_frames and source.is_internal(code.co_filename)):
            lines = [line for _, _, line in code.co_lines() if line]
            variables = {name: _with_tracers_only(value) for name, value in frame.f_locals.items()}
            found.append(_Frame(code.co_filename, frame.f_lineno, min(lines, default=frame.f_lineno), max(lines, default=frame.f_lineno),
                                variables, frame.f_globals))
        frame = frame.f_back
    return found


class _AsItWas:
    """A value that is known while the function is traced: the debugger shows it as it was then."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _with_tracers_only(value: Any) -> Any:
    """A variable's value in which only tracers are leaves: the callback gets their values. Those of ended traces are described."""
    try:
        leaves = tree_leaves(value)
    except (TypeError, ValueError):  # such as keys that cannot be sorted
        return _AsItWas(value)
    if not any(isinstance(leaf, Tracer) for leaf in leaves):
        return _AsItWas(value)

    def keep(leaf: Any) -> Any:
        if not isinstance(leaf, Tracer):
            return _AsItWas(leaf)
        return _AsItWas(f"<{leaf!r} of a function that has returned>") if leaf._trace.ended else leaf

    return tree_map(keep, value)


def _shown(value: Any) -> Any:
    return tree_map(lambda leaf: leaf.value if isinstance(leaf, _AsItWas) else leaf, value)


class _CommandLine(cmd.Cmd):
    """The debugger on the command line."""

    prompt = "(jdb) "
    intro = "Entering jdb:"

    def __init__(self, frames: Sequence[_Frame], values: Sequence[Mapping[str, Any]], stdin: IO[str] | None,
                 stdout: IO[str] | None) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None and stdout is None
        self._frames = frames
        self._values = [{name: _shown(value) for name, value in of_frame.items()} for of_frame in values]
        self._position = 0

    def _write(self, *texts: str) -> None:
        print(*texts, sep="\n", file=self.stdout, flush=True)

    def _evaluate(self, expression: str) -> Any:
        return eval(expression, {**self._frames[self._position].module_variables, **self._values[self._position]})

    def _print(self, expression: str, text: Any) -> None:
        try:
            self._write(text(self._evaluate(expression)))
        except Exception as error:
            self._write(f"*** {type(error).__name__}: {error}")

    def do_p(self, expression: str) -> None:
        """p EXPRESSION: the value of an expression in the variables of the frame."""
        self._print(expression, repr)

    def do_pp(self, expression: str) -> None:
        """pp EXPRESSION: the same, printed prettily."""
        self._print(expression, pprint.pformat)

    def default(self, line: str) -> None:
        """Any other line is an expression."""
        self.do_p(line)

    def emptyline(self) -> bool:
        """An empty line does nothing; in the base class it would repeat the last command."""
        return False

    def do_list(self, _: str) -> None:
        """list, l: the lines around the current one."""
        self._write(self._frames[self._position].describe(), "    ")

    def do_where(self, _: str) -> None:
        """where, w, bt: the frames, the innermost last."""
        self._write("Traceback:")
        for frame in reversed(self._frames):
            self._write(f'  File "{frame.file}", line {frame.line}', f"    {linecache.getline(frame.file, frame.line).strip()}")

    def _move(self, step: int, end: str) -> None:
        if not 0 <= self._position + step < len(self._frames):
            self._write(f"At {end} frame.")
            return
        self._position += step
        self.do_list("")

    def do_up(self, _: str) -> None:
        """up, u: to the frame that called this one."""
        self._move(1, "topmost")

    def do_down(self, _: str) -> None:
        """down, d: to the frame that this one called."""
        self._move(-1, "bottommost")

    def do_continue(self, _: str) -> bool:
        """continue, cont, c: go on with the program."""
        return True

    def do_quit(self, _: str) -> None:
        """quit, q, exit: end the process."""
        sys.exit(0)

    do_l, do_w, do_bt, do_u, do_d, do_c, do_cont = do_list, do_where, do_where, do_up, do_down, do_continue, do_continue
    do_q = do_exit = do_EOF = do_quit
