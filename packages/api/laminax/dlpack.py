"""DLPack: sharing arrays with other libraries without copying."""

from __future__ import annotations

from laminax_runtime.dlpack import is_supported_dtype

from laminax._src.numpy.conversion import from_dlpack

__all__ = ["from_dlpack", "is_supported_dtype"]
