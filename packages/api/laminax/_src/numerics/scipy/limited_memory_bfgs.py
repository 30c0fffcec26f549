"""Minimization by the BFGS method with limited memory: of the inverse Hessian only the last steps are kept.

Source: J. Nocedal and S. Wright, "Numerical Optimization", algorithms 7.4 and 7.5.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from laminax_ir.ops.loops import fori_loop, while_loop

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.linalg import norms
from laminax._src.numerics.scipy.bfgs import OptimizeResults, dot, evaluated_scalar, line_search

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def settings(n: int) -> dict[str, Any]:
    """The options and their default values; n is the size of the vector."""
    return {"maxcor": 10, "ftol": 2.220446049250313e-09, "gtol": 1e-5, "maxfun": math.inf, "maxgrad": math.inf, "maxiter": 200 * n,
            "norm": math.inf, "maxls": 20}


class _State(NamedTuple):
    x: Any
    f: Any
    g: Any
    moves: Any  # [maxcor, n], the last steps, the newest last; 0 where there are none yet
    changes: Any  # those of the gradient
    inverse_products: Any  # [maxcor], one over move times change; 0 where there is none
    scale: Any  # of the inverse Hessian that the steps correct
    evaluations: Any
    iterations: Any
    converged: Any
    status: Any


def minimize_limited_memory(evaluate: Callable, x0: Any, maxcor: int, ftol: float, gtol: Any, maxfun: float, maxgrad: float, maxiter: int,
                            norm: Any, maxls: Any) -> OptimizeResults:
    """The minimum, searched from x0; `evaluate` gives the function's value and gradient. For the options see `minimize`."""
    f, g = evaluated_scalar(evaluate, x0)

    def step(s: _State) -> _State:
        direction = _direction(s, maxcor)
        length, f, g, count, failed = line_search(evaluate, s.x, direction, s.f, s.g, maxls)
        move, change = length * direction, g - s.g
        product = dot(move, change)
        is_curved = product > 0  # else the pair would make the approximation indefinite
        safe = jnp.where(is_curved, product, 1)
        moves, changes, inverse_products = (jnp.where(is_curved, jnp.roll(old, -1, 0).at[-1].set(new), old) for old, new in [
            (s.moves, move), (s.changes, change), (s.inverse_products, 1 / safe)])
        scale = jnp.where(is_curved, product / jnp.where(is_curved, dot(change, change), 1), s.scale)
        evaluations, iterations = s.evaluations + count, s.iterations + 1
        converged = norms.norm(g, ord=norm) < gtol
        status = jnp.zeros((), int)
        for number, is_so in [(4, s.f - f < ftol), (3, evaluations >= maxgrad), (2, evaluations >= maxfun), (1, iterations >= maxiter),
                              (5, failed)]:
            status = jnp.where(is_so, number, status)
        return _State(s.x + move, f, g, moves, changes, inverse_products, scale, evaluations, iterations, converged,
                      jnp.where(converged, 0, status))

    memory = jnp.zeros((maxcor, len(x0)), x0.dtype)
    start = _State(x0, f, g, memory, memory, jnp.zeros(maxcor, x0.dtype), jnp.ones((), x0.dtype), 1, 0,
                   norms.norm(g, ord=norm) < gtol, jnp.asarray(0 if maxiter > 0 else 1))
    end = while_loop(lambda s: ~s.converged & (s.status == 0), step, start)
    return OptimizeResults(end.x, end.converged, end.status, end.f, end.g, None, end.evaluations, end.evaluations, end.iterations)


def _direction(s: _State, maxcor: int) -> Any:
    """The approximate inverse of the Hessian times the negative gradient: newest steps first, then back from the oldest."""
    def newest_first(i: ArrayLike, state: tuple[ArrayLike, ...]) -> tuple[Array, Array]:
        direction, weights = state
        k = maxcor - 1 - i
        weight = s.inverse_products[k] * dot(s.moves[k], direction)
        return direction - weight * s.changes[k], weights.at[k].set(weight)

    def oldest_first(k: ArrayLike, direction: ArrayLike) -> Array:
        return direction + s.moves[k] * (weights[k] - s.inverse_products[k] * dot(s.changes[k], direction))

    direction, weights = fori_loop(0, maxcor, newest_first, (-s.g, jnp.zeros_like(s.inverse_products)))
    return fori_loop(0, maxcor, oldest_first, s.scale * direction)
