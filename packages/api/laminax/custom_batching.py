"""Functions with a batching rule of their own."""

from __future__ import annotations

from laminax_transforms.custom.custom_batching import custom_vmap, sequential_vmap

import laminax._src  # noqa: F401  (puts the layers together)

__all__ = ["custom_vmap", "sequential_vmap"]
