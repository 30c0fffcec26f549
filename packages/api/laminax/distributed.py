"""Programs of several processes: their beginning and end. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "parallel.reinitializing": "reinitialize",
    "placement.distributed": "global_state initialize is_initialized shutdown",
})
