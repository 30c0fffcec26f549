# Written by tools/stubs.py.
"""Shardings: how arrays are laid out over devices, and the meshes that they refer to. A table of contents: names load on first use."""

from collections.abc import Callable, Hashable, Sequence
from laminax_ir.options.config_options import Option
from laminax_runtime._jaxlib import Device, SingleDeviceSharding as _SingleDeviceSharding
from typing import Any
from laminax import get_abstract_mesh as get_abstract_mesh
from laminax import get_mesh as get_mesh
from laminax import reshard as reshard
from laminax._src.placement.abstract_devices import AbstractDevice as AbstractDevice
from laminax_ir.types.abstract_meshes import AbstractMesh as AbstractMesh
from laminax_ir.types.abstract_meshes import AxisType as AxisType
from laminax_ir.types.manual_axis_types import ManualAxisType as ManualAxisType
from laminax_ir.types.partition_specs import P as P
from laminax_ir.types.partition_specs import P as PartitionSpec
from laminax_ir.types.partition_specs import UnreducedKind as UnreducedKind
from laminax_runtime._jaxlib import GSPMDSharding as GSPMDSharding
from laminax_runtime._jaxlib import NamedSharding as NamedSharding
from laminax_runtime._jaxlib import Sharding as Sharding
from laminax_runtime._jaxlib import SingleDeviceSharding as SingleDeviceSharding
from laminax_runtime.backends.meshes import Mesh as Mesh
from laminax_runtime.backends.meshes import set_mesh as set_mesh
from laminax_runtime.backends.meshes import use_abstract_mesh as use_abstract_mesh

__all__: list[str]

def auto_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: Hashable | Sequence[Hashable] | None = None,
    out_sharding: Any = None,
) -> Callable[..., Any]:
    """Makes mesh axes Auto inside of a function: the compiler chooses how values are split over them."""
def explicit_axes(
    f: Callable[..., Any] | None = None,
    /,
    *,
    axes: Hashable | Sequence[Hashable] | None = None,
    in_sharding: Any = None,
) -> Callable[..., Any]:
    """Makes mesh axes explicit inside of a function: types say how values are split over them."""
def make_single_device_sharding(device: Device, *, memory_kind: str | None = None) -> _SingleDeviceSharding:
    """The sharding that puts the whole array on one device."""
no_collectives: Option
