"""The report of an argument whose value is new in call after call, so that each call makes a program of its own."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from laminax._src.autojit.descriptions import BYTES, CALL, NAMED, NODE, OBJECT, ONCE, OPAQUE, SAME, Description, differences

CALLS = 5  # that each made a new program, one after the other, for a new value in the same place
_SHOWN = 3  # values in the report
_WIDTH = 40


class Changes:
    """The values that were new, by path, in the latest calls; `values` is emptied by a call that was seen before."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: dict[str, list[Description]] = {}
        self.last: Description | None = None
        self._reported: set[str] = set()

    def note(self, description: Description, objects: Sequence[Any], stacklevel: int) -> None:
        """Takes note of a call that makes a new program; warns, once for a path, if it is one too many.

        Args:
          description: of the call.
          objects: the objects that it numbers.
          stacklevel: how many calls lie between this one and the user's.
        """
        last, self.last = self.last, description
        if last is None:
            return
        before, self.values = self.values, {}
        for path, then, now in differences(last, description, objects):
            self.values[path] = values = [*before.get(path, [then]), now]
            if len(values) > CALLS and path not in self._reported:
                self._reported.add(path)
                warnings.warn(self._report(path, values), stacklevel=stacklevel + 1)

    def _report(self, path: str, values: Sequence[Description]) -> str:
        shown = ", ".join(map(_text, values[-_SHOWN:]))
        return (f"autojit({self.name}): {path} was another value in each of the latest {len(values)} calls, the last ones {shown}, and "
                f"each call was traced and compiled anew, since what is no array is part of the program. {_advice(path, values[-1])}")


def _text(description: Description) -> str:
    kind = description[0]
    if kind is float:
        return repr(float(description[1]))
    if isinstance(kind, type):
        text = repr(description[1])
        return text if len(text) <= _WIDTH else text[:_WIDTH - 3] + "..."
    if kind == BYTES:
        return f"NumPy {description[3]}{list(description[4] or ())}"
    if kind == SAME:
        return _text(description[4])
    return f"an object of {description[2].__name__}" if kind in (OBJECT, OPAQUE, NAMED, NODE, CALL) else f"a {kind}"


def _advice(path: str, description: Description) -> str:
    if description[0] == SAME:
        return _advice(path, description[4])
    if description[0] == ONCE:
        return "An iterator can be read once: pass a list or tuple of what it gives."
    if description[0] == OPAQUE:
        return "It is known by its hash alone: pass one and the same object again, or give its class an __eq__ and a __hash__."
    if description[0] in (bool, int, float, complex, BYTES):
        return f"Make it an array, laminax.numpy.asarray({path}), and one program serves all its values."
    return "Make an array of what changes in it, or pass something that stays the same."
