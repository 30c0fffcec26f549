"""Truncated Taylor series, the table of their rules, and arithmetic on them.

A series is a list `[x_0, x_1, ..., x_K]`: `x(t) = x_0 + x_1 t + ... + x_K t**K`, without factorials. `x_0` is a value; the others
are values of its type or `ZERO`, which costs nothing. Source of the recurrences: A. Griewank and A. Walther, "Evaluating
Derivatives", 2nd edition, chapter 13 (tables 13.1 and 13.2).
"""

from __future__ import annotations

from typing import Any, Callable, Sequence

from laminax_ir.ops.elementwise import add, div, mul, neg, sub
from laminax_ir.programs.primitive import Primitive, RuleTable
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import broadcast_like, jvp_rules, zero_derivatives
from laminax_transforms.base.zeros import ZERO, instantiate

Series = list[Any]

# rule(operands, params) gives the result's series, or a list of them if the operation has several results.
taylor_rules = RuleTable("Taylor mode", "laminax_transforms.taylor.rules",
                         "Register one with taylor_rule, or compute its derivatives with repeated jvp.", "Taylor-mode rule (of jet)")


def find_rule(primitive: Primitive) -> Callable:
    """The rule of an operation; operations without a derivative anywhere need none.

    Raises:
      NotImplementedError: if it has none.
    """
    rule = taylor_rules.find(primitive)
    if rule is None:
        jvp_rules.find(primitive)  # imports the family's rules, which say where derivatives are zero
        if primitive not in zero_derivatives:
            return taylor_rules[primitive]  # raises
        rule = taylor_rules[primitive] = _piecewise_constant(primitive)
    return rule


def taylor_rule(*primitives: Primitive) -> Callable:
    """Decorator: `rule(*operands, **params)` takes series and returns one (or a list of them)."""
    def register(rule: Any) -> Any:
        def adapter(operands: Sequence[Any], params: dict[str, Any]) -> Any:
            return rule(*operands, **params)
        adapter.__module__ = rule.__module__
        for primitive in primitives:
            taylor_rules.add(primitive, adapter)
        return rule
    return register


def _piecewise_constant(primitive: Primitive) -> Callable:
    def rule(operands: Sequence[Any], params: dict[str, Any]) -> Any:
        result = primitive.bind(*[x[0] for x in operands], **params)
        order = len(operands[0]) - 1
        return [constant(r, order) for r in result] if primitive.multiple_results else constant(result, order)
    return rule


def define_linear(primitive: Primitive, linear: Sequence[int] | None = None) -> None:
    """Declares an operation linear in all operands jointly, or in those at the given positions: each coefficient goes through it.

    The other operands, such as indices, have no coefficients but the first.
    """
    def rule(operands: Sequence[Any], params: dict[str, Any]) -> Any:
        varying = range(len(operands)) if linear is None else linear
        for i, x in enumerate(operands):
            if i not in varying and not is_constant(x):
                raise NotImplementedError(f"jet: {primitive} is not linear in its operand {i}, which depends on the expansion's variable. "
                                          "Apply stop_gradient to it, or compute the derivatives with repeated jvp.")
        results = primitive.bind(*[x[0] for x in operands], **params)
        outs = [[r] for r in results] if primitive.multiple_results else [[results]]
        for k in range(1, len(operands[0])):
            terms = [x[k] for i, x in enumerate(operands) if i in varying]
            if all(t is ZERO for t in terms):
                coefficients = [ZERO] * len(outs)
            else:
                found = primitive.bind(*[coefficient(x, k) if i in varying else x[0] for i, x in enumerate(operands)], **params)
                coefficients = found if primitive.multiple_results else [found]
            for out, c in zip(outs, coefficients):
                out.append(c)
        return outs if primitive.multiple_results else outs[0]
    taylor_rules.add(primitive, rule)


def define_bilinear(primitive: Primitive) -> None:
    """Declares an operation linear in each of its two operands: coefficients by Leibniz' rule."""
    def rule(operands: Sequence[Any], params: dict[str, Any]) -> Any:
        u, v = operands
        return _by_leibniz(lambda a, b: primitive.bind(a, b, **params), u, v)
    taylor_rules.add(primitive, rule)


def _by_leibniz(multiply: Callable, u: Series, v: Series) -> Series:
    def times_(a: Any, b: Any) -> Any:
        return ZERO if a is ZERO or b is ZERO else multiply(a, b)
    return [total(times_(u[j], v[k - j]) for j in range(k + 1)) for k in range(len(u))]


# Coefficients


def constant(value: Any, order: int) -> Series:
    """The series of a value that does not vary."""
    return [value, *[ZERO] * order]


def is_constant(x: Series) -> bool:
    """Whether a series is known not to vary."""
    return all(c is ZERO for c in x[1:])


