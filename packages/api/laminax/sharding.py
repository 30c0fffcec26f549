"""Shardings: how arrays are laid out over devices, and the meshes that they refer to."""

from __future__ import annotations

from laminax_ir.options.config import no_collectives
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.avals import ManualAxisType
from laminax_ir.types.partition_specs import P, PartitionSpec, UnreducedKind
from laminax_runtime import (
    GSPMDSharding,
    Mesh,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    get_abstract_mesh,
    get_mesh,
    set_mesh,
    use_abstract_mesh,
)

from laminax._src.parallel.axis_modes import auto_axes, explicit_axes
from laminax._src.parallel.sharding_constraints import make_single_device_sharding, reshard
from laminax._src.placement.abstract_devices import AbstractDevice

__all__ = [
    "AbstractDevice", "AbstractMesh", "AxisType", "GSPMDSharding", "ManualAxisType", "Mesh", "NamedSharding", "P", "PartitionSpec",
    "Sharding", "SingleDeviceSharding", "UnreducedKind", "auto_axes", "explicit_axes", "get_abstract_mesh", "get_mesh",
    "make_single_device_sharding", "no_collectives", "reshard", "set_mesh", "use_abstract_mesh",
]
