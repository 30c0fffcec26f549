"""Symbolic shapes as text: "(b, _, 2*b + 1)".

    shape      = ["("] [dimension {"," dimension}] [","] [")"]
    dimension  = "..." | "_" | sum
    sum        = ["+" | "-"] product {("+" | "-") product}
    product    = factor {"*" factor}
    factor     = (number | name | operation "(" sum "," sum ")") ["^" number]
    operation  = "floordiv" | "mod" | "max" | "min"
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Sequence

from laminax_ir.symbolic.symbolic_dims import DimSize, max_dim, min_dim, variable

if TYPE_CHECKING:  # which reads its constraints with this module
    from laminax_ir.symbolic.symbolic_scope import SymbolicScope

_TOKEN = re.compile(r"\s*(?:(\d+(?![\w.]))|([A-Za-z_]\w*)|(\.\.\.|[-+*^(),]))")
_FUNCTIONS = {"floordiv": lambda x, y: x // y, "mod": lambda x, y: x % y, "max": max_dim, "min": min_dim}


def parse_shape(text: str, scope: SymbolicScope, like: Sequence[int | None] | None = None) -> tuple[DimSize, ...]:
    """The shape that a text describes.

    Args:
      text: the text. "_" stands for the size of `like` at that axis, "..." for all that are left.
      scope: the scope of its variables.
      like: sizes, with None where they are not known.

    Raises:
      ValueError: if the text cannot be read, or disagrees with `like`.
    """
    return _Parser(text, scope, f"symbolic shape {text!r}", like).shape()


def parse_dimension(text: str, scope: SymbolicScope, what: str) -> DimSize:
    """Parses the text of one dimension; `what` names what the text is part of, for messages."""
    parser = _Parser(text, scope, f"{what}: symbolic shape {text!r}", None)
    found = parser.sum()
    parser.expect_end()
    return found


class _Parser:
    """Reads a text from left to right."""

    def __init__(self, text: str, scope: SymbolicScope, what: str, like: Sequence[int | None] | None) -> None:
        self.text, self.scope, self.what = text, scope, what
        self.like = None if like is None else tuple(like)
        self.tokens: list[tuple[str, int]] = []  # each with its position
        position = 0
        while text[position:].strip():
            found = _TOKEN.match(text, position)
            if found is None:
                raise self.error(f"unexpected {text[position:].strip()[0]!r}", position)
            self.tokens.append((found.group().strip(), position))
            position = found.end()
        self.tokens.append(("", len(text)))
        self.at = 0

    @property
    def token(self) -> str:
        return self.tokens[self.at][0]

    def error(self, reason: str, position: int | None = None) -> ValueError:
        position = self.tokens[self.at][1] if position is None else position
        return ValueError(f"syntax error in {self.what}, at {self.text[position:]!r}: {reason}")

    def take(self, *expected: str) -> str | None:
        """The next token, if it is one of those."""
        found = self.token
        if found not in expected:
            return None
        self.at += 1
        return found

    def expect_end(self) -> None:
        if self.token:
            raise self.error(f"expected the end, found {self.token!r}")

    def shape(self) -> tuple[DimSize, ...]:
        in_parentheses = self.take("(")
        sizes: list[DimSize] = []
        while self.token and self.token != ")":
            if self.take("..."):
                if self.like is None:
                    raise self.error("'...' stands for axes of 'like', and no 'like' shape was given")
                self._check_like(self.like, sizes, len(sizes))
                sizes += [self._size_of_like(self.like, axis) for axis in range(len(sizes), len(self.like))]
                if self.token and self.token != ")":
                    raise self.error("'...' must come last")
                break
            sizes.append(self._dimension(sizes))
            if not self.take(","):
                break
        if in_parentheses and not self.take(")"):
            raise self.error(f"expected ')', found {self.token or 'the end'!r}")
        self.expect_end()
        if self.like is not None and len(sizes) != len(self.like):
            raise self.error(f"it has {len(sizes)} axes, and 'like' shape has {len(self.like)}")
        return tuple(sizes)

    def _dimension(self, before: Sequence[DimSize]) -> DimSize:
        axis = len(before)
        if self.take("_"):
            if self.like is None:
                raise self.error("'_' stands for an axis of 'like', and no 'like' shape was given")
            self._check_like(self.like, before, axis + 1)
            return self._size_of_like(self.like, axis)
        found = self.sum()
        if (self.like is not None and axis < len(self.like) and (known := self.like[axis]) is not None
                and type(found) is int and found != known):
            raise self.error(f"different size {found} for axis {axis}, whose size in 'like' is {known}")
        return found

    def _check_like(self, like: Sequence[int | None], before: Sequence[DimSize], needed: int) -> None:
        if needed > len(like):
            raise self.error(f"there is no axis for it, because we parsed {len(before)} already and 'like' shape has only {len(like)} "
                             "dimensions")

    def _size_of_like(self, like: Sequence[int | None], axis: int) -> int:
        size = like[axis]
        if size is None:
            raise self.error(f"the size of axis {axis} of 'like' is not known: name it")
        return size

    def sum(self) -> DimSize:
        sign = self.take("+", "-")
        total = -self._product() if sign == "-" else self._product()
        while sign := self.take("+", "-"):
            total = total + self._product() if sign == "+" else total - self._product()
        return total

    def _product(self) -> DimSize:
        result = self._factor()
        while self.take("*"):
            result = result * self._factor()
        return result

    def _factor(self) -> DimSize:
        sign = self.take("+", "-")
        if sign is not None:
            return -self._factor() if sign == "-" else self._factor()
        found = self._atom()
        if self.take("^"):
            if not self.token.isdigit():
                raise self.error(f"expected a number after '^', found {self.token or 'the end'!r}")
            found = found ** int(self.token)
            self.at += 1
        return found

    def _atom(self) -> DimSize:
        token = self.token
        if token.isdigit():
            self.at += 1
            return int(token)
        if not token.isidentifier() or token == "_":
            raise self.error(f"expected a number or a name, found {token or 'the end'!r}")
        self.at += 1
        if token not in _FUNCTIONS:
            return variable(token, self.scope)
        operands = []
        for separator in ("(", ","):
            if not self.take(separator):
                raise self.error(f"expected {separator!r}, since {token} takes two operands")
            operands.append(self.sum())
        if not self.take(")"):
            raise self.error(f"expected ')', since {token} takes two operands")
        return _FUNCTIONS[token](*operands)
