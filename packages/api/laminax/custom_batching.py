"""Functions with a batching rule of their own."""

from __future__ import annotations

from laminax_transforms.custom_batching import custom_vmap, sequential_vmap

from laminax._src import setup  # noqa: F401

__all__ = ["custom_vmap", "sequential_vmap"]
