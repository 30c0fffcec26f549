"""What becomes of a value in the program that is being written, and what it is made of, for rules that depend on it."""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.programs.jaxpr import JaxprEqn, Var


class Uses:
    """The equations that read each variable of a program, and the one that makes it; found out when first asked for."""

    __slots__ = ("eqns", "outvars", "_readers", "_makers")

    def __init__(self, eqns: Sequence[JaxprEqn], outvars: Sequence[Any]) -> None:
        self.eqns = eqns
        self.outvars = outvars
        self._readers: dict[Any, list[JaxprEqn]] | None = None
        self._makers: dict[Any, JaxprEqn] | None = None

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

    def may_be_made_of(self, variable: Any, source: Any, but_by: Callable[[JaxprEqn], bool]) -> bool:
        """Whether `source` is read on the way to a variable by an equation that is not one of those `but_by` is true of; what the
        program is given may be made of anything."""
        makers = self._makers
        if makers is None:
            makers = self._makers = {v: eqn for eqn in self.eqns for v in eqn.outvars}
        seen, todo = {source, variable}, [variable]
        if variable not in makers:
            return type(variable) is Var
        while todo:
            eqn = makers.get(todo.pop())
            if eqn is None:
                continue
            if source in eqn.invars and not but_by(eqn):
                return True
            new = [v for v in eqn.invars if type(v) is Var and v not in seen]
            seen.update(new)
            todo += new
        return False
