"""The array API standard's inspection of a namespace: its version, devices, dtypes and capabilities.

Source: the Python array API standard, "Inspection".
"""

from __future__ import annotations

from typing import Any

import numpy as np

import laminax_runtime as runtime
from laminax_ir.types import dtypes

__array_api_version__ = "2025.12"

_SIGNED = ("int8", "int16", "int32", "int64")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_REAL = ("float32", "float64")
_COMPLEX = ("complex64", "complex128")
_KINDS = {
    "bool": ("bool",), "signed integer": _SIGNED, "unsigned integer": _UNSIGNED, "integral": _SIGNED + _UNSIGNED,
    "real floating": _REAL, "complex floating": _COMPLEX, "numeric": _SIGNED + _UNSIGNED + _REAL + _COMPLEX,
}


class ArrayNamespaceInfo:
    """The capabilities of `laminax.numpy`, in the standard's terms."""

    def capabilities(self) -> dict[str, Any]:
        """The optional abilities: shapes that depend on data cannot be compiled; arrays have at most 64 axes, as NumPy's."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """The default device: None, where arrays go that name none."""
        return None

    def devices(self) -> list[Any]:
        """The devices: None, and those there are."""
        return [None, *runtime.devices()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """The dtypes of values that name none, by kind; the option `enable_x64` decides.

        Args:
          device: of which device; it is the same everywhere.
        """
        self._check_device(device)
        return {"real floating": dtypes.canonicalize_dtype(float), "complex floating": dtypes.canonicalize_dtype(complex),
                "integral": dtypes.canonicalize_dtype(int), "indexing": dtypes.canonicalize_dtype(int)}

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, np.dtype]:
        """The standard's dtypes that there are, by name; those of 64 bits only with the option `enable_x64`.

        Args:
          device: of which device; they are the same everywhere.
          kind: a kind of the standard, such as "real floating", or a tuple of them; None is all.

        Raises:
          ValueError: if there is no such kind.
        """
        self._check_device(device)
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        if unknown := [name for name in kinds if name not in _KINDS]:
            raise ValueError(f"dtypes: there is no kind {unknown[0]!r}; the kinds are {', '.join(map(repr, _KINDS))}")
        names = dict.fromkeys(name for wanted in kinds for name in _KINDS[wanted])
        return {name: np.dtype(name) for name in names if dtypes.canonicalize_dtype(name) == np.dtype(name)}

    def _check_device(self, device: Any) -> None:
        if device not in self.devices():
            raise ValueError(f"there is no device {device!r}; the devices are {self.devices()}")


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """The capabilities of `laminax.numpy`: an object with the standard's inspection functions."""
    return ArrayNamespaceInfo()
