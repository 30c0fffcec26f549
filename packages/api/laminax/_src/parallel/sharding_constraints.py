"""Placement of values inside of programs: `with_sharding_constraint` and `reshard`, and how they and `device_put` act outside."""

from __future__ import annotations

from typing import Any, Sequence

import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import ExtendedArray, array_of_stored
from laminax_ir.ops.sharding import checked_reshard, device_put_p, layout_constraint_p, reshard_p, sharding_constraint_p
from laminax_ir.ops.sharding import reshard as reshard_value
from laminax_ir.programs.primitive import Primitive
from laminax_ir.pytrees.pytree import broadcast_prefix, tree_flatten, tree_unflatten
from laminax_ir.recording.staging_trace import record_explicitly
from laminax_ir.tracing.explicit_axes import context_mesh, out_sharding
from laminax_ir.tracing.leaks import check_no_tracers
from laminax_ir.tracing.manual_axes import manual_mesh
from laminax_ir.tracing.trace import Tracer, is_tracing
from laminax_ir.types.abstract_meshes import AxisType
from laminax_ir.types.array_layouts import Format
from laminax_ir.types.avals import get_aval, split_aval
from laminax_ir.types.memory_spaces import HOST_KIND, MemorySpace
from laminax_ir.types.partition_specs import UNCONSTRAINED, PartitionSpec
from laminax_ir.types.type_shardings import in_use, names_of

from laminax._src.placement.layouts import with_layout_constraint
from laminax._src.placement.memory import put_in_memory
from laminax._src.placement.partitioning import committed_sharding
from laminax._src.placement.sharding_arguments import bind_constraint, resolve


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """Constrains the sharding of values inside of a jitted function; outside, moves the values to this sharding.

    From there the compiler propagates the sharding to the values that depend on x and to those that x depends on. Inside, the memory
    kind of a sharding does not count: `device_put` moves values to other memory.

    Args:
      x: an array or a pytree of them.
      shardings: a `Sharding`, a `PartitionSpec` of the mesh that is set, a `Format`, or a pytree of them that is a prefix of x. Axes
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
        if not isinstance(sharding, (runtime.Sharding, PartitionSpec, Format)):
            raise TypeError(f"with_sharding_constraint: expected a Sharding or a PartitionSpec, got {sharding!r} of type "
                            f"{type(sharding).__name__}")
    if any(isinstance(sharding, Format) for sharding in flat):
        return tree_unflatten(tree, [_constrain_format(leaf, s) if isinstance(s, Format) else with_sharding_constraint(leaf, s)
                                     for leaf, s in zip(leaves, flat)])
    mesh = context_mesh() if in_use else None
    if mesh is not None and mesh.are_all_axes_explicit:
        for leaf, sharding in zip(leaves, flat):
            _check_is_so(leaf, sharding)
        return x
    if in_use and mesh is not None and mesh.explicit_axes:
        flat = [_beside_explicit_axes(leaf, sharding) for leaf, sharding in zip(leaves, flat)]
    elif in_use:
        for sharding in flat:
            _check_is_of_compiler(sharding)
    mesh = manual_mesh.value or runtime.current_mesh() or runtime.entered_mesh()
    resolved = [_on_mesh_of(leaf, s) if mesh is None and not getattr(s, "_is_concrete", True)
                else resolve(s, "with_sharding_constraint: shardings", mesh)
                for leaf, s in zip(leaves, flat)]
    what, may_be_padded = "with_sharding_constraint arguments", is_tracing()
    return tree_unflatten(tree, [
        bind_constraint(leaf, s, "with_sharding_constraint", "x", what, may_be_padded=may_be_padded)
        for leaf, s in zip(leaves, resolved)])


def _constrain_format(x: Any, where: Format) -> Any:
    """The value, constrained to the sharding and the layout of a `Format`, where it has them."""
    x = x if where.sharding is None else with_sharding_constraint(x, where.sharding)
    return x if where.layout is None else with_layout_constraint(x, where.layout)


def _check_is_of_compiler(sharding: Any) -> None:
    """Raises ValueError if a constraint is over explicit mesh axes, along which types say how values are split."""
    mesh = getattr(sharding, "mesh", None)
    if mesh is not None and (names := [n for n in sharding.spec.names() if n in mesh.explicit_axes]):
        raise ValueError("with_sharding_constraint: The spec of NamedSharding passed to with_sharding_constraint can only refer to Auto "
                         f"axes of the mesh. Got spec={sharding.spec} with the Explicit axis {names[0]!r} and mesh={mesh}. Use reshard, "
                         "which changes the type.")


def _beside_explicit_axes(x: Any, sharding: Any) -> Any:
    """A constraint over the Auto axes of a mesh, joined with the spec that the type has over its explicit axes."""
    split = get_aval(x)._split
    spec = sharding if isinstance(sharding, PartitionSpec) else getattr(sharding, "spec", None)
    if split is None or spec is None:
        return sharding
    rest = (None,) * (len(split.spec) - len(spec))
    joined = PartitionSpec(*[new if new is UNCONSTRAINED or set(names_of(old)) <= set(names_of(new)) else (*names_of(old), *names_of(new))
                             for old, new in zip(split.spec, (*spec, *rest))])
    return joined if isinstance(sharding, PartitionSpec) else sharding.update(spec=joined)


def _check_is_so(x: Any, sharding: Any) -> None:
    """Checks that a value whose type has a sharding has the sharding of the constraint.

    Raises:
      AssertionError: if the shardings differ.
    """
    aval = get_aval(x)
    wanted = out_sharding("with_sharding_constraint", sharding, aval.ndim)
    if wanted is not None and (split_aval(aval, wanted)._split != aval._split and (aval._split is not None or any(wanted.spec))):
        raise AssertionError("with_sharding_constraint: `with_sharding_constraint` acts as an assert when all axes of mesh are of type "
                             f"`Explicit`. The array sharding does not match: x is {aval.str_short()}, and {sharding} was asked for. Use "
                             "reshard to lay it out anew.")


def _on_mesh_of(x: Any, sharding: runtime.NamedSharding) -> runtime.NamedSharding:
    """A sharding over an abstract mesh, put on the array's mesh; for a tracer as it is: the placement of the program finds the mesh."""
    if isinstance(x, Tracer):
        return sharding
    if not isinstance(x, (runtime.ArrayImpl, ExtendedArray)):
        raise ValueError(f"with_sharding_constraint with a sharding over a mesh without devices, {sharding.mesh}, requires the input "
                         f"passed should be a `jax.Array`; got x of type {type(x).__name__}. Put it on a mesh with device_put.")
    found = x.sharding
    if not isinstance(found, runtime.NamedSharding):
        raise TypeError("with_sharding_constraint: The sharding on the input must be a `NamedSharding` since the target is over a mesh "
                        f"without devices, {sharding.mesh}; got {found}. Put x on a mesh with device_put.")
    if found.mesh.shape_tuple != sharding.mesh.shape_tuple:
        raise ValueError(f"with_sharding_constraint: Mesh shape of the input {dict(found.mesh.shape)} does not match the mesh shape of the "
                         f"target sharding {dict(sharding.mesh.shape)}. Use a mesh of the same axes.")
    return runtime.NamedSharding(found.mesh, sharding.spec)


