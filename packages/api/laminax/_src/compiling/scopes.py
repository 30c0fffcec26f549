"""Contexts in which functions are traced or run: names for operations, `disable_jit`, `ensure_compile_time_eval`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from laminax_ir.options import config
from laminax_ir.options.ambient import Override
from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.tracing.trace import ConstantFoldingTrace, current_trace, eval_trace, name_scope, state
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types.arguments import check_callable

from laminax._src.compiling.tracing import function_name

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def disable_jit(disable: bool = True) -> Override:
    """Context manager: jitted functions run as plain Python inside, operation by operation, so that values can be seen.

    Example:
      >>> with disable_jit():
      ...     jit(lambda x: x + 1)(1.0)
      2.0
    """
    return config.disable_jit(bool(disable))


def named_scope(name: str) -> Any:
    """A context manager and decorator that adds a name to the operations made inside; profiles and HLO show it.

    Raises:
      TypeError: if the name is no string.

    Example:
      >>> with named_scope("attention"):
      ...     y = jnp.exp(x)
    """
    if not isinstance(name, str):
        raise TypeError(f"named_scope: name must be a string, got {name!r} of type {type(name).__name__}")
    return name_scope(name)


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """A function whose operations carry a name; profiles and HLO show it.

    Args:
      fun: the function.
      name: the name; by default that of the function.

    Returns:
      The function, wrapped in a `named_scope`.

    Raises:
      TypeError: if `fun` is not callable or the name is no string.

    Example:
      >>> named_call(jnp.sin, name="wave")(0.0)
      Array(0., dtype=float32, weak_type=True)
    """
    check_callable("named_call", fun)
    name = function_name(fun) if name is None else name
    named_scope(name)  # checks the name now

    @api_boundary
    @wraps(fun)
    def call(*args: ArrayLike, **kwargs: Any) -> Array:
        with name_scope(name):
            return fun(*args, **kwargs)

    return call


class ensure_compile_time_eval(current_trace):
    """Context manager: operations inside that depend on no traced value are computed at once, also while a function is traced.

    Those that do depend on one are traced, as they are outside.

    Example:
      >>> @jit
      ... def f(x):
      ...     with ensure_compile_time_eval():
      ...         n = int(jnp.sum(jnp.arange(4)))  # a Python int
      ...     return x * n
    """

    def __init__(self) -> None:
        super().__init__(eval_trace)

    def _recreate_cm(self) -> ensure_compile_time_eval:
        return ensure_compile_time_eval()

    def _change(self) -> None:
        self.trace = eval_trace if state.trace is eval_trace else ConstantFoldingTrace(state.trace)
        super()._change()


__all__ = ["disable_jit", "ensure_compile_time_eval", "named_call", "named_scope"]
