"""The forward and the backward pass of a function as two functions, which can be compiled apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types.arguments import check_callable, function_name
from laminax_transforms.differentiation.autodiff import vjp
from laminax_transforms.differentiation.gradients import checked_argnums, chosen_positions, of_chosen_arguments


def fwd_and_bwd(fun: Callable, argnums: int | Sequence[int], has_aux: bool = False) -> tuple[Callable, Callable]:
    """Makes the functions of a forward and a backward pass.

    `vjp` returns a new function after each call. Here the backward pass is one function of the residuals, which can be traced and
    compiled once.

    Args:
      fun: function of arrays and pytrees of them.
      argnums: which positional arguments to differentiate with respect to, one index or a sequence of them.
      has_aux: whether `fun` returns a pair (result, auxiliary data).

    Returns:
      `(fwd, bwd)`. `fwd(*args)` returns `(result, residuals)`, and the auxiliary data as a third item with `has_aux`; the residuals
      are a pytree. `bwd(residuals, cotangent)` takes a pytree like the result and returns a tuple with one cotangent for each of the
      chosen arguments, or one cotangent if `argnums` is an integer.

    Raises:
      TypeError: if `fun` is not callable, or argnums is not an integer or a sequence of integers.
      ValueError: by `fwd`, if it is called with too few arguments; by `bwd`, if the cotangent does not match the result.

    Example:
      >>> fwd, bwd = fwd_and_bwd(lambda x, w: x * w, argnums=(0, 1))
      >>> result, residuals = fwd(2.0, 3.0)
      >>> bwd(residuals, 1.0)
      (3.0, 2.0)
    """
    check_callable("fwd_and_bwd", fun)
    argnums = checked_argnums("fwd_and_bwd", argnums)

    @api_boundary
    @wraps(fun)
    def fwd(*args: Any, **kwargs: Any) -> Any:
        positions = chosen_positions("fwd_and_bwd", fun, argnums, len(args), ValueError)

        chosen, fun_of_chosen = of_chosen_arguments(fun, positions, args, kwargs)
        return vjp(fun_of_chosen, *chosen, has_aux=has_aux)

    def bwd(residuals: Any, cotangent: Any) -> Any:
        cotangents = residuals(cotangent)
        return cotangents[0] if isinstance(argnums, int) else cotangents

    bwd.__name__ = f"{function_name(fun)}_bwd"
    return fwd, bwd
