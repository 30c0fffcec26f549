"""Attributes for the compiler that users give to operations: to the operations inside a block, or to those that compute a value."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from laminax_ir.ops.calls import KeptCall
from laminax_ir.ops.hints import with_xla_metadata
from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.tracing.operation_attributes import attributes_around, changed_attributes
from laminax_ir.types.arguments import check_callable

from laminax._src.compiling.jit import jit


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


def xla_metadata_call(f: Callable | None = None, /, **meta: Any) -> Callable:
    """Makes a function one call in the program, with attributes for the compiler; so are its derivatives and its mapped form.

    `set_xla_metadata` gives attributes to each operation. Here the call has them, and the compiler decides what they mean for the
    operations inside.

    Args:
      f: a function of pytrees of arrays. Left out, the answer is a decorator.
      meta: the attributes by name: strings, bools, ints or floats, which are written as text.

    Returns:
      The function, or a decorator.

    Raises:
      TypeError: if f is no function, or an attribute is none of these.

    Example:
      >>> import laminax as jax
      >>> double = xla_metadata_call(lambda x: x * 2, inlineable="false")
      >>> 'call @xla_metadata_call(%arg0) {mhlo.frontend_attributes = {inlineable = "false"}}' in jax.jit(double).lower(2.0).as_text()
      True

    Source: JAX's `jax.experimental.xla_metadata`.
    """
    if f is None:
        return functools.partial(_call_with_attributes, meta=meta)
    return _call_with_attributes(f, meta)


def xla_metadata_call2(f: Any = None, /, metadata: Mapping[str, Any] | None = None, *, ad_metadata: Any = "same") -> Callable:
    """`xla_metadata_call`, with the attributes in a dict.

    Args:
      f: the function. Left out, or with the dict in its place, the answer is a decorator.
      metadata: the attributes by name.
      ad_metadata: the attributes of the calls that run its derivative backwards. "same", the default, are those of the function; "drop"
        are none; or a dict has others. Calls that compute values, with or without tangents, keep those of the function.

    Raises:
      TypeError: if f is no function, metadata no dict, ad_metadata none of these, or an attribute is none of those that
        `xla_metadata_call` takes.

    Example:
      >>> import laminax as jax
      >>> double = xla_metadata_call2(lambda x: x * 2, {"jaxpr": "any name"})
      >>> 'jaxpr = "any name"' in jax.jit(double).lower(2.0).as_text()
      True
    """
    if isinstance(f, Mapping) and metadata is None:
        f, metadata = None, f
    if not isinstance(metadata, Mapping):
        raise TypeError(f"xla_metadata_call2: metadata must be a dict of attributes by name, got {metadata!r}")
    backward: Mapping[str, Any] | None = None
    if isinstance(ad_metadata, Mapping):
        backward = ad_metadata
    elif ad_metadata == "drop":
        backward = {}
    elif ad_metadata != "same":
        raise TypeError(f"xla_metadata_call2: ad_metadata must be 'same', 'drop' or a dict, got {ad_metadata!r}")
    if f is None:
        return functools.partial(_call_with_attributes, meta=metadata, backward=backward)
    if not callable(f):
        raise TypeError(f"xla_metadata_call2: expected a callable, got {f!r} of type {type(f).__name__}")
    return _call_with_attributes(f, metadata, backward)


def must_fuse_call(identifier: Any) -> Callable:
    """A decorator: the compiler must fuse the operations of the function into one kernel; the call has the attribute `MUST_FUSE`.

    Args:
      identifier: the number of the kernel.

    Example:
      >>> import laminax as jax
      >>> 'MUST_FUSE = "1"' in jax.jit(must_fuse_call("1")(lambda x: x * x + 1)).lower(2.0).as_text()
      True
    """
    return xla_metadata_call(MUST_FUSE=identifier)


def scheduling_group(name: str) -> Callable:
    """A decorator: the compiler schedules the operations of functions of one group together; the call has the attribute of the name.

    Args:
      name: the group; `"a:b"` is the group b within the group a.

    Example:
      >>> import laminax as jax
      >>> 'scheduling_group = "first"' in jax.jit(scheduling_group("first")(lambda x: x * x + 1)).lower(2.0).as_text()
      True
    """
    return xla_metadata_call(scheduling_group=name)


def _call_with_attributes(f: Callable, meta: Mapping[str, Any], backward: Mapping[str, Any] | None = None) -> Callable:
    check_callable("xla_metadata_call", f)
    for name, value in (*meta.items(), *(backward or {}).items()):
        if not isinstance(value, (str, bool, int, float)):
            raise TypeError(f"xla_metadata_call: metadata values must be str, bool, int, or float, got {name}={value!r} of type "
                            f"{type(value).__name__}")

    def xla_metadata_call(around: tuple[tuple[str, str | None], ...], *args: Any, **kwargs: Any) -> Any:
        with changed_attributes(dict(around)):  # what is in the call does not have those of the call
            return f(*args, **kwargs)
    kept: Any = KeptCall.KEPT
    called = jit(xla_metadata_call, static_argnums=0, inline=kept)
    of_derivatives = None if backward is None else {**dict.fromkeys(meta), **backward}

    @wraps(f)
    def with_attributes(*args: Any, **kwargs: Any) -> Any:
        around = dict(attributes_around.value)
        with changed_attributes(meta, of_derivatives):
            return called(tuple((name, around.get(name)) for name in meta), *args, **kwargs)
    return with_attributes


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
