"""The parameter `out_sharding`: how the result of a function is split over explicit mesh axes, where its operands leave that open."""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, Sequence

import numpy as np

import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import ExtendedArray
from laminax_ir.ops.shape import broadcast_in_dim
from laminax_ir.ops.sharding import reshard
from laminax_ir.tracing import explicit_axes
from laminax_ir.tracing.trace import Tracer, is_tracing
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import ShardingTypeError
from laminax_ir.types.partition_specs import PartitionSpec


def split_result(name: str, out_sharding: Any, compute: Callable[[], Any], *, leaves_sums: bool = False) -> Any:
    """The result of `compute`, split as `out_sharding` says; in `compute`, operands may leave open how a result is split.

    Args:
      name: the function's name, for messages.
      out_sharding: a partition spec of the mesh that is set, or a `NamedSharding`.
      compute: returns an array.
      leaves_sums: whether the result is a sum of products that may be left open: each device keeps its terms of a sum over a split
        axis, if out_sharding is unreduced along the mesh axes that split it.

    Raises:
      ShardingTypeError: if the sum is not over the axes along which out_sharding is unreduced.
      TypeError: if out_sharding is neither a partition spec nor a `NamedSharding`.
      ValueError: if out_sharding is a partition spec and no mesh is set, names axes that are not explicit, is longer than the
        result's shape, or names the host's memory.
    """
    explicit_axes.check_in_device_memory(name, out_sharding)
    if not is_tracing() and isinstance(out_sharding, runtime.NamedSharding) and out_sharding._is_concrete:
        result = _computed(name, compute, out_sharding.spec, leaves_sums)
        return _placed(result, out_sharding)
    explicit_axes.out_sharding(name, out_sharding, _ANY)  # checks out_sharding before the computation
    result = _computed(name, compute, getattr(out_sharding, "spec", out_sharding), leaves_sums)
    return reshard(result, explicit_axes.out_sharding(name, out_sharding, get_aval(result).ndim))


def _computed(name: str, compute: Callable[[], Any], spec: PartitionSpec, leaves_sums: bool) -> Any:
    if not leaves_sums or not spec.unreduced:
        with explicit_axes.is_resolving(True):
            return compute()
    with explicit_axes.is_resolving(True), explicit_axes.sums_left_open(spec.unreduced):
        result = compute()
    split = get_aval(result)._split
    found = frozenset() if split is None else split.spec.unreduced
    if found != spec.unreduced:
        raise ShardingTypeError(f"{name}: out_sharding's unreduced axes should be equal to the contracting specs. Got unreduced "
                                f"axes={set(spec.unreduced)!r} and operands whose sums are over {set(found) or 'none of them'}. Name the "
                                "axes that split what is summed over.")
    return result


def open_zeros(shape: Sequence[int], dtype: Any) -> Any:
    """Zeros, to which terms of a sum are added: in the `compute` of `split_result`, they are terms along the mesh axes that the user
    leaves open.

    Args:
      shape, dtype: of the result.
    """
    zeros = np.zeros((), dtype)[()]
    if not (names := explicit_axes.sums_left_open.value):
        return broadcast_in_dim(zeros, shape, ())
    return broadcast_in_dim(zeros, shape, (), out_sharding=PartitionSpec(*(None,) * len(shape), unreduced=names))


_ANY = 64  # more axes than arrays have


def _placed(x: Any, sharding: runtime.NamedSharding) -> Any:
    if isinstance(x, Tracer):
        from laminax._src.parallel.sharding_constraints import put_traced
        return put_traced(x, sharding)
    if isinstance(x, ExtendedArray):
        return x._with_words(runtime.device_put(x.base, sharding), lambda used: used)
    return runtime.device_put(x, sharding)


def takes_out_sharding(fun: Callable) -> Callable:
    """Decorator: a function that computes the same, with the result split as its keyword `out_sharding` says."""
    code = fun.__code__
    positional = code.co_varnames[:code.co_argcount]
    position = positional.index("out_sharding") if "out_sharding" in positional else len(positional)

    @wraps(fun)
    def with_out_sharding(*args: Any, out_sharding: Any = None, **kwargs: Any) -> Any:
        if len(args) == position + 1:
            args, out_sharding = args[:-1], args[-1]
        if out_sharding is None:
            return fun(*args, **kwargs)
        return split_result(fun.__name__, out_sharding, lambda: fun(*args, **kwargs))

    return with_out_sharding
