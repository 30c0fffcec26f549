"""Functions that the compiler is to make one kernel, with results in chosen memories: `fused`.

The function is one call of the program, with attributes for the compiler, as by `xla_metadata_call`; its derivatives and its mapped form
are such calls as well. Around it arguments are brought to the device's memory and results to theirs, which holds on every platform, whether
its compiler knows the attributes or not. Source: JAX's `jax.experimental.fused`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from laminax_ir.pytrees.pytree import tree_flatten, tree_map, tree_unflatten
from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.types.arguments import check_callable
from laminax_ir.types.avals import get_aval
from laminax_ir.types.memory_spaces import MemorySpace

from laminax._src.compiling.jit import jit
from laminax._src.parallel.transfers import device_put
from laminax._src.parallel.xla_metadata import xla_metadata_call


def fused(*, out_spaces: Sequence[MemorySpace]) -> Callable[[Callable], Callable]:
    """A decorator of functions that the compiler is to make one kernel: it may read arguments and write results in the host's memory.

    Args:
      out_spaces: for each leaf of the function's results the memory that it is put in, `memory.Space.Device` or `memory.Space.Host`.

    Returns:
      A decorator. Arguments of the function may be in either memory.

    Raises:
      TypeError: if out_spaces is no sequence of memory spaces, or what is decorated no function.
      ValueError: when the function is called, if it has another number of results.

    Example:
      >>> import laminax as jax
      >>> @fused(out_spaces=(jax.memory.Space.Host, jax.memory.Space.Device))
      ... def f(x, y):
      ...     return x + y, x * y
      >>> total, product = jax.jit(f)(jnp.arange(3.0), jnp.ones(3))
      >>> total.sharding.memory_kind, product.sharding.memory_kind
      ('pinned_host', 'device')
    """
    spaces = tuple(out_spaces) if isinstance(out_spaces, Sequence) else (None,)
    if not all(space in (MemorySpace.Device, MemorySpace.Host) for space in spaces):
        raise TypeError("fused: out_spaces must be a sequence of memory.Space.Device and memory.Space.Host, one for each result, got "
                        f"{out_spaces!r}")
    return functools.partial(_fused, spaces)


def _fused(spaces: tuple[MemorySpace, ...], f: Callable) -> Callable:
    check_callable("fused", f)
    kernel = xla_metadata_call(f, MUST_FUSE=True, inlineable=False, out_spaces=", ".join(map(str, spaces)))

    def fused(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = tree_map(_on_device, (args, kwargs))
        results, tree = tree_flatten(kernel(*args, **kwargs))
        if len(results) != len(spaces):
            raise ValueError(f"fused: out_spaces has {len(spaces)} memory spaces, but the function returned {len(results)} arrays. Give "
                             "one for each.")
        return tree_unflatten(tree, [device_put(x, space) for x, space in zip(results, spaces)])
    return wraps(f)(jit(fused))


def _on_device(x: Any) -> Any:
    return x if get_aval(x).memory_space is MemorySpace.Device else device_put(x, MemorySpace.Device)
