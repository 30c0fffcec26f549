"""How variables are split over a mesh: boxes that name the mesh axis of each axis of a value."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Callable, Mapping

import numpy as np

from laminax_ir.pytrees.pytree import GetAttrKey, register_pytree_with_keys, tree_map
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_runtime import NamedSharding, get_abstract_mesh

from laminax._src.linen import errors
from laminax._src.linen.metadata import PARTITION_NAME, AxisMetadata, is_box
from laminax._src.parallel.sharding_constraints import with_sharding_constraint

Names = tuple[Any, ...]  # for each axis the name of a mesh axis, several names, or None


def mesh_is_set() -> bool:
    """Whether a mesh is set, or entered with `with mesh:`."""
    return bool(get_abstract_mesh().axis_names)


@dataclasses.dataclass(frozen=True)
class Partitioned(AxisMetadata):
    """A value with the names of the mesh axes that its axes are split over.

    Attributes:
      value: the value.
      names: for each axis the name of a mesh axis, several of them, or None.
      mesh: the mesh; None for that which is set.

    Example:
      >>> kernel_init = nn.with_partitioning(nn.initializers.lecun_normal(), (None, "model"))   # doctest: +SKIP
      >>> specs = nn.get_partition_spec(nn.Dense(8, kernel_init=kernel_init).init(key, x))      # doctest: +SKIP
    """
    value: Any
    names: Names
    mesh: Any = None

    def replace(self, **changes: Any) -> Any:
        """The box with other attributes."""
        return dataclasses.replace(self, **changes)

    def unbox(self, apply_constraint: bool = True) -> Any:
        """The value, split over the mesh as the names say, if there is a mesh."""
        if not apply_constraint or (self.mesh is None and not mesh_is_set()):
            return self.value
        spec = self.get_partition_spec()
        return with_sharding_constraint(self.value, spec if self.mesh is None else NamedSharding(self.mesh, spec))

    def replace_boxed(self, val: Any) -> Any:
        return self.replace(value=val)

    def add_axis(self, index: int, params: Mapping[Any, Any]) -> Any:
        names = list(self.names)
        names.extend([None] * (index - len(names)))
        names.insert(index if index >= 0 else len(names) + 1 + index, self._name_of_axis(params))
        return self.replace(names=tuple(names))

    def remove_axis(self, index: int, params: Mapping[Any, Any]) -> Any:
        names = list(self.names)
        name = self._name_of_axis(params)
        if names.pop(index) != name:
            raise ValueError(f"remove_axis: axis {index} of names {self.names} is not {name!r}, the {PARTITION_NAME} of metadata_params.")
        return self.replace(names=tuple(names))

    def _name_of_axis(self, params: Mapping[Any, Any]) -> Any:
        if PARTITION_NAME not in params:
            raise errors.PartitioningUnspecifiedError(self)
        return params[PARTITION_NAME]

    def get_partition_spec(self) -> PartitionSpec:
        """The names as a partition spec."""
        return PartitionSpec(*self.names)

    def get_sharding(self, mesh: Any) -> NamedSharding:
        """The names as a sharding over a mesh."""
        return NamedSharding(mesh, self.get_partition_spec())


def register_box(cls: type) -> None:
    """Makes a dataclass of a box a pytree whose only child is `value`."""
    static = [field.name for field in dataclasses.fields(cls) if field.name != "value"]

    def flatten(box: Any) -> tuple[Any, Any]:
        return (box.value,), tuple(getattr(box, name) for name in static)

    def flatten_with_keys(box: Any) -> tuple[Any, Any]:
        return ((GetAttrKey("value"), box.value),), tuple(getattr(box, name) for name in static)

    def unflatten(attributes: Any, children: Any) -> Any:
        return cls(*children, **dict(zip(static, attributes)))

    register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)


register_box(Partitioned)


def with_partitioning(fn: Callable[..., Any], names: Names, mesh: Any = None) -> Callable[..., Partitioned]:
    """An initializer whose values are boxed with the names of mesh axes.

    Args:
      fn: the initializer.
      names: for each axis the name of a mesh axis, or None.
      mesh: the mesh; by default that which is set.
    """
    @functools.wraps(fn)
    def boxed(*args: Any, **kwargs: Any) -> Partitioned:
        return Partitioned(fn(*args, **kwargs), names, mesh=mesh)
    return boxed


def get_partition_spec(tree: Any) -> Any:
    """The tree with a partition spec in place of each box or array; one that is not split for arrays without a box."""
    def spec(x: Any) -> Any:
        if hasattr(x, "get_partition_spec"):
            return x.get_partition_spec()
        return PartitionSpec() if isinstance(x, (np.ndarray, np.generic)) or hasattr(x, "shape") else None
    return tree_map(spec, tree, is_leaf=is_box)


def get_sharding(tree: Any, mesh: Any) -> Any:
    """The tree with a sharding over the mesh in place of each box or array."""
    def sharding(x: Any) -> Any:
        if hasattr(x, "get_sharding"):
            return x.get_sharding(mesh)
        return NamedSharding(mesh, PartitionSpec()) if hasattr(x, "shape") else None
    return tree_map(sharding, tree, is_leaf=is_box)


