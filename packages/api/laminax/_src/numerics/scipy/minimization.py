"""Minimization of functions of vectors, as in `scipy.optimize`: `minimize`, and the BFGS method."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable, Mapping

from laminax_ir.ops.elementwise import complex as complex_of
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_transforms import value_and_grad

from laminax._src.numerics.numpy import namespace as jnp
from laminax._src.numerics.numpy.arguments import inexact
from laminax._src.numerics.scipy import limited_memory_bfgs as limited
from laminax._src.numerics.scipy.bfgs import OptimizeResults, minimize_bfgs

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array

_LIMITED_MEMORY = "l-bfgs-experimental-do-not-rely-on-this"




def minimize(fun: Callable, x0: Any, args: tuple = (), *, method: str, tol: float | None = None, options: Mapping[str, Any] | None = None) \
        -> OptimizeResults:
    """A local minimum of a function of a vector.

    Args:
      fun: a differentiable function of a vector, and of args, with a scalar result.
      x0: [n], where to start. If it is complex, the search is for the real parts and the imaginary ones, a vector of 2 n: of them are
        the norm of the gradient and `hess_inv`, and `jac` is complex, like the gradient that `grad` gives.
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

    Example:
      >>> result = minimize(lambda x: jnp.sum((x - jnp.array([1., 2.])) ** 2), jnp.zeros(2), method="BFGS")
      >>> result.x
      Array([1., 2.], dtype=float32)
      >>> result.success
      Array(True, dtype=bool)

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
    is_complex = dtypes.issubdtype(x0.dtype, dtypes.complexfloating)
    size = 2 * len(x0) if is_complex else len(x0)
    search: Callable
    if str(method).lower() == _LIMITED_MEMORY:
        search, settings = limited.minimize_limited_memory, limited.settings(size)
    else:
        search, settings = minimize_bfgs, {"gtol": 1e-5, "maxiter": 200 * size, "norm": math.inf, "line_search_maxiter": 10}
    unknown = set(options or {}) - set(settings)
    if unknown:
        raise ValueError(f"minimize: unknown options {sorted(unknown)}; there are {sorted(settings)}")
    settings |= {} if tol is None else {"gtol": tol}
    settings |= {name: value for name, value in (options or {}).items() if value is not None}
    if is_complex:
        found = search(value_and_grad(lambda parts: fun(_joined(parts), *args)), jnp.concatenate([x0.real, x0.imag]), **settings)
        return found._replace(x=_joined(found.x), jac=jnp.conj(_joined(found.jac)))
    return search(value_and_grad(lambda x: fun(x, *args)), x0, **settings)


def _joined(parts: Array) -> Array:
    """The complex vector of its real parts, and then its imaginary ones."""
    half = len(parts) // 2
    return complex_of(parts[:half], parts[half:])
