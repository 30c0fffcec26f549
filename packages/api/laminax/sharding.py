"""Shardings: how arrays are laid out over devices, and the meshes that they refer to."""

from __future__ import annotations

from laminax_ir.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.partition_specs import P, PartitionSpec
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

from laminax._src.abstract_devices import AbstractDevice
from laminax._src.axis_modes import auto_axes, explicit_axes
from laminax._src.refused import ManualAxisType
from laminax._src.sharding_constraints import make_single_device_sharding, reshard

__all__ = [
    "AbstractDevice", "AbstractMesh", "AxisType", "GSPMDSharding", "ManualAxisType", "Mesh", "NamedSharding", "P", "PartitionSpec",
    "Sharding", "SingleDeviceSharding", "auto_axes", "explicit_axes", "get_abstract_mesh", "get_mesh", "make_single_device_sharding",
    "reshard", "set_mesh", "use_abstract_mesh",
]
