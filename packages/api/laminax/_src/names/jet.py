"""The rules of Taylor mode for users' own operations, in JAX's form.

A rule is `rule(primals_in, series_in, **params) -> (result, series of the result)`: the values of the operands, and for each the list of
its coefficients after the first, which are derivatives divided by the factorial of their order. For an operation with several results,
both are lists. A result that does not vary has `zero_series`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from laminax_ir.ops.elementwise import add, exp, mul
from laminax_ir.ops.special import lgamma
from laminax_ir.programs.primitive import Primitive
from laminax_ir.pytrees.pytree import register_pytree_node
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.zeros import ZERO
from laminax_transforms.taylor.series import constant, full_terms, taylor_rules
from laminax_transforms.taylor.taylor import jet

from laminax._src.names.interpreters.tables import RuleMapping


class ZeroTerm:
    """A coefficient that is known to be zero, in what a rule returns."""


class ZeroSeries:
    """The coefficients of a result that does not vary, in what a rule returns."""


zero_term, zero_series = ZeroTerm(), ZeroSeries()
register_pytree_node(ZeroTerm, lambda _: ((), None), lambda _, __: zero_term)
register_pytree_node(ZeroSeries, lambda _: ((), None), lambda _, __: zero_series)


def _store(primitive: Primitive, rule: Callable[..., Any]) -> Callable[..., Any]:
    def adapter(operands: Sequence[Any], params: dict[str, Any]) -> Any:
        order = len(operands[0]) - 1
        full = [full_terms(x, get_aval(x[0]).shape) for x in operands]
        result, series = rule([x[0] for x in full], [x[1:] for x in full], **params)
        if not primitive.multiple_results:
            return _joined(primitive, result, series, order)
        return [_joined(primitive, y, terms, order) for y, terms in zip(result, series, strict=True)]
    return adapter


def _joined(primitive: Primitive, value: Any, series: Any, order: int) -> list[Any]:
    if series is zero_series:
        return constant(value, order)
    if len(series) != order:
        raise ValueError(f"jet: the rule of {primitive} returned {len(series)} coefficients, and there must be {order}, or zero_series")
    return [value, *[ZERO if c is zero_term else c for c in series]]


def _load(primitive: Primitive, rule: Callable[..., Any]) -> Callable[..., Any]:
    def in_jax_form(primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        order = max((len(terms) for terms in series_in if terms is not zero_series), default=0)
        operands = [constant(x, order) if terms is zero_series else [x, *[ZERO if c is zero_term else c for c in terms]]
                    for x, terms in zip(primals_in, series_in, strict=True)]
        results = rule(operands, params)
        outs = results if primitive.multiple_results else [results]
        values, series = [y[0] for y in outs], [full_terms(y, get_aval(y[0]).shape)[1:] for y in outs]
        return (values, series) if primitive.multiple_results else (values[0], series[0])
    return in_jax_form


jet_rules = RuleMapping(taylor_rules, _store, _load)
"""`jet_rules[p] = rule`: the rule of a primitive, in the form above."""


def fact(n: Any) -> Any:
    """The factorial of an integer, as a float."""
    return exp(lgamma(float(n) + 1.0 if isinstance(n, int) else add(n, 1.0)))


def defzero(prim: Primitive) -> None:
    """Declares that the results of an operation do not vary: its derivative is zero where there is one."""
    jet_rules[prim] = partial(zero_prop, prim)


def zero_prop(prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """The rule of an operation whose results do not vary."""
    result = prim.bind(*primals_in, **params)
    return result, [zero_series] * len(result) if prim.multiple_results else zero_series


def deflinear(prim: Primitive) -> None:
    """Declares that an operation is linear in all its operands jointly."""
    jet_rules[prim] = partial(linear_prop, prim)


def linear_prop(prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """The rule of a linear operation: each coefficient goes through it."""
    result = prim.bind(*primals_in, **params)
    series = [prim.bind(*terms, **params) for terms in zip(*series_in, strict=True)]
    return result, [list(terms) for terms in zip(*series)] if prim.multiple_results else series


def def_deriv(prim: Primitive, deriv: Callable[[Any], Any]) -> None:
    """Defines the rule of an operation on one operand by its first derivative, a function of the operand."""
    jet_rules[prim] = partial(deriv_prop, prim, deriv)


def deriv_prop(prim: Primitive, deriv: Callable[[Any], Any], primals_in: Sequence[Any], series_in: Sequence[Any]) -> tuple[Any, Any]:
    """The rule of y = f(x) with y' = f'(x) x': k y_k is the sum of j x_j c_(k-j), for the coefficients c of f'(x)."""
    (x,), (terms,) = primals_in, series_in
    first, rest = jet(deriv, (x,), (terms,), factorial_scaled=False)
    slopes, ys = [first, *rest], []
    for k in range(1, len(terms) + 1):
        parts = [mul(mul(float(j), terms[j - 1]), slopes[k - j]) for j in range(1, k + 1)]
        total = parts[0]
        for part in parts[1:]:
            total = add(total, part)
        ys.append(mul(total, 1 / k))
    return prim.bind(x), ys


def def_comp(prim: Primitive, comp: Callable[..., Any], **kwargs: Any) -> None:
    """Defines the rule of an operation by a function of its operands that computes the same with other operations."""
    def rule(primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        return jet(partial(comp, **kwargs, **params), tuple(primals_in), tuple(series_in), factorial_scaled=False)
    jet_rules[prim] = rule
