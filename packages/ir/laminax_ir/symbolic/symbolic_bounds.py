"""Bounds of symbolic dimensions: the least and the largest value of an expression, as far as they can be told.

Each product of factors is taken as a variable with a known interval. The constraints, and the definitions of `floordiv`, `mod`, `max` and
`min`, are linear in these variables, so that a bound is the optimum of a linear program, in exact arithmetic. An expression with `max` or
`min` is bounded once for each of their operands. Source: Cormen, Leiserson, Rivest and Stein, "Introduction to Algorithms", chapter 29, for
the simplex method.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.symbolic.symbolic_dims import DimSize, Operation, Product, SymbolicDim, inconclusive, sum_of_terms, terms_of

if TYPE_CHECKING:
    from laminax_ir.symbolic.symbolic_scope import SymbolicScope

Interval = tuple[float, float]  # of ints, or infinite
_INFINITE = math.inf
_MOST_SPLITS = 3
_MOST_PRODUCTS = 30


class Unsatisfiable(ValueError):
    """The constraints contradict each other."""


def bounds(d: DimSize, scope: SymbolicScope, assumed: tuple[SymbolicDim, ...] = (), splits: int = _MOST_SPLITS) -> Interval:
    """The least and the largest value that an expression may have.

    Args:
      d: the expression.
      scope: what is known of its variables.
      assumed: expressions that are 0 or more, besides the scope's constraints.
      splits: how many of its `max` and `min` may be replaced by each of their operands in turn.

    Raises:
      InconclusiveDimensionOperation: if the expression divides by one that may be 0.
      Unsatisfiable: if the constraints contradict each other.
    """
    if type(d) is not SymbolicDim:
        return d, d
    lower, upper = _interval(d, scope)
    extreme = next((factor for product, _ in d.terms for factor, power in product
                    if power == 1 and isinstance(factor, Operation) and factor.name in ("max", "min")), None)
    if extreme is not None and splits:
        sign = 1 if extreme.name == "max" else -1
        difference = sign * (extreme.left - extreme.right)
        found = [_case(d, extreme, chosen, scope, (*assumed, *_as_assumption(way)), splits - 1)
                 for chosen, way in ((extreme.left, difference), (extreme.right, -difference))]
        cases = [case for case in found if case is not None]
        if cases:
            lower, upper = max(lower, min(case[0] for case in cases)), min(upper, max(case[1] for case in cases))
    if assumed or scope.has_constraints or any(isinstance(factor, Operation) for product, _ in d.terms for factor, _ in product):
        facts = _facts(d, scope, assumed)
        if facts:
            lower = max(lower, _least(d, facts, scope))
            upper = min(upper, -_least(SymbolicDim(tuple((product, -count) for product, count in d.terms), scope), facts, scope))
    if lower > upper:
        raise Unsatisfiable(f"Unsatisfiable constraints: '{d}' would be at least {lower} and at most {upper}{scope.describe_constraints()}")
    return lower, upper


def _as_assumption(d: DimSize) -> tuple[SymbolicDim, ...]:
    return (d,) if type(d) is SymbolicDim else ()


def _case(d: SymbolicDim, extreme: Operation, chosen: DimSize, scope: SymbolicScope, assumed: tuple[SymbolicDim, ...],
          splits: int) -> Interval | None:
    """The bounds of `d` with `extreme` replaced by its operand `chosen`; None if `assumed` contradicts the scope's constraints."""
    total: DimSize = 0
    for product, count in d.terms:
        value: DimSize = count
        for factor, power in product:
            value = value * (chosen if hash(factor) == hash(extreme) and factor == extreme
                             else SymbolicDim(((((factor, power),), 1),), scope))
        total = total + value
    try:
        return bounds(total, scope, assumed, splits)
    except Unsatisfiable:
        return None


# Intervals


def _interval(d: DimSize, scope: SymbolicScope) -> Interval:
    """Bounds of a size from the bounds of each of its products alone."""
    if type(d) is not SymbolicDim:
        return d, d
    lower: float = 0
    upper: float = 0
    for product, count in d.terms:
        low, high = _product_interval(product, scope)
        low, high = (count * low, count * high) if count > 0 else (count * high, count * low)
        lower, upper = lower + low, upper + high
    return lower, upper


def _product_interval(product: Product, scope: SymbolicScope) -> Interval:
    result: Interval = (1, 1)
    for factor, power in product:
        interval = _factor_interval(factor, scope)
        if power % 2 == 0 and interval[0] < 0:  # even powers are not negative
            ends = [_times(x, x) for x in interval]
            interval, power = (0 if interval[1] > 0 else min(ends), max(ends)), power // 2
        for _ in range(power):
            ends = [_times(x, y) for x in result for y in interval]
            result = min(ends), max(ends)
    known = scope.product_bounds.get(product)
    return result if known is None else (max(result[0], known[0]), min(result[1], known[1]))


