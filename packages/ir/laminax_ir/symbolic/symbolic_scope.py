"""Scopes of symbolic dimensions: variables that belong together, and the constraints on them.

A constraint is an inequality, kept as an expression that is 0 or more, or an equality, which is both inequalities and, where its left
side is one term, a rule that replaces that term by the right side wherever it comes up.
"""

from __future__ import annotations

import math
from typing import Any, Iterable, Iterator, Sequence

from laminax_ir.symbolic.symbolic_bounds import Interval, Unsatisfiable, bounds, definition
from laminax_ir.symbolic.symbolic_dims import DimSize, Operation, Product, SymbolicDim, operation
from laminax_ir.symbolic.symbolic_parsing import parse_dimension
from laminax_ir.tracing import source


class SymbolicScope:
    """A scope of variables for symbolic dimensions; the shapes in one program share one scope.

    Args:
      constraints_str: the constraints on the variables, besides that each is 1 or more: "a >= b + 1", "mod(b, 8) == 0".

    Raises:
      ValueError: if a constraint cannot be read, or contradicts the others.

    Example:
      >>> scope = SymbolicScope(["a >= b"])
      >>> x, y = (ShapeDtypeStruct(symbolic_shape(s, scope=scope), np.float32) for s in ("a", "b"))
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str) or not all(isinstance(text, str) for text in constraints_str):
            raise ValueError(f"The symbolic constraints should be a sequence of strings. Got {constraints_str!r}")
        self.constraints: list[SymbolicDim] = []  # each is 0 or more
        self.definitions: list[SymbolicDim] = []  # likewise: the definitions of the operations in the constraints
        self.rules: list[tuple[Product, int, DimSize]] = []  # the product with the coefficient equals the size
        self.product_bounds: dict[Product, Interval] = {}
        self._bounds: dict[SymbolicDim, Interval] = {}
        self._open: dict[SymbolicDim, Interval] = {}  # bounds that are being computed
        self.texts: tuple[str, ...] = tuple(constraints_str)
        self._place = source.summarize(source.current()) or "an unknown place"
        for text in sorted(self.texts, key=len):  # the simple ones first: they simplify the others
            self._add(text)

    @property
    def has_constraints(self) -> bool:
        return bool(self.constraints or self.rules)

    def bounds(self, d: DimSize) -> Interval:
        """The least and the largest value that an expression may have; see `symbolic_bounds`."""
        if type(d) is not SymbolicDim:
            return d, d
        found = self._bounds.get(d)
        if found is None:
            found = self._open.get(d)
        if found is None:
            is_outermost = not self._open
            self._open[d] = -math.inf, math.inf  # what is answered if its bounds are asked for meanwhile
            try:
                found = self._open[d] = bounds(d, self)
            finally:
                if is_outermost:
                    self._open.clear()
            if is_outermost:
                self._bounds[d] = found
        return found

    def check_same(self, other: SymbolicScope, when: str, what: str, expected: str = "", place: str = "") -> None:
        """Checks that another scope is this one.

        Raises:
          ValueError: if not.
        """
        if other is not self:
            raise ValueError(f"Invalid mixing of symbolic scopes {when}.\nExpected {expected}scope {self}\nand found for '{what}'{place} "
                             f"scope {other}\nMake all shapes with symbolic_shape(..., scope=scope), or symbolic_args_specs.")

    def describe_constraints(self) -> str:
        """The constraints, as the end of a message."""
        return f"\nSymbolic dimensions with constraints:\n  {self._listed()}" if self.texts else ""

    def _listed(self) -> str:
        return "\n  ".join(self.texts)

    def __repr__(self) -> str:
        listed = f"\nwith constraints:\n  {self._listed()}" if self.texts else ""
        return f"{id(self)} created at {self._place}{listed}"

    # Constraints

    def _add(self, text: str) -> None:
        sign = next((sign for sign in ("==", ">=", "<=") if sign in text), None)
        if sign is None:
            raise ValueError(f"Constraint parsing error: must contain one of '==' or '>=' or '<='; got {text!r}")
        left, right = (parse_dimension(side, self, f"the constraint {text!r}") for side in text.split(sign, 1))
        difference = left - right
        try:
            if sign == "==":
                self._add_equality(left, right, difference)
            else:
                self._add_inequality(difference if sign == ">=" else -difference)
        except Unsatisfiable as error:
            if error.args:
                raise ValueError(f"{error}") from None
            kind = "constraint" if self.constraints else "explicit constraint"
            raise ValueError(f"Unsatisfiable {kind}: {text.strip()}{self.describe_constraints()}") from None

    def _add_inequality(self, d: DimSize) -> None:
        """Adds the constraint that an expression is 0 or more."""
        lower, upper = self.bounds(d)
        if upper < 0:
            raise Unsatisfiable()
        if lower >= 0 or type(d) is not SymbolicDim:
            return
        counts = [count for product, count in d.terms if product]
        divisor = math.gcd(*counts)
        rounded = tuple((product, count // divisor) for product, count in d.terms)  # the number rounds down: the rest is whole
        d = SymbolicDim(rounded if rounded[-1][1] else rounded[:-1], self)
        self.constraints.append(d)
        self.definitions = []  # while they are made, none hold
        self._bounds.clear()
        products = list(dict.fromkeys(product for fact in self.constraints for product, _ in fact.terms if product))
        self.definitions = [fact for product in products for fact in definition(product, self)]
        for product in products:
            self.product_bounds[product] = bounds(SymbolicDim(((product, 1),), self), self)
        self._bounds.clear()

    def _add_equality(self, left: DimSize, right: DimSize, difference: DimSize) -> None:
        if type(difference) is not SymbolicDim:
            if difference:
                raise Unsatisfiable()
            return
        lower, upper = self.bounds(difference)
        if lower > 0 or upper < 0:
            raise Unsatisfiable()
        self._add_inequality(difference)
        self._add_inequality(-difference)
        if type(left) is not SymbolicDim or len(left.terms) != 1:
            return
        ((product, count),) = left.terms
        self._add_rule(product, count, right)
        factor = product[0][0]
        if right == 0 and len(product) == 1 and isinstance(factor, Operation) and factor.name == "mod":
            quotient = operation("floordiv", factor.left, factor.right, self)
            if type(factor.right) is int and type(quotient) is SymbolicDim:
                self._add_rule(quotient.terms[0][0], factor.right, factor.left)

    def _add_rule(self, product: Product, count: int, value: DimSize) -> None:
        if count < 0:
            count, value = -count, -value
        if type(value) is SymbolicDim and any(_rest(p, product) is not None for p, _ in value.terms):
            return  # the rule would apply to its own result again
        self.rules.append((product, count, value))
        self._bounds.clear()

    def rewritten(self, terms: Iterable[tuple[Product, int]]) -> Iterator[tuple[Product, int]]:
        """The terms, each to which a rule applies replaced as the rule says."""
        for product, count in terms:
            for found, divisor, value in self.rules:
                if count % divisor == 0 and (rest := _rest(product, found)) is not None:
                    put = SymbolicDim(((rest, count // divisor),), self) * value if rest else value * (count // divisor)
                    yield from put.terms if type(put) is SymbolicDim else (((), put),)
                    break
            else:
                yield product, count


def _rest(product: Product, divisor: Product) -> Product | None:
    """The product divided by another one; None if it does not have all factors of that one."""
    powers: dict[Any, int] = dict(product)
    for factor, power in divisor:
        if powers.get(factor, 0) < power:
            return None
        powers[factor] -= power
    return tuple((factor, power) for factor, power in powers.items() if power)
