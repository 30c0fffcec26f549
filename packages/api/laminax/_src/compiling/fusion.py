"""Composite functions as one compiled call when called on values, and as their operations when traced.

In JAX such functions are nested jits; inlined, they leave traced programs flat. The operations that a call records are kept, and
copied when the next such call is staged (`laminax_ir.recording.recordings`).
"""

from __future__ import annotations

from functools import wraps
from inspect import unwrap
from typing import Any, Callable, Sequence

from laminax_ir.recording.recordings import RecordedFunction
from laminax_ir.tracing.trace import eval_trace, state, tracing_threads
from laminax_ir.tracing.tracebacks import shorten

from laminax._src.compiling.recent_programs import Owner


def fused(fun: Callable | None = None, *, static_argnames: Sequence[str] = ()) -> Callable:
    """Decorator: eagerly `jit(fun)`, in a trace `fun` itself.

    Args:
      fun: a function of arrays.
      static_argnames: parameters that are not arrays; their values must be hashable (a list given for one is made
        a tuple).
    """
    if fun is None:
        return lambda f: fused(f, static_argnames=static_argnames)
    staged = RecordedFunction(fun)
    code = unwrap(fun).__code__  # of the function, where it has derivatives of its own
    positional = code.co_varnames[:code.co_argcount]
    current, bottom, threads = state, eval_trace, tracing_threads
    compiled: Callable

    def first_call(*args: Any, **kwargs: Any) -> Any:
        from laminax._src.compiling.jit import jit
        nonlocal compiled
        compiled = jitted = jit(fun, static_argnames=tuple(static_argnames))  # with `disable_jit` it calls `fun`
        jitted._laminax_jit.owner = Owner(jitted._laminax_jit.entries, jitted._clear_cache)
        return compiled(*args, **kwargs)

    compiled = first_call

    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            if threads and (trace := current.trace) is not bottom:
                return staged(trace, args, kwargs)
            return compiled(*args, **kwargs)
        except Exception as error:
            if lists := [name for name in static_argnames if type(kwargs.get(name)) is list]:  # once, since the look-up costs time
                return call(*args, **{**kwargs, **{name: tuple(kwargs[name]) for name in lists}})
            if positions := [i for i, name in enumerate(positional[:len(args)]) if name in static_argnames and type(args[i]) is list]:
                return call(*[tuple(x) if i in positions else x for i, x in enumerate(args)], **kwargs)
            shorten(error)
            raise

    staged.whole = call
    return call
