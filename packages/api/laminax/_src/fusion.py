"""Composite functions as one compiled call when called on values, and as their operations when traced.

JAX makes such functions nested jits; inlining them instead keeps traced programs flat and tracing fast.
"""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, Sequence

from laminax_ir import config
from laminax_ir.trace import eval_trace, state


def fused(fun: Callable | None = None, *, static_argnames: Sequence[str] = ()) -> Callable:
    """Decorator: eagerly `jit(fun)`, in a trace `fun` itself.

    Args:
      fun: a function of arrays.
      static_argnames: parameters that are not arrays; their values must be hashable (a list given for one is made
        a tuple).
    """
    if fun is None:
        return lambda f: fused(f, static_argnames=static_argnames)
    static = frozenset(static_argnames)
    compiled: list[Callable] = []

    @wraps(fun)
    def call(*args, **kwargs) -> Any:
        if state.trace is not eval_trace or config.disable_jit.value:
            return fun(*args, **kwargs)
        if not compiled:
            from laminax._src.jit import jit
            compiled.append(jit(fun, static_argnames=tuple(static_argnames)))
        if static and kwargs:
            kwargs = {k: tuple(v) if k in static and type(v) is list else v for k, v in kwargs.items()}
        return compiled[0](*args, **kwargs)

    return call
