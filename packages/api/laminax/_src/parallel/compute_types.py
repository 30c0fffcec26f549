"""Computations that the compiler is to run elsewhere than on the device's main unit, such as on its host.

Operations carry the place as attributes for the compiler, in the name stack of their source, as those of `set_xla_metadata`. A compiler
that knows no other place, such as that for CPUs, runs these operations where it runs all others.
Source: JAX's documentation of `jax.experimental.compute_on`.
"""

from __future__ import annotations

from collections.abc import Callable
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


def compute_on(compute_type: str) -> changed_attributes:
    """Context manager and decorator: the operations inside are computed in another place.

    Args:
      compute_type: "device_host", the host of the device; "device", the device; "tpu_sparsecore"; or "gpu_stream:1", a stream of a GPU by
        its number. Of nested blocks the inner one counts.

    Raises:
      TypeError: if compute_type is no string.
      ValueError: if compute_type is none of these.

    Example:
      >>> @jit
      ... def f(x):
      ...     with compute_on("device_host"):
      ...         y = x * 2
      ...     return y + 1
    """
    return changed_attributes(_attributes(compute_type))


def _attributes(compute_type: Any) -> dict[str, str | None]:
    if not isinstance(compute_type, str):
        raise TypeError(f"`compute_on`'s compute_type argument must be a string, got {compute_type!r} of type "
                        f"{type(compute_type).__name__}.")
    kind, _, number = compute_type.partition(":")
    if compute_type in _PLACES:
        return {"_xla_compute_type": _PLACES[compute_type], "_xla_stream_annotation": None, "inlineable": None}
    if kind == "gpu_stream" and number.isdecimal():
        return {"_xla_compute_type": None, "_xla_stream_annotation": number, "inlineable": "false"}
    raise ValueError(f"compute_on: Invalid compute type {compute_type}. Current supported values are `device_host`, `device`, "
                     "`tpu_sparsecore`, and `gpu_stream:#`, with a number for #.")


def compute_on2(f: Callable | None = None, *, compute_type: str, out_memory_spaces: Any, compiler_options: Any = None) -> Callable:
    """Makes a function that computes `f` in another place and puts its results in a given memory.

    Args:
      f: function of arrays by position. May be left out, to give options in a decorator.
      compute_type: the place, as for `compute_on`.
      out_memory_spaces: the memory that the results are put in, a `memory.Space`, or a pytree of them that is a prefix of the result.
      compiler_options: not supported, only None.

    Returns:
      The function.

    Raises:
      TypeError, ValueError: for a compute_type as for `compute_on`; TypeError if out_memory_spaces has a leaf that is no memory space.
      NotImplementedError: if compiler_options is given.

    Example:
      >>> double = compute_on2(lambda x: x * 2, compute_type="device_host", out_memory_spaces=memory.Space.Device)
    """
    if f is None:
        return partial(compute_on2, compute_type=compute_type, out_memory_spaces=out_memory_spaces, compiler_options=compiler_options)
    check_callable("compute_on2", f)
    _attributes(compute_type)
    for space in tree_leaves(out_memory_spaces):
        if not isinstance(space, MemorySpace):
            raise TypeError(f"compute_on2: out_memory_spaces must be a memory.Space, or a pytree of them, got {space!r} of type "
                            f"{type(space).__name__}.")
    if compiler_options is not None:
        raise NotImplementedError(f"compute_on2: compiler_options is not supported, got {compiler_options!r}. Give options of the whole "
                                  "program to jit.")
    computed = jit(f)

    @wraps(f)
    def on_place(*args: Any) -> Any:
        with compute_on(compute_type):
            results = computed(*args)
        return device_put(results, out_memory_spaces)
    return on_place
