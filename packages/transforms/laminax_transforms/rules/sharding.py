"""Placement: linear, transposed to a placement. A batch axis is split over the mesh axes that `spmd_axis_name` gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.ops import sharding as op
from laminax_ir.types.avals import get_aval
from laminax_ir.types.memory_spaces import MemorySpace
from laminax_ir.types.partition_specs import UNCONSTRAINED
from laminax_transforms.base.registry import axis_batching_rule, define_linear, transpose_rule
from laminax_transforms.batching.batch_axes import Axis
from laminax_transforms.batching.explicit_batches import with_batch

if TYPE_CHECKING:
    from laminax_ir.types.array_layouts import Layout

define_linear(op.sharding_constraint_p)
define_linear(op.device_put_p)
define_linear(op.reshard_p)
define_linear(op.layout_constraint_p)


@transpose_rule(op.sharding_constraint_p)
def _sharding_constraint_transpose(ct: Any, x: Any, *, sharding: Any) -> list[Any]:
    return [op.sharding_constraint_p.bind(ct, sharding=sharding)]


@transpose_rule(op.device_put_p)  # the cotangent goes back to the value's source, if that is known
def _device_put_transpose(ct: Any, x: Any, *, sharding: Any, source: Any = None) -> list[Any]:
    if isinstance(sharding, MemorySpace):
        return [op.in_memory(ct, x.memory_space)]
    return [op.device_put_p.bind(ct, sharding=source or sharding, source=sharding)]


@transpose_rule(op.reshard_p)  # the cotangent gets the sharding of cotangents of the operand
def _reshard_transpose(ct: Any, x: Any, *, dst: Any) -> list[Any]:
    return [op.reshard(ct, None if x._split is None else x._split.of_cotangents())]


@axis_batching_rule(op.reshard_p)
def _reshard_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, dst: Any) -> tuple[Any, Any]:
    (x,), (b,) = operands, batch_axes
    return op.reshard(x, None if dst is None else with_batch(dst, axis, b)), b


@transpose_rule(op.layout_constraint_p)
def _layout_constraint_transpose(ct: Any, x: Any, *, layout: Layout) -> list[Any]:
    return [op.layout_constraint_p.bind(ct, layout=layout)]


@axis_batching_rule(op.layout_constraint_p)  # the examples lie one after the other in memory
def _layout_constraint_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, layout: Any) -> tuple[Any, Any]:
    (x,), (b,) = operands, batch_axes
    order = (b, *[i + (i >= b) for i in layout.major_to_minor])
    return op.layout_constraint_p.bind(x, layout=layout.update(major_to_minor=order)), b


@axis_batching_rule(op.sharding_constraint_p)
def _sharding_constraint_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int], *, sharding: Any) -> tuple[Any, Any]:
    (x,), (b,) = operands, batch_axes
    return op.sharding_constraint_p.bind(x, sharding=batched_sharding(sharding, axis, b, len(get_aval(x).shape) - 1)), b


@axis_batching_rule(op.device_put_p)
def _device_put_batch(axis: Axis, operands: Sequence[Any], batch_axes: Sequence[int | None], *, sharding: MemorySpace,
                      source: Any = None) -> tuple[Any, Any]:
    (x,), (b,) = operands, batch_axes
    ndim = len(get_aval(x).shape) - 1
    if isinstance(sharding, MemorySpace):
        return op.in_memory(x, sharding), b
    source = None if source is None else batched_sharding(source, axis, b, ndim)
    return op.device_put_p.bind(x, sharding=batched_sharding(sharding, axis, b, ndim), source=source), b


def batched_sharding(sharding: Any, axis: Any, batch_axis: int, ndim: int) -> Any:
    """The sharding of arrays of `ndim` axes with one more at `batch_axis`.

    Raises:
      ValueError: if the mesh axes for the batch are in use, or the sharding is over no mesh that could have them.
      NotImplementedError: if the sharding has several parts but is not given by a mesh and a spec.
    """
    spec = getattr(sharding, "spec", None)
    if spec is None:
        if axis.spmd_name is not None:
            raise ValueError(f"vmap(spmd_axis_name={axis.spmd_name!r}): If you are using spmd_axis_name parameter of jax.vmap, please make "
                             f"sure to run your jitted function inside the mesh context manager; {sharding}, inside of the function, is "
                             "over no mesh. Use a NamedSharding there.")
        if getattr(sharding, "num_devices", 1) == 1:
            return sharding
        raise NotImplementedError(f"vmap of a function that places values with {sharding} is not supported. Use a NamedSharding.")
    name = axis.spmd_name
    names = name if isinstance(name, tuple) else () if name is None else (name,)
    if used := set(names) & set(spec.names()):
        raise ValueError(f"vmap: spmd_axis_name={name!r} names mesh axes that split other axes already: {sorted(used, key=str)} in "
                         f"{spec}. Leave them out of the spec inside of the function, or out of spmd_axis_name.")
    entries = [*spec.partitions, *[None] * (ndim - len(spec))]
    mesh = sharding.mesh
    entries.insert(batch_axis, names or (UNCONSTRAINED if mesh.auto_axes or mesh.empty else axis.mesh_axes))
    return sharding.update(spec=spec.update(partitions=entries))
