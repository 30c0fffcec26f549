"""`AbstractDevice`: a device known by its kind alone."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AbstractDevice:
    """A device known by its kind alone, which an `AbstractMesh` may be of. Programs do not depend on it.

    Args:
      device_kind: the platform's name for the kind of device, as `Device.device_kind`.
      num_cores: how many cores it has, if that is known.
      platform: "cpu", "gpu" or "tpu".
    """

    device_kind: str
    num_cores: int | None
    platform: str

    def __repr__(self) -> str:
        return f"AbstractDevice(device_kind={self.device_kind}, num_cores={self.num_cores}, platform={self.platform})"
