"""Attributes for the compiler that users give to operations: to the operations inside a block, or to those that compute a value."""

from __future__ import annotations

import functools
from typing import Any, Callable

from laminax_ir.ops.hints import with_xla_metadata
from laminax_ir.tracing.operation_attributes import changed_attributes


def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any:
    """Gives operations attributes for the compiler, which are in the compiled program as frontend attributes.

    Args:
      x: pytree of arrays; the operations that compute them get the attributes. Without x, the operations of a block get them.
      kwargs: the attributes by name; their texts count. None removes an attribute of the enclosing block.

    Returns:
      The same values as in x; or, without x, a context manager, also a decorator of functions, for the operations inside. Blocks inside
      one another add up.

    Example:
      >>> import laminax as jax
      >>> @jax.jit
      ... def f(x):
      ...     with set_xla_metadata(stage="first"):
      ...         return x * x
      >>> 'mhlo.frontend_attributes = {stage = "first"}' in f.lower(2.0).as_text()
      True

    Source: JAX's `jax.experimental.xla_metadata`.
    """
    if x is None:
        return _Attributes(kwargs)
    return with_xla_metadata(x, **kwargs)


def fuse_limit() -> Any:
    """A context manager whose operations the compiler does not fuse with those outside: they get the attribute `FUSE_LIMIT`.

    Example:
      >>> import laminax as jax
      >>> @jax.jit
      ... def f(x):
      ...     with fuse_limit():
      ...         return x * x
      >>> 'FUSE_LIMIT = "true"' in f.lower(2.0).as_text()
      True
    """
    return set_xla_metadata(FUSE_LIMIT=True)


class _Attributes(changed_attributes):
    """A block whose operations have attributes."""

    def __call__(self, function: Callable) -> _FunctionWithAttributes:  # type: ignore[override]  # an object with methods, not a function
        return _FunctionWithAttributes(function, self._texts)


class _FunctionWithAttributes:
    """A function, jitted or not, that is called inside of such a block; its methods, such as `lower`, are called in it too."""

    def __init__(self, function: Callable, changes: dict[str, Any]) -> None:
        self._function, self._changes = function, changes
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with changed_attributes(self._changes):
            return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._function, name)
        return _FunctionWithAttributes(found, self._changes) if callable(found) else found
