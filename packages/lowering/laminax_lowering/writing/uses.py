"""What becomes of a value in the program that is being written, for rules that depend on it."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.programs.jaxpr import JaxprEqn


class Uses:
    """The equations that read each variable of a program; found out when first asked for."""

    __slots__ = ("eqns", "outvars", "_readers")

    def __init__(self, eqns: Sequence[JaxprEqn], outvars: Sequence[Any]) -> None:
        self.eqns = eqns
        self.outvars = outvars
        self._readers: dict[Any, list[JaxprEqn]] | None = None

    def only_reader(self, variable: Any) -> JaxprEqn | None:
        """The equation that alone reads a variable, once or several times; None if there is none, or another, or it is a result."""
        readers = self._readers
        if readers is None:
            readers = self._readers = {}
            for eqn in self.eqns:
                for v in dict.fromkeys(eqn.invars):
                    readers.setdefault(v, []).append(eqn)
        found = readers.get(variable, ())
        return found[0] if len(found) == 1 and variable not in self.outvars else None
