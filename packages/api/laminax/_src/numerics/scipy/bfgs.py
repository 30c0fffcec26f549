"""Minimisation by the method of Broyden, Fletcher, Goldfarb and Shanno (BFGS), and the line search that L-BFGS uses too."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from laminax_ir.ops.loops import while_loop
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.linalg import norms

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_DECREASE, _SLOPE = 1e-4, 0.9  # of the conditions of Wolfe


class OptimizeResults(NamedTuple):
    """Where the minimization ended, and why.

    `status` is 0 for convergence, 1 where the iterations are used up, 3 where the line search failed. With limited memory it is 2
    or 3 where the evaluations are used up, 4 where the function hardly decreased, 5 where the line search failed, and `hess_inv`
    is None.

    Example:
      >>> result = minimize(lambda x: (x[0] - 3.) ** 2, jnp.zeros(1), method="BFGS")
      >>> result.x, result.status
      (Array([3.], dtype=float32), Array(0, dtype=int32))
    """
    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class _State(NamedTuple):
    x: Any
    f: Any
    g: Any
    inverse: Any  # an approximation of the Hessian's inverse
    evaluations: Any
    iterations: Any
    converged: Any
    failed: Any


def dot(a: Any, b: Any) -> Any:
    """The product in full precision, for the decisions of a search hang on it."""
    return jnp.matmul(a, b, precision="highest")


def evaluated_scalar(evaluate: Callable, x0: Any) -> Any:
    """The value and the gradient at x0, once it is certain that the value is a scalar."""
    f, g = evaluate(x0)
    if jnp.shape(f) != ():
        raise ValueError(f"minimize: the function must return a scalar, got {get_aval(f).str_short()}")
    return f, g


def minimize_bfgs(evaluate: Callable, x0: Any, gtol: Any, maxiter: Any, norm: Any, line_search_maxiter: Any) -> OptimizeResults:
    """Minimizes a function by the method of Broyden, Fletcher, Goldfarb and Shanno.

    Args:
      evaluate: the function; see `evaluated_scalar`.
      x0: where to start, a float vector.
      gtol: the norm of the gradient at which to stop.
      maxiter: the greatest number of steps.
      norm: the order of the norm.
      line_search_maxiter: the greatest number of steps of a line search.

    Source: Nocedal and Wright, "Numerical Optimization", algorithm 6.1.
    """
    f, g = evaluated_scalar(evaluate, x0)
    eye = jnp.eye(len(x0), dtype=x0.dtype)

    def step(s: _State) -> _State:
        direction = -dot(s.inverse, s.g)
        length, f, g, count, failed = line_search(evaluate, s.x, direction, s.f, s.g, line_search_maxiter)
        move, change = length * direction, g - s.g
        curvature = dot(change, move)
        rho = jnp.where(curvature > 0, 1 / jnp.where(curvature > 0, curvature, 1), 0)
        left = eye - rho * jnp.outer(move, change)
        # the first matrix has the scale of the Hessian's inverse along the first step
        first = jnp.where(s.iterations == 0, curvature * jnp.where(curvature > 0, 1 / jnp.where(curvature > 0, dot(change, change), 1), 1),
                          1.0)
        scaled = jnp.where((s.iterations == 0) & (curvature > 0), first * s.inverse, s.inverse)
        updated = dot(dot(left, scaled), left.T) + rho * jnp.outer(move, move)
        inverse = jnp.where(curvature > 0, updated, s.inverse)
        converged = norms.norm(g, ord=norm) < gtol
        return _State(s.x + move, f, g, inverse, s.evaluations + count, s.iterations + 1, converged, failed & ~converged)

    start = _State(x0, f, g, eye, 1, 0, norms.norm(g, ord=norm) < gtol, jnp.zeros((), bool))
    end = while_loop(lambda s: ~s.converged & ~s.failed & (s.iterations < maxiter), step, start)
    status = jnp.where(end.converged, 0, jnp.where(end.failed, 3, 1))
    return OptimizeResults(end.x, end.converged, status, end.f, end.g, end.inverse, end.evaluations, end.evaluations, end.iterations)


def line_search(evaluate: Callable, x: ArrayLike, direction: ArrayLike, f0: ArrayLike, g0: ArrayLike, maxiter: int) -> Any:
    """A step that fulfils the conditions of Wolfe, by doubling and bisection; the best one seen if they are not met in time."""
    slope = dot(g0, direction)

    def step(state: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
        low, high, length, *_, count = state
        f, g = evaluate(x + length * direction)
        too_long = ~(f <= f0 + _DECREASE * length * slope)
        too_short = ~too_long & (dot(g, direction) < _SLOPE * slope)
        low, high = jnp.where(too_short, length, low), jnp.where(too_long, length, high)
        following = jnp.where(jnp.isinf(high), 2 * low, (low + high) / 2)
        done = ~too_long & ~too_short
        return low, high, jnp.where(done, length, following), length, f, g, done, count + 1

    dtype = x.dtype
    zero = jnp.zeros((), dtype)
    start = zero, jnp.full((), math.inf, dtype), jnp.ones((), dtype), zero, f0, g0, jnp.zeros((), bool), 0
    limit = 3 * maxiter  # bisection takes three times the steps of the interpolation that the option is meant for
    low, _, _, length, f, g, done, count = while_loop(lambda s: ~s[-2] & (s[-1] < limit), step, start)
    is_descent = (f < f0 + 10 * float(dtypes.finfo(dtype).eps) * jnp.abs(f0)) & jnp.isfinite(f)
    accepted = done | is_descent
    length = jnp.where(accepted, length, 0)
    return length, jnp.where(accepted, f, f0), jnp.where(accepted, g, g0), count, ~done
