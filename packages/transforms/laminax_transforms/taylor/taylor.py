"""Taylor mode: derivatives of high order by propagation of truncated Taylor series.

A series tracer carries a value and the coefficients of the powers of one variable. Each operation has a rule that gives the
result's coefficients from those of its operands: K coefficients cost about K**2 operations, where K nested forward
derivatives cost 2**K. Source: A. Griewank and A. Walther, "Evaluating Derivatives", 2nd edition, chapter 13.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.functions.weak_scalars import shaped
from laminax_ir.ops.conversion import convert_element_type_p
from laminax_ir.ops.elementwise import convert_element_type, mul
from laminax_ir.options import config
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.pytrees.pytree import tree_flatten, tree_structure, tree_unflatten, treedef_is_leaf
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing import source
from laminax_ir.tracing.leaks import check_for_leaks
from laminax_ir.tracing.trace import Trace, Tracer, at_work, state
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types import dtypes
from laminax_ir.types.arguments import check_callable
from laminax_ir.types.avals import get_aval, is_array_like
from laminax_transforms.base.derived_programs import cached_by_jaxpr
from laminax_transforms.base.registry import broadcast_like
from laminax_transforms.base.zeros import ZERO, zeros_of
from laminax_transforms.taylor.series import Series, constant, find_rule, full_terms, is_constant

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


class SeriesTracer(Tracer):
    """A value with the coefficients of its Taylor series, all of them values of the traces below."""

    __slots__ = ("series",)
    carries_derivative = True

    def __init__(self, trace: TaylorTrace, series: Series) -> None:
        self._trace = trace
        self.series = series
        self.aval = get_aval(series[0])

    def concrete_value(self) -> Any:
        value = self.series[0]
        return value.concrete_value() if isinstance(value, Tracer) else value

    def origin(self) -> tuple[str, str]:
        value = self.series[0]
        return value.origin() if isinstance(value, Tracer) else ("", "")


class TaylorTrace(Trace):
    """Computes truncated Taylor series in the parent trace.

    Args:
      parent: what interprets the operations on coefficients.
      order: the highest power that is kept.
      name: what is being traced, for messages: `jet(f)`.
    """

    __slots__ = ("parent", "order")

    def __init__(self, parent: Trace, order: int, name: str = "") -> None:
        super().__init__(name)
        self.parent = parent
        self.order = order

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        if not any(type(x) is SeriesTracer and x._trace is self for x in operands):
            return self.parent.process(primitive, operands, params)
        series = [self.split(x) for x in operands]
        for x in series:
            if primitive is not convert_element_type_p and not is_constant(x) and not _is_inexact(x[0]):
                raise TypeError(f"jet: {primitive} of {get_aval(x[0]).str_short()}, an integer that varies: a Taylor series has real or "
                                "complex coefficients. Convert the argument to a floating-point number.")
        rule = find_rule(primitive)
        previous, origin = state.trace, state.source
        state.trace = self.parent
        if origin is None:  # the operations of the rule come from the line of this one
            state.source = source.current()
        try:
            result = rule(series, params)
            return [self.join(y) for y in result] if primitive.multiple_results else self.join(result)
        finally:
            state.trace = previous
            state.source = origin

    def split(self, x: Any) -> Series:
        """The series of any value."""
        return x.series if type(x) is SeriesTracer and x._trace is self else constant(x, self.order)

    def join(self, series: Series) -> Any:
        """A tracer with the series; just the value where it does not vary. Coefficients are given the value's shape."""
        if is_constant(series):
            return series[0]
        shape = get_aval(series[0]).shape
        return SeriesTracer(self, [c if c is ZERO or get_aval(c).shape == shape else broadcast_like(c, shape) for c in series])

    def process_custom_jvp(self, call: Any) -> Any:
        """The rule is of the first order only: the function itself is expanded."""
        return call.call_primal()

    def process_custom_vjp(self, call: Any) -> Any:
        """Like `process_custom_jvp`."""
        return call.call_primal()


def _is_inexact(x: ArrayLike) -> bool:
    return dtypes.issubdtype(get_aval(x).dtype, dtypes.inexact)


def taylor_flat(fun: Callable[..., Sequence[Any]], operands: Sequence[Series], order: int, name: str = "") -> list[Series]:
    """The Taylor series of the results of a flat function, given those of its arguments."""
    trace = TaylorTrace(state.trace, order, name)
    with at_work(trace):
        outputs = fun(*[trace.join(list(x)) for x in operands])
        results = [trace.split(x) for x in outputs]
    if config.check_leaks.value:
        del outputs
        check_for_leaks(trace)
    return results