def _times(x: float, y: float) -> float:
    return 0 if x == 0 or y == 0 else x * y


def _factor_interval(factor: str | Operation, scope: SymbolicScope) -> Interval:
    if isinstance(factor, str):
        return scope.product_bounds.get(((factor, 1),), (1, _INFINITE))
    x, y = (scope.bounds(d) if type(d) is SymbolicDim else (d, d) for d in (factor.left, factor.right))
    if factor.name == "max":
        return max(x[0], y[0]), max(x[1], y[1])
    if factor.name == "min":
        return min(x[0], y[0]), min(x[1], y[1])
    if factor.name == "mod":
        if y[0] > 0:
            return 0, y[1] - 1
        return (y[0] + 1, 0) if y[1] < 0 else (-_INFINITE, _INFINITE)
    if y[0] <= 0 <= y[1]:
        raise inconclusive(f"Possible division by 0 in '{factor}'.", scope)
    ends = [_floor_quotient(a, b) for a in x for b in y]
    return min(ends), max(ends)


def _floor_quotient(a: float, b: float) -> float:
    if abs(b) == _INFINITE:
        return (0 if a == 0 or abs(a) != _INFINITE and (a > 0) == (b > 0) else -1 if abs(a) != _INFINITE
                else _INFINITE * (1 if (a > 0) == (b > 0) else -1))
    return a * (1 if b > 0 else -1) if abs(a) == _INFINITE else a // b


# What is known


def _facts(d: SymbolicDim, scope: SymbolicScope, assumed: Sequence[SymbolicDim]) -> list[SymbolicDim]:
    """Expressions that are 0 or more and share products with `d`, directly or through one another."""
    pool = [*assumed, *scope.constraints, *scope.definitions]
    found: list[SymbolicDim] = []
    seen: set[Product] = set()
    pending = [product for product, _ in d.terms if product]
    while pending and len(seen) < _MOST_PRODUCTS:
        product = pending.pop(0)
        if product in seen:
            continue
        seen.add(product)
        new = [fact for fact in pool if any(hash(p) == hash(product) and p == product for p, _ in fact.terms)]
        pool = [fact for fact in pool if not any(fact is one for one in new)]
        new += definition(product, scope)
        found += new
        pending += [p for fact in new for p, _ in fact.terms if p]
    return found


def definition(product: Product, scope: SymbolicScope) -> list[SymbolicDim]:
    """The definition of an operation that is the only factor of a product, as expressions that are 0 or more."""
    if len(product) != 1 or product[0][1] != 1 or not isinstance(product[0][0], Operation):
        return []
    name, x, y = product[0][0]
    value = SymbolicDim(((product, 1),), scope)
    said: list[list[tuple[int, DimSize]]] = []  # sums, each of terms with coefficients
    if name == "max":
        said = [[(1, value), (-1, x)], [(1, value), (-1, y)]]
    elif name == "min":
        said = [[(1, x), (-1, value)], [(1, y), (-1, value)]]
    elif type(y) is int and y != 0:
        if name == "floordiv":  # y q <= x < y (q + 1), the other way round for negative y
            sign = 1 if y > 0 else -1
            said = [[(sign, x), (-sign * y, value)], [(-sign, x), (sign * y, value), (1, abs(y) - 1)]]
        else:
            quotient = SymbolicDim(((((Operation("floordiv", x, y), 1),), 1),), scope)
            said = [[(sign, x), (-sign * y, quotient), (-sign, value)] for sign in (1, -1)]
    elif type(y) is SymbolicDim and scope.bounds(y)[0] > 0:
        if name == "mod":
            said = [[(1, y), (1, -1), (-1, value)]]
        if scope.bounds(x)[0] >= 0:
            said.append([(1, x), (-1, value)])
    facts = [sum_of_terms([(p, c * count) for c, d in terms for p, count in terms_of(d)], scope) for terms in said]
    return [fact for fact in facts if type(fact) is SymbolicDim]


# The linear program


