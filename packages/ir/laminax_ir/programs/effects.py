"""Effects: what an operation does besides computing its result.

An equation with effects is never dropped. The ordered ones happen in program order, also across loops and branches; a
lowering threads a token through them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from typing import Any, Callable, Iterable, Iterator, Sequence

import numpy as np


class Effect:
    """A kind of effect.

    Args:
      name: the printed name; that of the class by default.
      is_ordered: whether such effects keep the order in which the program states them.
    """
    name: str = ""  # of the class, since subclasses written for JAX may have an __init__ of their own
    is_ordered: bool = False

    def __init__(self, name: str = "", is_ordered: bool = False) -> None:
        self.name = name
        self.is_ordered = is_ordered

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.name == other.name and self.is_ordered == other.is_ordered

    def __hash__(self) -> int:
        return hash((self.name, self.is_ordered))

    def __repr__(self) -> str:
        return self.name or type(self).__name__

    __str__ = __repr__


class DebugEffect(Effect):
    """The effect of `debug.callback`, `debug.print` and `debug.log`."""


class OrderedDebugEffect(Effect):
    """The effect of the same with `ordered=True`."""


io_effect = Effect("IO")
ordered_io_effect = Effect("OrderedIO", is_ordered=True)
debug_effect = DebugEffect("Debug")
ordered_debug_effect = OrderedDebugEffect("OrderedDebug", is_ordered=True)


def has_ordered(effects: Iterable) -> bool:
    """Whether one of the effects is ordered."""
    return any(getattr(effect, "is_ordered", False) for effect in effects)


class RefEffect(Effect):
    """An effect on references that the program does not own; this class itself means that one is taken and left alone."""


class ReadEffect(RefEffect):
    """Reads a reference."""


class WriteEffect(RefEffect):
    """Replaces what is in a reference."""


class AccumEffect(RefEffect):
    """Adds to what is in a reference."""


class InternalRefEffect(RefEffect):
    """Makes a reference, which nobody else sees."""


ref_effect = RefEffect("Ref")
read_effect = ReadEffect("Read")
write_effect = WriteEffect("Write")
accum_effect = AccumEffect("Accum")
internal_effect = InternalRefEffect("InternalRef")


def has_refs(effects: Iterable[Effect]) -> bool:
    """Whether a program with these effects has references: its own, its caller's, or some that it closes over."""
    return any(isinstance(effect, RefEffect) for effect in effects)


CallContext = Callable[[Sequence[np.ndarray]], AbstractContextManager[list[Any]]]


@contextmanager
def _numpy_copies(lent: Sequence[np.ndarray]) -> Iterator[list[np.ndarray]]:
    yield [np.array(x) for x in lent]


call_context: CallContext = _numpy_copies


def set_call_context(context: CallContext) -> None:
    """Sets the context in which callbacks run: a context manager that makes their arguments of the arrays that a running program lends."""
    global call_context
    call_context = context