@dataclass(frozen=True)
class TaylorJaxpr:
    """`jaxpr(*values, *coefficients of the varying ones) -> (*results, *coefficients of the varying results)`."""
    jaxpr: ClosedJaxpr
    out_varying: tuple[bool, ...]


@cached_by_jaxpr
def taylor_jaxpr(closed: ClosedJaxpr, varying: tuple[bool, ...], order: int, wanted: tuple[bool, ...] | None = None) -> TaylorJaxpr:
    """The program of a jaxpr's Taylor series.

    Args:
      closed: the program.
      varying: which inputs have coefficients.
      order: how many.
      wanted: which results' coefficients to return even when they are zero; none by default.
    """
    count = len(closed.in_avals)
    out_varying: list[bool] = []

    def fun(*args: Any) -> Any:
        operands = joined(args[:count], args[count:], varying, order)
        results = taylor_flat(lambda *xs: eval_jaxpr(closed.jaxpr, closed.consts, *xs), operands, order)
        out_varying.extend(not is_constant(y) or (wanted is not None and wanted[i]) for i, y in enumerate(results))
        return separated(results, out_varying)

    avals = [aval for aval, varies in zip(closed.in_avals, varying) if varies for _ in range(order)]
    return TaylorJaxpr(stage(fun, [*closed.in_avals, *avals], closed.jaxpr.debug_info), tuple(out_varying))


def joined(values: Sequence[Any], coefficients: Sequence[Any], varying: Sequence[bool], order: int) -> list[Series]:
    """Series from values, and from the coefficients of the varying ones in a row."""
    found = iter(coefficients)
    return [[x, *[next(found) for _ in range(order)]] if varies else constant(x, order) for x, varies in zip(values, varying)]


def separated(operands: Sequence[Series], varying: Sequence[bool]) -> list[Any]:
    """The values, followed by the coefficients of the varying ones: what `joined` takes."""
    terms = [[_typed_like(x[0], c) for c in full_terms(x, get_aval(x[0]).shape)[1:]] for x, varies in zip(operands, varying) if varies]
    return [*[x[0] for x in operands], *[c for group in terms for c in group]]


def _typed_like(value: ArrayLike, c: ArrayLike) -> Array:
    """A coefficient, weakly typed if the value is."""
    aval = get_aval(value)
    if get_aval(c).weak_type == aval.weak_type:
        return c
    return convert_element_type_p.bind(c, new_dtype=get_aval(c).dtype, weak_type=aval.weak_type)


@api_boundary
def jet(fun: Callable, primals: Sequence[Any], series: Sequence[Sequence[Any]], factorial_scaled: bool = True) -> tuple[Any, Any]:
    """Derivatives of high order along a curve, by Taylor mode.

    For a curve `x(t)` with `x(0) = primals` and the derivatives `series`, gives `fun(x(0))` and the derivatives of `fun(x(t))` at 0.

    Args:
      fun: takes arrays, and returns a pytree of arrays.
      primals: tuple or list with one array per argument.
      series: for each argument its derivatives, a tuple or list of arrays of its shape: the first, the second and so on, as many for
        each argument.
      factorial_scaled: whether series, and what is returned, are derivatives. If False, they are Taylor coefficients: derivatives
        divided by the factorial of their order.

    Returns:
      `(result, series of the result)`. The latter has the structure of the former, with the list of derivatives of each array in its place.

    Raises:
      ValueError: if there are not as many series as primals, they differ in length, an argument is no array but a container, or a term
        has not the shape of its primal.
      TypeError: if primals and series are not tuples or lists, or something in them is no array of numbers.
      NotImplementedError: if fun has an operation without a Taylor-mode rule, which is named.

    Example:
      >>> jet(ops.elementwise.sin, (0.5,), ((1.0, 0.0),))  # sin(0.5), and its derivatives cos(0.5), -sin(0.5)
    """
    check_callable("jet", fun)
    order = _checked_order(primals, series)
    primals = [shaped(_checked_array(f"primal value at position {i}", x)) for i, x in enumerate(primals)]
    operands = []
    for i, (x, terms) in enumerate(zip(primals, series)):
        coefficients = [_checked_term(f"term {j} for argument {i}", term, x) for j, term in enumerate(terms)]
        if get_aval(x).dtype == np.bool_:  # a choice, which has no derivatives: results do not depend on its terms
            coefficients = [ZERO] * order
        operands.append([x, *_rescaled(coefficients, lambda n: 1 / n, factorial_scaled)])
    trees = []

    def flat(*args: Any) -> list[Any]:
        leaves, tree = tree_flatten(fun(*args))
        trees.append(tree)
        return [_checked_result(leaf) for leaf in leaves]

    results = taylor_flat(flat, operands, order, f"jet({getattr(fun, '__name__', type(fun).__name__)})")
    out_series = [_rescaled(_result_terms(y, factorial_scaled), float, factorial_scaled) for y in results]
    return tree_unflatten(trees[0], [y[0] for y in results]), tree_unflatten(trees[0], out_series)


