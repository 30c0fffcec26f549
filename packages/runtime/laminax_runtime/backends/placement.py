"""Devices: which there are, and which one is meant when none is named."""

from __future__ import annotations

from laminax_ir.pytrees.wrapping import alias
from laminax_runtime import _jaxlib
from laminax_runtime.backends import backends
from laminax_runtime.base import options

Device = _jaxlib.Device


def devices(backend: str | None = None) -> list[Device]:
    """All devices of a platform, those of other processes included, in the order of their ids.

    Args:
        backend: 'cpu', 'gpu', 'cuda', 'rocm', 'tpu' or a registered plugin's name; None is the default platform.

    Raises:
        PlatformError: the platform is unknown, not installed, or does not start.

    Example:
        >>> devices("cpu")[0].platform
        'cpu'
    """
    return backends.client(backend).devices()


def local_devices(process_index: int | None = None, backend: str | None = None) -> list[Device]:
    """The devices that belong to one process, by default to this one.

    Raises:
        ValueError: there is no process of this index.
    """
    client = backends.client(backend)
    if process_index is None:
        return client.local_devices()
    if not 0 <= process_index < process_count(backend):
        raise ValueError(
            f"local_devices: there is no process {process_index}; the processes are 0 to {process_count(backend) - 1}"
        )
    return [device for device in client.devices() if device.process_index == process_index]


def device_count(backend: str | None = None) -> int:
    """How many devices a platform has, over all processes.

    Example:
      >>> device_count() == len(devices())
      True
    """
    return backends.client(backend).device_count()


def local_device_count(backend: str | None = None) -> int:
    """How many devices of a platform this process can address.

    Example:
      >>> local_device_count() <= device_count()
      True
    """
    return backends.client(backend).local_device_count()


def process_index(backend: str | None = None) -> int:
    """This process's number among those that compute together.

    Example:
      >>> process_index()
      0
    """
    return backends.client(backend).process_index()


def process_count(backend: str | None = None) -> int:
    """How many processes compute together.

    Example:
      >>> process_count()
      1
    """
    return 1 + max((device.process_index for device in backends.client(backend).devices()), default=0)


def process_indices(backend: str | None = None) -> list[int]:
    """The numbers of all processes that compute together.

    Example:
      >>> process_indices()
      [0]
    """
    return list(range(process_count(backend)))


# their older names
host_count = alias(process_count, "host_count")
host_id = alias(process_index, "host_id")
host_ids = alias(process_indices, "host_ids")


def jaxlib_version() -> str:
    """The version of the jaxlib that everything here runs on."""
    return _jaxlib.version


def has_new_cpu_compiler() -> bool:
    """Whether the CPU's compiler is that of jaxlib 0.12, for which programs are written differently than for 0.10."""
    return _jaxlib.has_new_cpu_compiler


def default_backend() -> str:
    """The default platform's name: 'cpu', 'gpu' or 'tpu'.

    Example:
      >>> default_backend() in ("cpu", "gpu", "tpu")
      True
    """
    return _public_name(backends.default_platform())


def _public_name(platform: str) -> str:
    return "gpu" if platform in ("cuda", "rocm") else platform


def placement_device() -> Device:
    """The device for arrays and computations that are not tied to one: `default_device`, or the first local device."""
    chosen = options.default_device.value
    if chosen is None:
        return _first_local(None)
    return _first_local(chosen) if isinstance(chosen, str) else chosen


def default_memory_kind(device: Device) -> str | None:
    """The kind of memory that a device keeps arrays in unless told otherwise; None where its client, which only compiles, does not say."""
    try:
        return device.default_memory().kind
    except _jaxlib.XlaRuntimeError:
        return None


def _first_local(platform: str | None) -> Device:
    device = _first.get(platform)
    if device is None:
        device = _first[platform] = backends.client(platform).local_devices()[0]
    return device


_first: dict[str | None, Device] = {}


def forget_devices() -> None:
    """Lets platforms start anew when they are next asked for, with other devices."""
    backends.forget_clients()
    _first.clear()