def reshard(xs: Any, out_shardings: Any) -> Any:
    """Changes the sharding of values, inside and outside of jitted functions alike; over explicit mesh axes their types change too.

    Args:
      xs: an array or a pytree of them.
      out_shardings: a partition spec of the mesh that is set, a `NamedSharding`, or a pytree of them that is a prefix of xs. Without
        explicit axes as for `with_sharding_constraint`.

    Returns:
      A pytree like xs with the same values.

    Raises:
      ValueError: if out_shardings is no prefix of xs, no mesh is set for a partition spec, or one is longer than its array's shape.

    Example:
      >>> with set_mesh(make_mesh((4, 2), ("data", "model"))):
      ...     y = reshard(x, PartitionSpec("data", None))
    """
    if not in_use:
        return with_sharding_constraint(xs, out_shardings)
    leaves, tree = tree_flatten(xs)
    try:
        flat = broadcast_prefix(out_shardings, xs, is_leaf=lambda s: s is None)
    except ValueError as error:
        raise ValueError(f"reshard: out_shardings must be a sharding, or a pytree of them that is a prefix of xs: {error}") from None
    return tree_unflatten(tree, [_reshard_leaf(leaf, s) for leaf, s in zip(leaves, flat)])


def _reshard_leaf(x: Any, sharding: Any) -> Any:
    aval = get_aval(x)
    if isinstance(sharding, runtime.Sharding) and not isinstance(sharding, runtime.NamedSharding):
        return with_sharding_constraint(x, sharding)
    context = context_mesh()
    mesh = getattr(sharding, "mesh", None) if context is None else context
    if aval._split is None and (mesh is None or not mesh.explicit_axes):
        if is_tracing() and context is not None and not any(sharding if isinstance(sharding, PartitionSpec) else sharding.spec):
            return x  # over Auto axes the compiler chooses the sharding
        return with_sharding_constraint(x, sharding)
    if is_tracing() or not isinstance(sharding, runtime.NamedSharding) or not sharding._is_concrete:
        dst = out_sharding("reshard", sharding, aval.ndim)
        if dst is not None and len(sharding.spec if isinstance(sharding, runtime.NamedSharding) else sharding) > aval.ndim:
            raise ValueError(f"reshard: {sharding} has more entries than x, {aval.str_short()}, has axes. Shorten the spec.")
        return reshard_value(x, dst)
    checked_reshard(aval, sharding)
    return evaluate(sharding_constraint_p, (x,), {"sharding": sharding})