def _least(d: SymbolicDim, facts: Sequence[SymbolicDim], scope: SymbolicScope) -> float:
    """The least value of an expression where the facts are 0 or more, rounded up, since sizes are whole."""
    products = list(dict.fromkeys(product for fact in (d, *facts) for product, _ in fact.terms if product))
    columns: list[tuple[Product, int]] = []  # variables that are 0 or more: the products, counted from a bound
    offset: dict[Product, int] = {}
    rows: list[tuple[dict[int, int], int]] = []  # sum >= number
    for product in products:
        lower, upper = _product_interval(product, scope)
        if lower > -_INFINITE:
            columns.append((product, 1))
            offset[product] = int(lower)
            if upper < _INFINITE:
                rows.append(({len(columns) - 1: -1}, int(lower - upper)))
        elif upper < _INFINITE:
            columns.append((product, -1))
            offset[product] = int(upper)
        else:
            columns += [(product, 1), (product, -1)]
            offset[product] = 0

    def linear(fact: SymbolicDim) -> tuple[dict[int, int], int]:
        counts = dict(fact.terms)
        start = fact.constant + sum(count * offset[product] for product, count in fact.terms if product)
        return {j: sign * counts[product] for j, (product, sign) in enumerate(columns) if product in counts}, start

    for fact in facts:
        coefficients, start = linear(fact)
        rows.append((coefficients, -start))
    costs, start = linear(d)
    # Its dual: the largest b·u with A'u <= c, u >= 0.
    value = _largest([b for _, b in rows], [[row.get(j, 0) for row, _ in rows] for j in range(len(columns))],
                     [costs.get(j, 0) for j in range(len(columns))])
    if value is None:
        return -_INFINITE
    if value == _INFINITE:
        raise Unsatisfiable(f"Unsatisfiable constraints: nothing fulfils all of what is known of '{d}'{scope.describe_constraints()}")
    return math.ceil(value + start)


def _largest(c: list, a: list[list], b: list) -> Fraction | float | None:
    """The largest c·x with a x <= b, x >= 0; None if there is no such x, infinity if there is no largest."""
    n, m = len(c), len(a)
    table = [[Fraction(v) for v in row] for row in a]
    limits = [Fraction(v) for v in b]
    basis, outside = list(range(n, n + m)), list(range(n))
    worst = min(range(m), key=limits.__getitem__, default=0)
    if m and limits[worst] < 0:  # an auxiliary variable x0, to be made 0
        for row in table:
            row.append(Fraction(-1))
        outside.append(-1)
        goal = [Fraction(0)] * n + [Fraction(-1)]
        at = _pivot(table, limits, goal, Fraction(0), basis, outside, worst, n)
        at = _climb(table, limits, goal, at, basis, outside)
        if at != 0:
            return None
        if -1 in basis:
            place = basis.index(-1)
            column = next(j for j in range(n + 1) if table[place][j] != 0)
            _pivot(table, limits, goal, at, basis, outside, place, column)
        gone = outside.index(-1)
        for row in table:
            del row[gone]
        del outside[gone]
    value, goal = Fraction(0), [Fraction(0)] * n
    for j, cost in enumerate(c):  # the goal, written in the variables outside of the basis
        if j in outside:
            goal[outside.index(j)] += cost
        else:
            place = basis.index(j)
            value += cost * limits[place]
            for k in range(n):
                goal[k] -= cost * table[place][k]
    return _climb(table, limits, goal, value, basis, outside)


def _climb(table: list[list[Fraction]], limits: list[Fraction], goal: list[Fraction], value: Any, basis: list[int],
           outside: list[int]) -> Any:
    """Steps of the simplex method; of several ways the one of the lowest number (Bland's rule), so that it ends."""
    while True:
        gains = [j for j, gain in enumerate(goal) if gain > 0]
        if not gains:
            return value
        column = min(gains, key=outside.__getitem__)
        ratios = [(limits[i] / row[column], basis[i], i) for i, row in enumerate(table) if row[column] > 0]
        if not ratios:
            return _INFINITE
        value = _pivot(table, limits, goal, value, basis, outside, min(ratios)[2], column)


def _pivot(table: list[list[Fraction]], limits: list[Fraction], goal: list[Fraction], value: Any, basis: list[int], outside: list[int],
           row: int, column: int) -> Fraction:
    """Takes a variable into the basis for another; returns the goal's new value."""
    pivot = table[row][column]
    line = [x / pivot for x in table[row]]
    line[column] = 1 / pivot
    table[row], limits[row] = line, limits[row] / pivot
    for i, other in enumerate(table):
        if i != row and (factor := other[column]) != 0:
            table[i] = [x - factor * y for x, y in zip(other, line)]
            table[i][column] = -factor / pivot
            limits[i] -= factor * limits[row]
    gain = goal[column]
    goal[:] = [x - gain * y for x, y in zip(goal, line)]
    goal[column] = -gain / pivot
    basis[row], outside[column] = outside[column], basis[row]
    return value + gain * limits[row]
