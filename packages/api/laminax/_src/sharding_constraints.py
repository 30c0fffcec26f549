"""Placement of values inside of programs: `with_sharding_constraint`, and what it and `device_put` do to values outside."""

from __future__ import annotations

from typing import Any

import laminax_runtime as runtime
from laminax_ir.avals import get_aval
from laminax_ir.keys import PRNGKeyArray, keys_of_words
from laminax_ir.manual_axes import manual_mesh
from laminax_ir.ops.sharding import device_put_p, sharding_constraint_p
from laminax_ir.partition_specs import UNCONSTRAINED, PartitionSpec
from laminax_ir.pytree import broadcast_prefix, tree_flatten, tree_unflatten
from laminax_ir.trace import Tracer, check_no_tracers, is_tracing, state

from laminax._src import setup  # noqa: F401
from laminax._src.sharding_arguments import bind_constraint, resolve


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Constrains how values inside of a jitted function are split over devices; outside, lays them out so.

    The compiler takes it from there to the values that depend on these and that these depend on.

    Args:
      x: an array or a pytree of them.
      shardings: a `Sharding`, a `PartitionSpec` of the mesh that is set, or a pytree of them that is a prefix of x. Axes
        whose entry in the spec is `PartitionSpec.UNCONSTRAINED` are left to the compiler.

    Returns:
      A pytree like x with the same values.

    Raises:
      TypeError: for a sharding over an abstract mesh, if x is on no mesh.
      ValueError: if shardings is no prefix of x, a spec is longer than its array's shape, or an axis does not divide outside of
        jitted functions; inside, the last parts are padded.
      RuntimeError: for a partition spec if no mesh is set.

    Example:
      >>> @jit
      ... def f(x):
      ...     return with_sharding_constraint(x @ x.T, NamedSharding(mesh, PartitionSpec("data", None)))
    """
    leaves, tree = tree_flatten(x)
    try:
        flat = broadcast_prefix(shardings, x, is_leaf=lambda s: s is None)
    except ValueError as error:
        raise ValueError(f"with_sharding_constraint: shardings must be a sharding, or a pytree of them that is a prefix of x: "
                         f"{error}") from None
    for sharding in flat:
        if sharding is None:
            raise ValueError("One of with_sharding_constraint arguments got sharding None which is not allowed. Constrain the other values "
                             "alone, or give PartitionSpec() for a copy on each device.")
        if not isinstance(sharding, (runtime.Sharding, PartitionSpec)):
            raise TypeError(f"with_sharding_constraint: expected a Sharding or a PartitionSpec, got {sharding!r} of type "
                            f"{type(sharding).__name__}")
    mesh = manual_mesh.value or runtime.current_mesh() or runtime.entered_mesh()
    resolved = [_on_mesh_of(leaf, s) if mesh is None and not getattr(s, "_is_concrete", True) else resolve(s, "with_sharding_constraint: shardings", mesh)
                for leaf, s in zip(leaves, flat)]
    what, may_be_padded = "with_sharding_constraint arguments", is_tracing()
    return tree_unflatten(tree, [
        bind_constraint(leaf, s, "with_sharding_constraint", "x", what, may_be_padded=may_be_padded)
        for leaf, s in zip(leaves, resolved)])


def _on_mesh_of(x: Any, sharding: runtime.NamedSharding) -> runtime.NamedSharding:
    """A sharding over an abstract mesh, over that of the array; inside of a program that is known when it is placed."""
    if isinstance(x, Tracer):
        return sharding
    if not isinstance(x, (runtime.ArrayImpl, PRNGKeyArray)):
        raise ValueError(f"with_sharding_constraint with a sharding over a mesh without devices, {sharding.mesh}, requires the input passed should be a "
                         f"`jax.Array`; got x of type {type(x).__name__}. Put it on a mesh with device_put.")
    found = x.sharding
    if not isinstance(found, runtime.NamedSharding):
        raise TypeError(f"with_sharding_constraint: The sharding on the input must be a `NamedSharding` since the target is over a mesh without devices, "
                        f"{sharding.mesh}; got {found}. Put x on a mesh with device_put.")
    if found.mesh.shape_tuple != sharding.mesh.shape_tuple:
        raise ValueError(f"with_sharding_constraint: Mesh shape of the input {dict(found.mesh.shape)} does not match the mesh shape of the target "
                         f"sharding {dict(sharding.mesh.shape)}. Use a mesh of the same axes.")
    return runtime.NamedSharding(found.mesh, sharding.spec)


def reshard(x: Any, out_shardings: Any) -> Any:
    """Lays values out anew, inside and outside of jitted functions alike.

    Args:
      x: an array or a pytree of them.
      out_shardings: as for `with_sharding_constraint`.

    Returns:
      A pytree like x with the same values.
    """
    return with_sharding_constraint(x, out_shardings)


def make_single_device_sharding(device: runtime.Device, *, memory_kind: str | None = None) -> runtime.SingleDeviceSharding:
    """The sharding that puts the whole array on one device.

    Args:
      device: the device.
      memory_kind: the kind of its memory; None is its default.
    """
    return runtime.SingleDeviceSharding(device, memory_kind=memory_kind)


def put_traced(x: Any, sharding: runtime.Sharding, source: runtime.Sharding | None = None) -> Any:
    """`device_put` as an operation of the program that is being traced, from `source`, which is by default where the array is that is differentiated."""
    if reason := runtime.misfit(sharding, get_aval(x).shape, "device_put args"):
        raise ValueError(f"device_put: x, {get_aval(x).str_short()}, {reason}")
    if source is None and isinstance(value := x.concrete_value() if isinstance(x, Tracer) else x, runtime.ArrayImpl):
        source = value.sharding
    return state.trace.process(device_put_p, (x,), {"sharding": sharding, "source": source})


def evaluate(primitive, operands, params: dict[str, Any]) -> Any:
    """A placement of a value outside of traces: a transfer, or a program where the compiler is to choose for some axes."""
    check_no_tracers(operands)
    (x,), sharding = operands, params["sharding"]
    if primitive is sharding_constraint_p:
        if UNCONSTRAINED in getattr(sharding, "spec", ()):
            from laminax._src.jit import jit
            return jit(lambda x: primitive.bind(x, **params))(x)
        _check_devices(x, sharding)
    if isinstance(x, PRNGKeyArray):
        return keys_of_words(x.dtype, runtime.device_put(x.base, sharding))
    return runtime.device_put(x, sharding)


def _check_devices(x: Any, sharding: runtime.Sharding) -> None:
    from laminax._src.partitioning import committed_sharding
    found = committed_sharding(x)
    if found is not None and found._internal_device_list != sharding._internal_device_list:
        raise ValueError("with_sharding_constraint: Received incompatible devices for jitted computation. "
                         f"x, {get_aval(x).str_short()}, is on other devices than the sharding.\n  x is "
                         f"{found}\n  the sharding is {sharding}\nUse device_put to move it.")


__all__ = ["reshard", "with_sharding_constraint"]
