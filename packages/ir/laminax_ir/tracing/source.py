"""Source positions: which line of the user's program made an equation.

An equation records (code object, instruction offset, name stack); turning that into file and line waits
until somebody looks. The user's frame is the first one outside the folders registered as internal. Finding
it costs one `sys._getframe` and one dictionary look-up per internal frame: 0.7 to 0.9 microseconds through the two frames
that are between a user and a recorded equation, a quarter of what staging the equation costs.
"""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any, NamedTuple

from laminax_ir.options import config
from laminax_ir.options.ambient import Ambient, Scope, subscribe
from laminax_ir.options.records import Record
from laminax_ir.tracing.name_stacks import NameStack, no_names
from laminax_ir.tracing.trace import state

_own_folders: list[str] = [os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep]
_library_paths: list[str] = []
_is_passed_over: dict[str, bool] = {}
_wants_callers = config.include_full_tracebacks_in_locations
_wanting: set[Any] = set()  # threads that want callers, None for all; tested first, since to read the option takes longer


class SourceInfo(NamedTuple):
    """Where an equation comes from; cheap to make, formatted by `summarize`."""
    code: CodeType | SavedCode | None
    offset: int
    name_stack: NameStack

    def __reduce__(self) -> tuple[Any, ...]:
        where = position(self)
        return SourceInfo, (None if where is None else SavedCode(where.file, where.line, where.column, where.function), 0, self.name_stack)


class SavedCode(NamedTuple):
    """Stands for the code of a record that was pickled, which cannot be: one place in it, with the attributes of code that are read."""
    co_filename: str
    co_firstlineno: int
    column: int
    co_qualname: str

    def co_positions(self) -> list[tuple[int, int, int, int]]:
        return [(self.co_firstlineno, self.co_firstlineno, self.column - 1, self.column)]


_new_tuple = tuple.__new__  # a named tuple's own constructor costs three times as much
unknown = SourceInfo(None, -1, no_names)


def register_internal_folder(module_file: str) -> None:
    """Marks the folder of `module_file` as laminax's own: its frames are never the user's."""
    _own_folders.append(os.path.dirname(os.path.abspath(module_file)) + os.sep)
    _is_passed_over.clear()


def pass_over(path: str) -> None:
    """Leaves the frames of a library's file, or of all files whose paths begin so, out of the search for the user's position."""
    _library_paths.append(path)
    _is_passed_over.clear()


def is_internal(filename: str) -> bool:
    """Whether a file is laminax's own."""
    return filename.startswith(tuple(_own_folders))


def current(depth: int = 2) -> SourceInfo:
    """The user's position, searched from `depth` frames above this one."""
    if state.source is not None:
        return state.source
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        code = frame.f_code
        filename = code.co_filename
        passed_over = _is_passed_over.get(filename)
        if passed_over is None:
            passed_over = _is_passed_over[filename] = filename.startswith((*_own_folders, *_library_paths))
        if not passed_over:
            if _wanting and _wants_callers.value:
                return _with_callers(frame)
            return _new_tuple(SourceInfo, (code, frame.f_lasti, state.name_stack))
        frame = frame.f_back
    return unknown


class SourceInfoWithCallers(SourceInfo):
    """A record with the user's calls around it: (code object, instruction offset) of each, the innermost first."""

    callers: tuple[tuple[CodeType, int], ...] = ()


def _with_callers(frame: FrameType) -> SourceInfoWithCallers:
    """The record of a user's frame with as many callers as the option `traceback_in_locations_limit` says."""
    limit = config.traceback_in_locations_limit.value
    located = SourceInfoWithCallers(frame.f_code, frame.f_lasti, state.name_stack)
    found: list[tuple[CodeType, int]] = []
    outer = frame.f_back
    while outer is not None and (limit < 0 or len(found) < limit - 1):  # the frame itself counts
        if not _is_passed_over_file(outer.f_code.co_filename):
            found.append((outer.f_code, outer.f_lasti))
        outer = outer.f_back
    located.callers = tuple(found)
    return located


def _follow_option(option: Ambient, scope: Scope, value: Any) -> None:
    (_wanting.add if value is True else _wanting.discard)(None if scope == "global" else threading.get_ident())


subscribe(_follow_option, _wants_callers)


def _is_passed_over_file(filename: str) -> bool:
    known = _is_passed_over.get(filename)
    if known is None:
        known = _is_passed_over[filename] = filename.startswith((*_own_folders, *_library_paths))
    return known


class Position(Record):
    """A place in a file: 1-based line and column."""
    file: str
    line: int
    column: int
    function: str


def position(info: SourceInfo) -> Position | None:
    """File, line, column and function of a record; None when it is unknown."""
    if info.code is None:
        return None
    index = info.offset // 2
    for i, (line, _end_line, column, _end_column) in enumerate(info.code.co_positions()):
        if i == index:
            return Position(info.code.co_filename, line or info.code.co_firstlineno, (column or 0) + 1,
                            info.code.co_qualname)
    return Position(info.code.co_filename, info.code.co_firstlineno, 1, info.code.co_qualname)


def summarize(info: SourceInfo) -> str:
    """`train.py:41 in train_step`, or an empty string when unknown."""
    where = position(info)
    if where is None:
        return ""
    return f"{os.path.basename(where.file)}:{where.line} in {where.function.rpartition('<locals>.')[2]}"
