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


class IOEffect(Effect):
    """The effect of `io_callback`."""


class OrderedIOEffect(Effect):
    """The effect of the same with `ordered=True`."""


class CallEffect(Effect):
    """The effect of calls outside of the program that are there for what they do: of FFI functions, of callbacks on buffers."""


class KeepEffect(Effect):
    """Keeps an operation that nothing reads."""


class CheckEffect(Effect):
    """The effect of `checkify.check`."""


io_effect = IOEffect("IO")
ordered_io_effect = OrderedIOEffect("OrderedIO", is_ordered=True)
debug_effect = DebugEffect("Debug")
ordered_debug_effect = OrderedDebugEffect("OrderedDebug", is_ordered=True)


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


class EffectKinds:
    """Kinds of effects that something holds for: classes, with those derived from them. Libraries add the classes of their own effects."""

    def __init__(self, *kinds: type) -> None:
        self._kinds: tuple[type, ...] = kinds

    def kinds(self) -> tuple[type, ...]:
        """The classes."""
        return self._kinds

    def add_type(self, effect_type: type) -> None:
        """Adds a class of effects."""
        if not isinstance(effect_type, type):
            raise TypeError(f"add_type: expected a class of effects, got {effect_type!r}. Give type(effect).")
        if effect_type not in self._kinds:
            self._kinds = (*self._kinds, effect_type)

    def contains(self, effect: Any) -> bool:
        """Whether the effect is of one of these kinds."""
        return isinstance(effect, self._kinds)

    def filter_in(self, effects: Iterable[Any]) -> list[Any]:
        """Those of the effects that are of these kinds."""
        return [effect for effect in effects if isinstance(effect, self._kinds)]

    def filter_not_in(self, effects: Iterable[Any]) -> list[Any]:
        """Those of the effects that are not of these kinds."""
        return [effect for effect in effects if not isinstance(effect, self._kinds)]

    def __repr__(self) -> str:
        return f"EffectKinds({', '.join([kind.__name__ for kind in self._kinds])})"


_OWN = (IOEffect, OrderedIOEffect, DebugEffect, OrderedDebugEffect, CallEffect, KeepEffect, CheckEffect, RefEffect)
own_effects = EffectKinds(*_OWN)  # of the operations that laminax has
lowerable_effects = EffectKinds(*_OWN)  # that programs which are compiled may have
control_flow_allowed_effects = EffectKinds(*_OWN)  # that the bodies of loops and branches may have
custom_derivatives_allowed_effects = EffectKinds(*_OWN)  # that functions with derivative rules of their own may have
remat_allowed_effects = EffectKinds(DebugEffect, OrderedDebugEffect)  # that may happen again where a checkpointed function is run again
ordered_effects = EffectKinds()  # of kinds that libraries made: each effect keeps its order, by a token of its own
shardable_ordered_effects = EffectKinds()  # those of them that programs over several devices may have, in order on each device


def has_ordered(effects: Iterable) -> bool:
    """Whether one of the effects is ordered."""
    return any(getattr(effect, "is_ordered", False) or ordered_effects.contains(effect) for effect in effects)


def check_allowed(effects: Iterable[Any], kinds: EffectKinds, what: str, name_of_kinds: str) -> None:
    """Raises NotImplementedError if effects are of other kinds than `kinds`; `what` names where they are met."""
    if refused := kinds.filter_not_in(effects):
        names = ", ".join(sorted(map(str, refused)))
        raise NotImplementedError(f"Effects not supported in {what}: {names}. What such an effect means there is for who made it to say: "
                                  f"{name_of_kinds}.add_type(type(effect)) allows it.")


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