def make_single_device_sharding(device: runtime.Device, *, memory_kind: str | None = None) -> runtime.SingleDeviceSharding:
    """The sharding that puts the whole array on one device.

    Args:
      device: the device.
      memory_kind: the kind of its memory; None is its default.
    """
    return runtime.SingleDeviceSharding(device, memory_kind=memory_kind)


def put_traced(x: Any, sharding: runtime.Sharding, source: runtime.Sharding | None = None) -> Any:
    """`device_put` as an operation of the program that is being traced; cotangents go back to `source`, by default to where x is."""
    if reason := runtime.misfit(sharding, get_aval(x).shape, "device_put args"):
        raise ValueError(f"device_put: x, {get_aval(x).str_short()}, {reason}")
    if source is None and isinstance(value := x.concrete_value() if isinstance(x, Tracer) else x, runtime.ArrayImpl):
        source = value.sharding
    if sharding.memory_kind == HOST_KIND:
        record_explicitly()
    return device_put_p.bind(x, sharding=sharding, source=source)


def evaluate(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Evaluates a placement outside of traces: by a transfer, or by a program if the compiler chooses the sharding of some axes."""
    check_no_tracers(operands)
    (x,) = operands
    if primitive is reshard_p:
        return _reshard_array(x, params["dst"])
    if primitive is layout_constraint_p:
        return runtime.relayout(runtime.device_put(x), params["layout"])
    sharding = params["sharding"]
    if isinstance(sharding, MemorySpace):
        return put_in_memory(x, sharding)
    if primitive is sharding_constraint_p:
        if UNCONSTRAINED in getattr(sharding, "spec", ()):
            from laminax._src.compiling.jit import jit
            return jit(lambda x: primitive.bind(x, **params))(x)
        _check_devices(x, sharding)
    return _put(x, sharding)


def _reshard_array(x: Any, dst: Any) -> Any:
    """The array with the sharding of a type, on the devices of its mesh or of the mesh that is set."""
    mesh = x.sharding.mesh if isinstance(getattr(x, "sharding", None), runtime.NamedSharding) else runtime.current_mesh()
    if mesh is None and dst is not None:
        mesh = runtime.only_mesh_of(dst.mesh)
    if mesh is None:
        raise ValueError(f"reshard: {get_aval(x).str_short()} is on no mesh, and none is set. Set one with set_mesh(mesh), or give "
                         "NamedSharding(mesh, spec).")
    if dst is None:
        mesh = runtime.on_devices(context_mesh() or mesh.abstract_mesh.update(axis_types=AxisType.Auto), mesh)
        spec = x.sharding.spec if isinstance(getattr(x, "sharding", None), runtime.NamedSharding) else PartitionSpec()
        return runtime.device_put(x, runtime.NamedSharding(mesh, spec))
    return _put(x, runtime.NamedSharding(mesh if mesh.abstract_mesh == dst.mesh else runtime.on_devices(dst.mesh, mesh), dst.spec))


def _put(x: Any, sharding: runtime.Sharding) -> Any:
    if isinstance(x, ExtendedArray):
        return array_of_stored(x.dtype, runtime.device_put(x.base, sharding))
    return runtime.device_put(x, sharding)


def _check_devices(x: Any, sharding: runtime.Sharding) -> None:
    found = committed_sharding(x)
    if found is not None and not runtime.have_same_devices(found, sharding):
        raise ValueError("with_sharding_constraint: Received incompatible devices for jitted computation. "
                         f"x, {get_aval(x).str_short()}, is on other devices than the sharding.\n  x is "
                         f"{found}\n  the sharding is {sharding}\nUse device_put to move it.")


__all__ = ["reshard", "with_sharding_constraint"]
