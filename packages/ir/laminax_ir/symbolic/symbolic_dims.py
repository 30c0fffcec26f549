"""Symbolic dimensions: sizes of axes that are known as expressions in variables, each a positive integer.

An expression is a sum of products, with integer coefficients, of powers of factors; a factor is a variable, or `floordiv`, `mod`,
`max` or `min` of two expressions. Equal sums of products are equal expressions, whatever they were computed from. An expression without
variables is a Python int. Comparisons are answered from bounds (see `symbolic_bounds`); where these do not tell,
`InconclusiveDimensionOperation` is raised, for a program is traced once for all sizes and cannot take both ways.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, NamedTuple, NoReturn, Union, final

import numpy as np

from laminax_ir.symbolic.symbolic_values import dim_as_value, dim_aval
from laminax_ir.types.avals import register_value_type
from laminax_ir.types.errors import InconclusiveDimensionOperation
from laminax_ir.types.sizes import register_size_type

if TYPE_CHECKING:
    from laminax_ir.symbolic.symbolic_scope import SymbolicScope


class Operation(NamedTuple):
    """A factor that is no variable: `name` is "floordiv", "mod", "max" or "min"."""
    name: str
    left: DimSize
    right: DimSize

    def __str__(self) -> str:
        return f"{self.name}({self.left}, {self.right})"


@final
class SymbolicDim:
    """The size of an axis as an expression.

    Args:
      terms: products, each with its coefficient, which is not 0; a product is a tuple of factors with powers, () being 1.
      scope: the scope of its variables, with the constraints on them.

    Made by `export.symbolic_shape` and arithmetic; with +, -, *, //, %, and comparisons as far as bounds decide them.
    """

    __slots__ = ("terms", "scope", "_hash", "__weakref__")

    terms: tuple[tuple[Product, int], ...]
    scope: SymbolicScope

    __array_priority__ = 1000  # NumPy's scalars leave arithmetic to this class

    def __init__(self, terms: tuple[tuple[Product, int], ...], scope: SymbolicScope) -> None:
        self.terms = terms
        self.scope = scope
        self._hash = hash((terms, id(scope)))

    # Looking at it

    @property
    def constant(self) -> int:
        """The term without variables."""
        product, count = self.terms[-1]
        return 0 if product else count

    def variables(self) -> set[str]:
        """The names of its variables, those inside of factors included."""
        found: set[str] = set()
        for product, _ in self.terms:
            for factor, _ in product:
                if isinstance(factor, str):
                    found.add(factor)
                else:
                    found.update(*(d.variables() for d in (factor.left, factor.right) if type(d) is SymbolicDim))
        return found

    def evaluate(self, values: Mapping[str, Any], apply: Callable[[str, Any, Any], Any] | None = None) -> Any:
        """The value of the expression for values of its variables.

        Args:
          values: one for each variable, of any type with + and *.
          apply: computes the operation of a name; by default that of integers.
        """
        apply = apply or (lambda name, x, y: _OPERATIONS[name](x, y))

        def value_of(d: DimSize) -> Any:
            return d.evaluate(values, apply) if type(d) is SymbolicDim else d

        total: Any = 0
        for product, count in self.terms:
            value: Any = count
            for factor, power in product:
                x = values[factor] if isinstance(factor, str) else apply(factor.name, value_of(factor.left), value_of(factor.right))
                for _ in range(power):
                    value = x if type(value) is int and value == 1 else value * x
            total = value if type(total) is int and total == 0 else total + value
        return total

    def __str__(self) -> str:
        parts = []
        for product, count in self.terms:
            sign = "-" if count < 0 else "+"
            factors = [str(factor) if power == 1 else f"{factor}^{power}" for factor, power in product]
            if abs(count) != 1 or not factors:
                factors.insert(0, str(abs(count)))
            parts.append(f"{sign} {'*'.join(factors)}")
        return " ".join(parts).removeprefix("+ ")

    __repr__ = __str__

    # Arithmetic

    def __add__(self, other: Any) -> Any:
        if (size := _operand(self, other, "+")) is None:
            return _as_values(operator.add, self, other)
        return _collected([*self.terms, *terms_of(size)], self.scope)

    def __neg__(self) -> DimSize:
        return _collected([(product, -count) for product, count in self.terms], self.scope)

    def __radd__(self, other: Any) -> Any:
        return _as_values(operator.add, other, self) if _operand(self, other, "+") is None else self + other

    def __sub__(self, other: Any) -> Any:
        if (size := _operand(self, other, "-")) is None:
            return _as_values(operator.sub, self, other)
        return _collected([*self.terms, *((product, -count) for product, count in terms_of(size))], self.scope)

    def __rsub__(self, other: Any) -> Any:
        return _as_values(operator.sub, other, self) if _operand(self, other, "-") is None else -self + other

    def __mul__(self, other: Any) -> Any:
        if (size := _operand(self, other, "*")) is None:
            return _as_values(operator.mul, self, other)
        return _collected([(_joined(p, q), m * n) for p, m in self.terms for q, n in terms_of(size)], self.scope)

    def __rmul__(self, other: Any) -> Any:
        return _as_values(operator.mul, other, self) if _operand(self, other, "*") is None else self * other

    def __truediv__(self, other: Any) -> Any:
        """The quotient as a value of the program: no size."""
        return dim_as_value(self) / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / dim_as_value(self)

    def __pow__(self, power: Any) -> Any:
        """A product of sizes; a value of the program where the power is symbolic too, or an array."""
        if type(power) is SymbolicDim:
            return dim_as_value(self) ** dim_as_value(power)
        if not isinstance(power, (int, np.integer)):
            if isinstance(power, float):
                raise ValueError(f"a symbolic dimension cannot be raised to non-integer powers: '{self}' to the power {power}. Make an "
                                 "array of it first, jnp.asarray(dim)")
            return _as_values(operator.pow, self, power)
        if power < 0:
            raise ValueError(f"a symbolic dimension cannot be raised to negative powers: '{self}' to the power {power}")
        return math.prod([self] * int(power))

    def __rpow__(self, base: Any) -> Any:
        """A value of the program: no expression has a variable as a power."""
        return base ** dim_as_value(self) if is_dimension(base) else _as_values(operator.pow, base, self)

    def __floordiv__(self, other: Any) -> Any:
        if (size := _operand(self, other, "//")) is None:
            return _as_values(operator.floordiv, self, other)
        return _divided("floordiv", self, size, self.scope)

    def __rfloordiv__(self, other: Any) -> Any:
        if (size := _operand(self, other, "//")) is None:
            return _as_values(operator.floordiv, other, self)
        return _divided("floordiv", size, self, self.scope)

    def __mod__(self, other: Any) -> Any:
        if (size := _operand(self, other, "%")) is None:
            return _as_values(operator.mod, self, other)
        return _divided("mod", self, size, self.scope)

    def __rmod__(self, other: Any) -> Any:
        if (size := _operand(self, other, "%")) is None:
            return _as_values(operator.mod, other, self)
        return _divided("mod", size, self, self.scope)

    def __divmod__(self, other: SymbolicDim | int) -> tuple[DimSize, DimSize]:
        quotient = self // other
        return quotient if quotient is NotImplemented else (quotient, self % other)

    def __rdivmod__(self, other: Any) -> tuple[DimSize, DimSize]:
        quotient = other // self
        return quotient if quotient is NotImplemented else (quotient, other % self)

    # Comparing

    def __eq__(self, other: object) -> bool:
        """Whether they are equal for all values of the variables, as far as that can be told; False otherwise."""
        if self is other:
            return True
        if not is_dimension(other) or type(other) is SymbolicDim and other.scope is not self.scope:
            return False
        if type(other) is SymbolicDim and self._hash == other._hash and self.terms == other.terms:
            return True
        return bool(self.scope.has_constraints) and self.scope.bounds(self - other) == (0, 0)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return self._hash

    def __ge__(self, other: Any) -> bool:
        return _is_at_least(self, other, self, ">=", other, 0)

    def __gt__(self, other: SymbolicDim) -> bool:
        return _is_at_least(self, other, self, ">", other, 1)

    def __le__(self, other: Any) -> bool:
        return _is_at_least(other, self, self, "<=", other, 0)

    def __lt__(self, other: Any) -> bool:
        return _is_at_least(other, self, self, "<", other, 1)

    def __bool__(self) -> bool:
        lower, upper = self.scope.bounds(self)
        if lower > 0 or upper < 0:
            return True
        raise inconclusive(f"Whether the symbolic dimension '{self}' is 0 is inconclusive.", self.scope)

    def __int__(self) -> NoReturn:
        raise inconclusive(f"Symbolic dimension '{self}' used in a context that requires a constant.", self.scope)

    def __float__(self) -> NoReturn:
        raise TypeError(f"the symbolic dimension '{self}' is no number while a program is traced. Use it in array arithmetic, x * dim, or "
                        "make an array of it, jnp.asarray(dim).")

    def __jax_array__(self) -> Any:
        """The number that the dimension stands for where the program runs, a weakly typed integer."""
        return dim_as_value(self)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"the symbolic dimension '{self}' cannot be pickled: its variables belong to a scope of this process. "
                        "Serialize what is exported for it, or pickle its text.")

    def __copy__(self) -> SymbolicDim:
        return self

    def __deepcopy__(self, _memo: Any) -> SymbolicDim:
        return self


register_size_type(SymbolicDim)
register_value_type(SymbolicDim, lambda _: dim_aval())

DimSize = Union[int, SymbolicDim]
Factor = Union[str, Operation]
Product = tuple[tuple[Factor, int], ...]

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {"floordiv": operator.floordiv, "mod": operator.mod, "max": max, "min": min}


def is_symbolic_dim(p: Any) -> bool:
    """Whether the size of an axis is an expression in variables, not a number."""
    return type(p) is SymbolicDim


def is_dimension(value: Any) -> bool:
    """Whether a value is the size of an axis: an integer or a symbolic dimension."""
    return type(value) is SymbolicDim or isinstance(value, (int, np.integer)) or isinstance(value, np.ndarray) and value.shape == () \
        and value.dtype.kind in "iu"


def size_of(value: Any) -> Any:
    """The value as the size of an axis.

    Raises:
      TypeError: if it is neither an integer nor a symbolic dimension.
    """
    return value if type(value) is SymbolicDim else operator.index(value)


def known_size(name: str, size: Any) -> int:
    """The size of an axis, for an operation that computes with it before the program runs.

    Raises:
      InconclusiveDimensionOperation: if it is symbolic; the message names the operation.
    """
    if type(size) is SymbolicDim:
        raise inconclusive(f"{name} computes numbers from the size '{size}' while the program is traced, and it is not known then.",
                           size.scope)
    return operator.index(size)


def exceeds(size: DimSize, limit: int) -> bool:
    """Whether a size is larger than the largest that an operation can count to; symbolic sizes are assumed to be small enough."""
    return type(size) is not SymbolicDim and size > limit


def is_constant_shape(shape: Iterable[Any]) -> bool:
    """Whether all sizes are numbers."""
    return all(type(size) is not SymbolicDim for size in shape)


def inconclusive(what: str, scope: SymbolicScope) -> InconclusiveDimensionOperation:
    """The error for a question that has no answer, with what to do about it."""
    return InconclusiveDimensionOperation(
        f"{what}{scope.describe_constraints()}\nA program with symbolic dimensions is traced once for all their sizes. State what is known "
        "of them, symbolic_shape(..., constraints=['a >= b']), compute with max_dim and min_dim instead of comparing, or trace for sizes "
        "that are numbers: export for these, or leave the axis out of abstracted_axes.")


def _operand(self: SymbolicDim, other: SymbolicDim | int, what: str) -> DimSize | None:
    """The other operand of an arithmetic operation, if it is the size of an axis."""
    if type(other) is SymbolicDim:
        if other.scope is not self.scope:
            self.scope.check_same(other.scope, f"when computing {self} {what} {other}", str(other))
        return other
    if is_dimension(other) and not isinstance(other, bool):
        return int(other)
    return None


def _as_values(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """An operation with a number or an array of NumPy that is no size: a value of the program, no size."""
    other = right if type(left) is SymbolicDim else left
    if not isinstance(other, (float, complex, np.generic, np.ndarray)):
        return NotImplemented
    return operation(*(dim_as_value(x) if type(x) is SymbolicDim else x for x in (left, right)))


def terms_of(d: DimSize) -> tuple[tuple[Product, int], ...]:
    return d.terms if type(d) is SymbolicDim else (((), d),)


def _joined(p: Product, q: Product) -> Product:
    """The product of two products."""
    powers = dict(p)
    for factor, power in q:
        powers[factor] = powers.get(factor, 0) + power
    return tuple(sorted(((factor, power) for factor, power in powers.items() if power), key=lambda item: _factor_key(item[0])))


def _collected(terms: Iterable[tuple[Product, int]], scope: SymbolicScope) -> DimSize:
    """The sum of terms, simplified by what the scope knows."""
    return sum_of_terms(scope.rewritten(terms) if scope.rules else terms, scope)


def sum_of_terms(terms: Iterable[tuple[Product, int]], scope: SymbolicScope) -> DimSize:
    """The sum of terms, as a Python int if it has no variables."""
    counts: dict[Product, int] = {}
    for product, count in terms:
        counts[product] = counts.get(product, 0) + count
    kept = sorted(((product, count) for product, count in counts.items() if count), key=lambda term: product_key(term[0]), reverse=True)
    if not kept:
        return 0
    return kept[0][1] if len(kept) == 1 and not kept[0][0] else SymbolicDim(tuple(kept), scope)


def variable(name: str, scope: SymbolicScope) -> DimSize:
    """The dimension that is one variable."""
    return _collected([(((name, 1),), 1)], scope)


# The order of factors and terms: variables before operations; larger terms first, `a*b + a^2 + b + a + 1`.


def _factor_key(factor: Factor) -> tuple[Any, ...]:
    return (0, factor) if isinstance(factor, str) else (1, factor.name, str(factor))


def product_key(product: Product) -> tuple[Any, ...]:
    """A key to sort by: larger for products that stand further in front in a sum."""
    listed = [factor for factor, power in product for _ in range(power)]
    return sum(map(_factor_size, listed)), [_factor_key(factor) for factor in reversed(listed)]


def _factor_size(factor: Factor) -> int:
    if isinstance(factor, str):
        return 1
    return 1 + sum(sum(1 + product_key(p)[0] for p, _ in terms_of(d)) for d in (factor.left, factor.right))


# Division, maximum, minimum


def _divided(name: str, x: DimSize, y: DimSize, scope: SymbolicScope) -> DimSize:
    """The quotient ("floordiv") or the remainder ("mod") as Python defines them."""
    if type(y) is int and y == 0:
        raise ZeroDivisionError(f"division of the symbolic dimension '{x}' by 0")
    quotient, rest = _long_division(x, y, scope)
    if type(rest) is int and (rest == 0 or type(y) is int):
        if name == "mod":
            return rest % y if rest else 0
        return quotient + rest // y if rest else quotient
    return operation(name, x, y, scope)


def _long_division(x: DimSize, y: DimSize, scope: SymbolicScope) -> tuple[DimSize, DimSize]:
    """Polynomial division, as far as coefficients are divisible: x == quotient * y + rest."""
    leading, divisor = terms_of(y)[0]
    quotient: DimSize = 0
    while type(x) is SymbolicDim:
        product, count = x.terms[0]
        powers = dict(product)
        for factor, power in leading:
            powers[factor] = powers.get(factor, 0) - power
        if count % divisor or min(powers.values(), default=0) < 0:
            break
        step = _collected([(_joined((), tuple(powers.items())), count // divisor)], scope)
        quotient, x = quotient + step, x - step * y
    return quotient, x


def operation(name: str, x: DimSize, y: DimSize, scope: SymbolicScope) -> DimSize:
    """`floordiv`, `mod`, `max` or `min` of two sizes as one factor, or as a simpler expression where bounds allow it."""
    if type(x) is int and type(y) is int:
        return _OPERATIONS[name](x, y)
    found = _collected([(((Operation(name, x, y), 1),), 1)], scope)
    lower, upper = scope.bounds(found) if type(found) is SymbolicDim else (0, 1)
    return int(lower) if lower == upper else found


def max_dim(d1: DimSize, d2: DimSize) -> DimSize:
    """The larger of two sizes."""
    return _extreme("max", d1, d2)


def min_dim(d1: DimSize, d2: DimSize) -> DimSize:
    """The smaller of two sizes."""
    return _extreme("min", d1, d2)


def evaluated(dim: DimSize, values: Mapping[str, DimSize]) -> DimSize:
    """An expression for values of its variables, which may be expressions too."""
    return dim.evaluate(values, lambda name, x, y: _EXPRESSIONS[name](x, y)) if type(dim) is SymbolicDim else dim


_EXPRESSIONS: dict[str, Callable[[Any, Any], Any]] = {"floordiv": operator.floordiv, "mod": operator.mod, "max": max_dim, "min": min_dim}


def _extreme(name: str, x: Any, y: Any) -> DimSize:
    x, y = map(size_of, (x, y))
    if type(x) is int and type(y) is int:
        return _OPERATIONS[name](x, y)
    scope = (x if type(x) is SymbolicDim else y).scope
    difference = x - y
    lower, upper = scope.bounds(difference) if type(difference) is SymbolicDim else (difference, difference)
    if lower >= 0 or upper <= 0:
        return x if (lower >= 0) == (name == "max") else y
    if type(x) is int or type(y) is SymbolicDim and str(y) < str(x):  # in one order, the number last
        x, y = y, x
    return operation(name, x, y, scope)


# Comparisons


def _is_at_least(x: SymbolicDim | int, y: SymbolicDim | int, left: SymbolicDim, sign: str, right: SymbolicDim | int, by: int) -> bool:
    """Whether x >= y + by; the other three are for the error."""
    if not (is_dimension(x) and is_dimension(y)):
        return NotImplemented
    difference = x - y
    if type(difference) is not SymbolicDim:
        return difference >= by
    lower, upper = difference.scope.bounds(difference)
    if lower >= by:
        return True
    if upper < by:
        return False
    raise inconclusive(f"Symbolic dimension comparison '{left}' {sign} '{right}' is inconclusive.", difference.scope)
