"""Checkpointing: which values are kept for differentiation, and which are computed again. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_ir.ops.calls": "name_p",
    "laminax_transforms": "checkpoint checkpoint_name checkpoint_policies print_saved_residuals remat saved_residuals",
    "laminax_transforms.rematerializing.checkpoint_policies": "Recompute Saveable",
    "laminax_transforms.rematerializing.rematerialization": "Offloadable",
})
