"""Checkpointing: which values are kept for differentiation, and which are computed again."""

from __future__ import annotations

from laminax_transforms.rematerializing.checkpoint import (
    Recompute,
    Saveable,
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    print_saved_residuals,
    remat,
    saved_residuals,
)
from laminax_transforms.rematerializing.rematerialization import Offloadable

import laminax._src  # noqa: F401  (puts the layers together)

__all__ = [
    "Offloadable", "Recompute", "Saveable", "checkpoint", "checkpoint_name", "checkpoint_policies", "print_saved_residuals", "remat",
    "saved_residuals",
]