def coefficient(x: Series, k: int) -> Any:
    """A coefficient as an array, also where it is zero."""
    return instantiate(x[k], get_aval(x[0]))


def full_terms(x: Series, shape: tuple[int, ...]) -> Series:
    """All coefficients as arrays of a shape that the series broadcasts to, for operations that take operands of one shape."""
    arrays = [coefficient(x, k) for k in range(len(x))]
    return [c if get_aval(c).shape == shape else broadcast_like(c, shape) for c in arrays]


def plus(a: Any, b: Any) -> Any:
    return b if a is ZERO else a if b is ZERO else add(a, b)


def minus(a: Any, b: Any) -> Any:
    return a if b is ZERO else neg(b) if a is ZERO else sub(a, b)


def times(a: Any, b: Any) -> Any:
    return ZERO if a is ZERO or b is ZERO else mul(a, b)


def scaled(factor: float, a: Any) -> Any:
    return a if a is ZERO or factor == 1 else mul(a, float(factor))


def total(terms: Any) -> Any:
    """The sum of coefficients."""
    result = ZERO
    for term in terms:
        result = plus(result, term)
    return result


def convolved(u: Series, v: Series, k: int, first: int = 0, last: int = 0) -> Any:
    """The sum of `u[j] v[k - j]` over j from `first` to `k - last`."""
    return total(times(u[j], v[k - j]) for j in range(first, k - last + 1))


# Series


def added(u: Series, v: Series) -> Series:
    return [plus(a, b) for a, b in zip(u, v)]


def shifted(x: Series, value: float) -> Series:
    """x plus a number."""
    return [add(x[0], float(value)), *x[1:]]


def times_number(x: Series, factor: float) -> Series:
    return [scaled(factor, c) for c in x]


def product(u: Series, v: Series) -> Series:
    return _by_leibniz(mul, u, v)


def quotient(u: Series, v: Series, first: Any = None) -> Series:
    """u / v, from `u = y v`; `first` is the quotient of the values, if it is known."""
    y: Series = [div(u[0], v[0]) if first is None else first]
    for k in range(1, len(v)):
        rest = minus(u[k], convolved(v, y, k, first=1))
        y.append(ZERO if rest is ZERO else div(rest, v[0]))
    return y


def reciprocal(v: Series) -> Series:
    return quotient(constant(1.0, len(v) - 1), v)


def square_root(x: Series, first: Any) -> Series:
    """The series whose square is x; `first` is the root of its value."""
    y: Series = [first]
    for k in range(1, len(x)):
        rest = minus(x[k], convolved(y, y, k, first=1, last=1))
        y.append(ZERO if rest is ZERO else div(scaled(0.5, rest), first))
    return y


def real_power(x: Series, exponent: float, first: Any) -> Series:
    """x to a constant power, where x is not zero; `first` is that of its value. From `x y' = exponent x' y`."""
    y: Series = [first]
    for k in range(1, len(x)):
        terms = total(times(scaled(exponent * j - (k - j), x[j]), y[k - j]) for j in range(1, k + 1) if exponent * j != k - j)
        y.append(ZERO if terms is ZERO else div(scaled(1 / k, terms), x[0]))
    return y


def whole_power(x: Series, exponent: int) -> Series:
    """x to an integer power, by squaring: right at zero too."""
    if exponent < 0:
        return reciprocal(whole_power(x, -exponent))
    result = None
    while exponent:
        if exponent % 2:
            result = x if result is None else product(result, x)
        exponent //= 2
        if exponent:
            x = product(x, x)
    return constant(1.0, len(x) - 1) if result is None else result


def integrated(x: Series, first: Any, slope: Callable[[int, Series], Any]) -> Series:
    """The series y with `y' = d x'`, where d is the derivative of a function at x.

    Args:
      x: the function's operand.
      first: the function's value.
      slope: `slope(k, y)` is coefficient k of d, which may depend on the coefficients up to k of the result.
    """
    y: Series = [first]
    d: Series = []
    for k in range(1, len(x)):
        d.append(slope(k - 1, y))
        y.append(scaled(1 / k, total(times(scaled(j, x[j]), d[k - j]) for j in range(1, k + 1))))
    return y


def antiderivative(x: Series, first: Any, d: Series) -> Series:
    """The series y with `y' = d x'`, where d is known."""
    return integrated(x, first, lambda k, y: d[k])


def composed(coefficients: Sequence[Any], x: Series) -> Series:
    """A function of x given its own Taylor coefficients at the value of x: by Horner's scheme in `x - x_0`."""
    step = [ZERO, *x[1:]]
    order = len(x) - 1
    result = constant(coefficients[order], order)
    for c in reversed(coefficients[:order]):
        result = product(result, step)
        result[0] = c
    return result
