"""Minimization of functions of vectors, as in `scipy.optimize`: `minimize`, and the BFGS method."""

from __future__ import annotations

import math
from typing import Any, Callable, Mapping, NamedTuple

from laminax_ir.ops.loops import while_loop
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms import value_and_grad

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import inexact
from laminax._src.numerics.numpy.linalg import norms

_LIMITED_MEMORY = "l-bfgs-experimental-do-not-rely-on-this"
_DECREASE, _SLOPE = 1e-4, 0.9  # of the conditions of Wolfe


class OptimizeResults(NamedTuple):
    """Where the minimization ended, and why.

    `status` is 0 for convergence, 1 where the iterations are used up, 3 where the line search failed. With limited memory it is 2
    or 3 where the evaluations are used up, 4 where the function hardly decreased, 5 where the line search failed, and `hess_inv`
    is None.
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


def minimize(fun: Callable, x0, args: tuple = (), *, method: str, tol: float | None = None, options: Mapping[str, Any] | None = None) \
        -> OptimizeResults:
    """A local minimum of a function of a vector.

    Args:
      fun: a differentiable function of a vector, and of args, with a scalar result.
      x0: [n], where to start.
      args: further arguments of the function.
      method: "BFGS", or "l-bfgs-experimental-do-not-rely-on-this", which keeps the last steps in place of a matrix; in any case of letters.
      tol: the norm of the gradient at which the search ends; the option `gtol`, 1e-5 by default, says the same.
      options: `gtol`; `maxiter`, the most iterations, 200 n by default; `norm`, the order of the norm, inf by default;
        `line_search_maxiter`, 10 by default. With limited memory: `gtol`, `maxiter`, `norm`; `maxcor`, how many steps are kept, 10 by
        default; `ftol`, the decrease below which it gives up, 2.2e-9; `maxls`, of the line search, 20; `maxfun` and `maxgrad`, the most
        evaluations. None stands for the default.

    Returns:
      The results.

    Raises:
      ValueError: for another method, an unknown option, or if x0 is no vector.
      TypeError: if args is no tuple.

    Source: J. Nocedal and S. Wright, "Numerical Optimization", chapters 3 and 6; the line search is that of A. Lewis and
    M. Overton, "Nonsmooth Optimization via Quasi-Newton Methods", Math. Programming 141 (2013).
    """
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: args {args!r} must be a tuple; write ({args!r},)")
    if str(method).lower() not in ("bfgs", _LIMITED_MEMORY):
        raise ValueError(f"minimize: method must be 'BFGS' or {_LIMITED_MEMORY!r}, got {method!r}")
    x0 = jnp.asarray(inexact("minimize", x0))
    if x0.ndim != 1:
        raise ValueError(f"minimize: x0 must be a vector, got {get_aval(x0).str_short()}. Use flatten_util.ravel_pytree for other values.")
    if str(method).lower() == _LIMITED_MEMORY:
        from laminax._src.numerics.scipy import limited_memory_bfgs as limited
        search, settings = limited.minimize_limited_memory, limited.settings(len(x0))
    else:
        search, settings = _bfgs, {"gtol": 1e-5, "maxiter": 200 * len(x0), "norm": math.inf, "line_search_maxiter": 10}
    unknown = set(options or {}) - set(settings)
    if unknown:
        raise ValueError(f"minimize: unknown options {sorted(unknown)}; there are {sorted(settings)}")
    settings |= {} if tol is None else {"gtol": tol}
    settings |= {name: value for name, value in (options or {}).items() if value is not None}
    return search(value_and_grad(lambda x: fun(x, *args)), x0, **settings)


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


def _bfgs(evaluate, x0, gtol, maxiter, norm, line_search_maxiter) -> OptimizeResults:
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
        first = jnp.where(s.iterations == 0, curvature * jnp.where(curvature > 0, 1 / jnp.where(curvature > 0, dot(change, change), 1), 1), 1.0)
        scaled = jnp.where((s.iterations == 0) & (curvature > 0), first * s.inverse, s.inverse)
        updated = dot(dot(left, scaled), left.T) + rho * jnp.outer(move, move)
        inverse = jnp.where(curvature > 0, updated, s.inverse)
        converged = norms.norm(g, ord=norm) < gtol
        return _State(s.x + move, f, g, inverse, s.evaluations + count, s.iterations + 1, converged, failed & ~converged)

    start = _State(x0, f, g, eye, 1, 0, norms.norm(g, ord=norm) < gtol, jnp.zeros((), bool))
    end = while_loop(lambda s: ~s.converged & ~s.failed & (s.iterations < maxiter), step, start)
    status = jnp.where(end.converged, 0, jnp.where(end.failed, 3, 1))
    return OptimizeResults(end.x, end.converged, status, end.f, end.g, end.inverse, end.evaluations, end.evaluations, end.iterations)


def line_search(evaluate, x, direction, f0, g0, maxiter):
    """A step that fulfils the conditions of Wolfe, by doubling and bisection; the best one seen if they are not met in time."""
    slope = dot(g0, direction)

    def step(state):
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
