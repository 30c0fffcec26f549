"""Linear functions with a transpose of their own."""

from __future__ import annotations

from laminax_transforms.custom_transposes import custom_transpose

from laminax._src import setup  # noqa: F401

__all__ = ["custom_transpose"]
