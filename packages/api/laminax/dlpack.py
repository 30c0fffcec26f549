"""DLPack: sharing arrays with other libraries without copying."""

from __future__ import annotations

from typing import Any

import laminax_runtime as runtime
from laminax_runtime.arrays.dlpack import is_supported_dtype

import laminax._src  # noqa: F401  (puts the layers together)


def from_dlpack(external_array: Any, device: Any = None, copy: bool | None = None) -> Any:
    """`numpy.from_dlpack`, whose device and copy are keywords.

    Args:
      external_array: an object with `__dlpack__` and `__dlpack_device__`.
      device: the device that holds the result; by default the one that the memory is on.
      copy: whether to copy; None copies only if needed.

    Example:
      >>> from_dlpack(np.ones(3, np.float32), devices()[0])
      Array([1., 1., 1.], dtype=float32)
    """
    return runtime.from_dlpack(external_array, device=device, copy=copy)


__all__ = ["from_dlpack", "is_supported_dtype"]