def _checked_order(primals: Sequence[ArrayLike], series: Sequence[Sequence[ArrayLike]]) -> int:
    for name, value in (("primals", primals), ("series", series)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(f"jet: {name} must be a tuple or list with one entry per argument of the function, got {type(value).__name__}: "
                            "write jet(f, (x,), ((x_1, x_2),))")
    if len(primals) != len(series):
        raise ValueError(f"jet: there are {len(primals)} primals and {len(series)} series. Give one series per argument of the function.")
    for i, terms in enumerate(series):
        if not isinstance(terms, (tuple, list)):
            raise TypeError(f"jet: series[{i}] must be a tuple or list of arrays, got {type(terms).__name__}: "
                            "write jet(f, (x,), ((x_1, x_2),))")
    lengths = [len(terms) for terms in series]
    if len(set(lengths)) != 1:
        raise ValueError(f"jet terms have inconsistent lengths for different arguments: {lengths}. Give as many terms for each, and at "
                         "least one argument.")
    return lengths[0]


def _checked_array(what: str, x: ArrayLike) -> Array:
    if not treedef_is_leaf(tree_structure(x)):
        raise ValueError(f"{what} is not an array: jet takes no containers, got {type(x).__name__}. "
                         "Let the function take one array per argument.")
    if not is_array_like(x):
        raise TypeError(f"jet: {what} is not an array of numbers, got {x!r} of type {type(x).__name__}. Bind other values with a lambda.")
    return x


def _checked_term(what: str, term: ArrayLike, primal: ArrayLike) -> Array:
    """A term as an array of the primal's type; of the default floating-point type beside an integer or a boolean."""
    _checked_array(what, term)
    aval, expected = get_aval(term), get_aval(primal)
    if aval.shape != expected.shape:
        raise ValueError(f"jet: {what} has shape {aval.shape}, its primal {expected.shape}. A term must have the shape of its primal.")
    has_terms = dtypes.issubdtype(expected.dtype, dtypes.number) or expected.dtype == np.bool_
    if not has_terms or not dtypes.issubdtype(aval.dtype, dtypes.number):
        raise TypeError(f"jet: {what} is {aval.str_short()}, its primal {expected.str_short()}; both must be arrays of numbers.")
    if dtypes.issubdtype(aval.dtype, dtypes.complexfloating) and not dtypes.issubdtype(expected.dtype, dtypes.complexfloating):
        raise TypeError(f"jet: {what} is complex, {aval.str_short()}, its primal {expected.str_short()}. Make the primal complex too.")
    return convert_element_type(shaped(term), dtypes.to_inexact_dtype(expected.dtype), expected.weak_type and aval.weak_type)


def _rescaled(terms: Sequence[Any], factor: Callable[[int], float], factorial_scaled: bool) -> list[Any]:
    """The terms times a function of the factorial of their order."""
    if not factorial_scaled:
        return list(terms)
    return [c if c is ZERO or n == 1 else mul(c, factor(math.factorial(n))) for n, c in enumerate(terms, 1)]


def _checked_result(leaf: ArrayLike) -> Array:
    if not is_array_like(leaf):
        raise TypeError(f"jet: the function returned {leaf!r} of type {type(leaf).__name__}, which is not an array. "
                        "Return arrays and scalars.")
    return leaf


def _result_terms(y: Series, factorial_scaled: bool) -> list[Any]:
    """All terms as arrays; the derivatives of an integer result are zeros of the default floating-point type."""
    aval = get_aval(y[0])
    if factorial_scaled and not _is_inexact(y[0]):
        aval = aval.update(dtype=np.dtype(dtypes.to_inexact_dtype(aval.dtype)), weak_type=True)
    return [zeros_of(aval) if c is ZERO else _typed_like(y[0], c) for c in y[1:]]
