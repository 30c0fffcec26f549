"""Computations that the compiler is to run elsewhere than on the device's main unit, such as on its host.

Operations carry the place as attributes for the compiler, in the name stack of their source, as those of `set_xla_metadata`. A compiler
that knows no other place, such as that for CPUs, runs these operations where it runs all others.
Source: JAX's documentation of `jax.experimental.compute_on`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from laminax_ir.pytrees.pytree import tree_leaves
from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.tracing.operation_attributes import changed_attributes
from laminax_ir.types.arguments import check_callable
from laminax_ir.types.memory_spaces import MemorySpace

from laminax._src.compiling.jit import jit
from laminax._src.parallel.transfers import device_put

_PLACES = {"device_host": "host", "device": "dense", "tpu_sparsecore": "sparseoffload"}  # as XLA calls them


def compute_on(f: Callable | str | None = None, *, compute_type: str | None = None, out_memory_spaces: Any = None,
               compiler_options: Mapping[str, Any] | None = None) -> Any:
    """Computes in another place: a function with `out_memory_spaces`, or the operations of a block, `with compute_on("device_host"):`.

    Args:
      f: function of arrays, or a compute type, which makes a context manager and decorator. May be left out, to give options in a
        decorator.
      compute_type: "device_host", the host of the device; "device", the device; "tpu_sparsecore"; or "gpu_stream:1", a stream of a GPU by
        its number. Of nested blocks the inner one counts.
      out_memory_spaces: the memory that the function's results are put in, a `memory.Space`, or a pytree of them that is a prefix of the
        result.
      compiler_options: what the compiler for that place is told, written for it as JSON.

    Returns:
      The function that computes f there; or the context manager.

    Raises:
      TypeError: if compute_type is no string, or out_memory_spaces is not given with a function or has a leaf that is no memory space.
      ValueError: if compute_type is none of these.

    Example:
      >>> double = compute_on(lambda x: x * 2, compute_type="device_host", out_memory_spaces=memory.Space.Device)
      >>> @jit
      ... def g(x):
      ...     with compute_on("device_host"):
      ...         y = x * 2
      ...     return y + 1
    """
    if f is None and compute_type is not None and out_memory_spaces is not None:
        return partial(compute_on, compute_type=compute_type, out_memory_spaces=out_memory_spaces, compiler_options=compiler_options)
    if callable(f):
        return _function_on_place(f, compute_type, out_memory_spaces, compiler_options)
    if out_memory_spaces is not None or f is not None and compute_type is not None:
        raise TypeError("compute_on: `out_memory_spaces` is for a function, which comes first: compute_on(f, compute_type=..., "
                        f"out_memory_spaces=...); got f={f!r}.")
    return changed_attributes(_attributes(compute_type if f is None else f, compiler_options))


def _attributes(compute_type: Any, compiler_options: Mapping[str, Any] | None = None) -> dict[str, str | None]:
    if not isinstance(compute_type, str):
        raise TypeError(f"`compute_on`'s compute_type argument must be a string, got {compute_type!r} of type "
                        f"{type(compute_type).__name__}.")
    kind, _, number = compute_type.partition(":")
    options = None if compiler_options is None else json.dumps(dict(compiler_options))
    if compute_type in _PLACES:
        return {"_xla_compute_type": _PLACES[compute_type], "_xla_stream_annotation": None, "inlineable": None, "backend_config": options}
    if kind == "gpu_stream" and number.isdecimal():
        return {"_xla_compute_type": None, "_xla_stream_annotation": number, "inlineable": "false", "backend_config": options}
    raise ValueError(f"compute_on: Invalid compute type {compute_type}. Current supported values are `device_host`, `device`, "
                     "`tpu_sparsecore`, and `gpu_stream:#`, with a number for #.")


def _function_on_place(f: Callable, compute_type: Any, out_memory_spaces: Any, compiler_options: Mapping[str, Any] | None) -> Callable:
    attributes = _attributes(compute_type, compiler_options)
    leaves = tree_leaves(out_memory_spaces)
    for space in leaves:
        if not isinstance(space, MemorySpace):
            raise TypeError(f"compute_on: out_memory_spaces must be a memory.Space, or a pytree of them, got {space!r} of type "
                            f"{type(space).__name__}.")
    if out_memory_spaces is None:
        raise TypeError("compute_on: out_memory_spaces must be given with a function: the memory that its results are put in, such as "
                        "memory.Space.Device.")
    computed = jit(f)

    @wraps(f)
    def on_place(*args: Any, **kwargs: Any) -> Any:
        with changed_attributes(attributes):
            results = computed(*args, **kwargs)
        return device_put(results, out_memory_spaces)
    return on_place


def compute_on2(f: Callable | None = None, *, compute_type: str, out_memory_spaces: Any, compiler_options: Any = None) -> Callable:
    """`compute_on` of a function, by the name of JAX 0.10."""
    if f is not None:
        check_callable("compute_on2", f)
    return compute_on(f, compute_type=compute_type, out_memory_spaces=out_memory_spaces, compiler_options=compiler_options)
