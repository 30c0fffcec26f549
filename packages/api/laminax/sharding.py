"""Shardings: how arrays are laid out over devices, and the meshes that they refer to. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_ir.options.config": "no_collectives",
    "laminax_ir.types.abstract_meshes": "AbstractMesh AxisType",
    "laminax_ir.types.manual_axis_types": "ManualAxisType",
    "laminax_ir.types.partition_specs": "P PartitionSpec UnreducedKind",
    "laminax_runtime": """
        GSPMDSharding Mesh NamedSharding Sharding SingleDeviceSharding get_abstract_mesh get_mesh set_mesh use_abstract_mesh""",
    "parallel.axis_modes": "auto_axes explicit_axes",
    "parallel.sharding_constraints": "make_single_device_sharding reshard",
    "placement.abstract_devices": "AbstractDevice",
})
