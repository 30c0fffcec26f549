"""Topologies: devices that programs are compiled for without being there, described by a plugin's library.

The library is loaded, and no client of it is made: nothing of this needs an accelerator. Devices of a topology have a client that
compiles and does nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from laminax_runtime import _jaxlib
from laminax_runtime.backends import backends, plugins
from laminax_runtime.backends.placement import Device
from laminax_runtime.base.errors import is_unimplemented

_CHIPS = ("/dev/accel0", "/dev/vfio/0")  # what a machine with TPUs has, by generation


def topology_devices(name: str, platform: str | None = None, **plugin_options: Any) -> list[Device]:
    """The devices of a topology, for which programs can be compiled and which run nothing.

    Args:
        name: the plugin's name for the topology, such as 'v5e:2x2' for TPUs.
        platform: 'tpu' (or None), 'cuda', 'rocm', 'gpu' or a registered plugin's name.
        **plugin_options: the plugin's own. GPUs need `target_config`, the text of a `GpuTargetConfigProto`, and `topology`, their number
            as 'slices x hosts x GPUs of each', such as '1x1x8'.

    Raises:
        PlatformError: no plugin of this platform is installed, or its library does not load.
        NotImplementedError: the plugin describes no topologies.
        XlaRuntimeError: it does not know this topology, or an option.
    """
    for option, value in plugin_options.items():
        if not isinstance(value, (str, bool, int, float, list, tuple)):
            raise TypeError(f"get_topology_desc: the option {option} must be a string, a number or a list of ints, got {value!r} of type "
                            f"{type(value).__name__}")
    platform = platform or "tpu"
    if platform == "tpu" and not any(map(os.path.exists, _CHIPS)):
        os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # libtpu would ask the network what TPU this machine has, for a minute
    plugin, capsule = backends.loaded_plugin(platform)
    try:
        made = (_jaxlib.make_topology_of_plugin(plugin.name, name, plugin_options) if capsule is None
                else _jaxlib.make_topology(capsule, name, plugin_options))
        return made._make_compile_only_devices()
    except _jaxlib.XlaRuntimeError as error:
        if is_unimplemented(error):
            raise NotImplementedError(f"get_topology_desc: the plugin of {platform}, {plugin.library}, describes no topologies: "
                                      f"{error}") from error
        error.add_note(_advice(name, platform, plugin))
        raise


def _advice(name: str, platform: str, plugin: plugins.Plugin) -> str:
    if platform == "tpu":
        return f"get_topology_desc({name!r}): a TPU topology is a generation and its chips, such as 'v5e:2x2' or 'v5p:2x2x2'."
    return (f"get_topology_desc({name!r}, {platform!r}): {Path(plugin.library).name} needs target_config=, the text of XLA's "
            "GpuTargetConfigProto, and topology='1x1x8' for eight GPUs of one host.")


def serialize_topology(devices: Sequence[Device]) -> bytes:
    """The topology of devices as bytes.

    Raises:
        NotImplementedError: this jaxlib cannot write topologies, or not that of these devices.
    """
    topology = _jaxlib.topology_of_devices(list(devices))
    if not hasattr(topology, "serialize"):
        raise NotImplementedError(f"TopologyDescription.serialize needs jaxlib 0.12, and this is {_jaxlib.version}")
    try:
        return topology.serialize()
    except _jaxlib.XlaRuntimeError as error:
        raise NotImplementedError(f"TopologyDescription.serialize: the client of {devices[0]} does not write it: {error}") from error


def deserialize_topology(serialized: bytes) -> list[Device]:
    """The devices of a topology that `serialize_topology` wrote; their plugin's library must be loaded.

    Raises:
        NotImplementedError: this jaxlib cannot read topologies.
    """
    if not hasattr(_jaxlib.DeviceTopology, "deserialize"):
        raise NotImplementedError(f"TopologyDescription.deserialize needs jaxlib 0.12, and this is {_jaxlib.version}")
    return _jaxlib.DeviceTopology.deserialize(serialized)._make_compile_only_devices()


def is_compile_only(device: Device) -> bool:
    """Whether a device is one of a topology, for which programs are compiled and which is not there to run them."""
    return isinstance(device.client, _jaxlib.CompileOnlyClient)
