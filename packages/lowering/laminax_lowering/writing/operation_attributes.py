"""Attributes that users give to operations: they are written into the text of the operation, as MHLO's frontend attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable

from laminax_ir.tracing.operation_attributes import attributes_of
from laminax_lowering.writing.ssa_values import Value
from laminax_lowering.writing.types import string_text

if TYPE_CHECKING:  # the writer's module imports this one
    from laminax_lowering.writing.context import FunctionWriter

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[(){}]')
_ATTRIBUTE = re.compile(r'("(?:[^"\\]|\\.)*"|[\w.]+) = "')


def attributed(rule: Callable) -> Callable:
    """The lowering rule that gives the operations that make its results the attributes of the equation."""
    def attributed_rule(ctx: FunctionWriter, *operands: Any, **params: Any) -> Any:
        result = rule(ctx, *operands, **params)
        attributes = attributes_of(ctx.eqn.source_info.name_stack)
        if attributes:
            for value in [result] if isinstance(result, Value) else result:
                give_attributes(ctx, value, attributes)
        return result
    return attributed_rule


def give_attributes(ctx: Any, value: Value, attributes: Mapping[str, str]) -> None:
    """Gives the operation that a value is a result of attributes beside its own; parameters and constants have none."""
    made = value.name.partition("#")[0]
    for i in reversed(range(len(ctx.lines))):
        if ctx.lines[i].startswith((f"{made} = ", f"{made}:")):
            ctx.lines[i] = _with_attributes(ctx.lines[i], attributes)
            return


def _with_attributes(line: str, attributes: Mapping[str, str]) -> str:
    """An operation's text, in the generic form or that of calls, with further frontend attributes."""
    operands = next((token.start() for token in _TOKEN.finditer(line) if token.group() == "("), None)
    if operands is None or not re.match(r'\S+ = (?:"|func\.call )', line):
        return line  # of the operations in short forms none computes anything
    end = _end_of_group(line, operands)
    if line.startswith(" (", end):  # its regions
        end = _end_of_group(line, end + 1)
    if not line.startswith(" {", end):
        return f"{line[:end]} {{{_frontend_attributes(attributes)}}}{line[end:]}"
    start, end = end + 2, _end_of_group(line, end + 1) - 1
    own = line[start:end]
    given = own.find("mhlo.frontend_attributes = {")
    if given < 0:
        return f"{line[:end]}, {_frontend_attributes(attributes)}{line[end:]}"
    inner = own.index("{", given)
    names = {name.strip('"') for name in _ATTRIBUTE.findall(own[inner:_end_of_group(own, inner)])}
    added = _listed({name: text for name, text in attributes.items() if name not in names})
    inner += start + 1
    return f"{line[:inner]}{added}{', ' if added else ''}{line[inner:]}"


def _frontend_attributes(attributes: Mapping[str, str]) -> str:
    return f"mhlo.frontend_attributes = {{{_listed(attributes)}}}"


def _listed(attributes: Mapping[str, str]) -> str:
    return ", ".join(f"{name if name.isidentifier() and name.isascii() else string_text(name)} = {string_text(text)}"
                     for name, text in attributes.items())


def _end_of_group(text: str, start: int) -> int:
    """Where the group in brackets that begins at `start` ends; brackets in strings do not count."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += {"(": 1, "{": 1, ")": -1, "}": -1}.get(token.group(), 0)
        if depth == 0:
            return token.end()
    raise AssertionError(f"brackets that do not close: {text[start:]}")
