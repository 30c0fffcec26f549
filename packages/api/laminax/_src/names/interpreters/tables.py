"""Rule tables that look like JAX's: mappings from primitives to rules in JAX's form, kept in laminax's tables."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import Any, Callable

from laminax_ir.programs.primitive import Primitive, RuleTable


class RuleMapping(MutableMapping):
    """A rule table of laminax as a mapping of rules in JAX's form; setting a rule replaces the one there was, setting None takes it away.

    Args:
      table: laminax's table.
      store: from a primitive and a rule in JAX's form to the one that laminax's table holds.
      load: the way back, from a primitive and laminax's rule.
    """

    def __init__(self, table: RuleTable, store: Callable[[Primitive, Callable[..., Any]], Any], load: Callable[[Primitive, Any],
                 Callable[..., Any]]) -> None:
        self._table = table
        self._store = store
        self._load = load

    def __getitem__(self, primitive: Primitive) -> Callable[..., Any]:
        rule = self._table.find(primitive)
        if rule is None:
            raise KeyError(primitive)
        form = getattr(rule, "jax_form", None)
        return form[1] if form is not None and form[0] is self else self._load(primitive, rule)

    def __setitem__(self, primitive: Primitive, rule: Callable[..., Any] | None) -> None:
        if not isinstance(primitive, Primitive):
            raise TypeError(f"a {self._table.kind} rule is for a Primitive, got {primitive!r}")
        if rule is None:
            self._table.load(primitive)
            self._table.pop(primitive, None)
            return
        if not callable(rule):
            raise TypeError(f"the {self._table.kind} rule of {primitive} must be a function, got {rule!r}")
        stored = self._store(primitive, rule)
        stored.jax_form = self, rule
        stored.__module__ = getattr(rule, "__module__", "?")
        self._table.load(primitive)  # the rule that it replaces must not come back when its module is imported
        self._table[primitive] = stored

    def __delitem__(self, primitive: Primitive) -> None:
        del self._table[primitive]

    def __iter__(self) -> Iterator[Primitive]:
        return iter(list(self._table))

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, primitive: Any) -> bool:
        return isinstance(primitive, Primitive) and self._table.find(primitive) is not None

    def __repr__(self) -> str:
        return f"<{self._table.kind} rules of {len(self._table)} primitives>"
