"""Debugging compiled programs: printing, stopping and calling Python from inside, and pictures of how arrays are split."""

from __future__ import annotations

from laminax_ir.ops.callbacks import debug_callback as callback
from laminax_ir.ops.callbacks import debug_log as log
from laminax_ir.ops.callbacks import debug_print as print
from laminax_ir.programs.effects import DebugEffect, OrderedDebugEffect

from laminax._src.debugging.breakpoints import breakpoint
from laminax._src.parallel.sharding_pictures import inspect_array_sharding, visualize_array_sharding, visualize_sharding

__all__ = [
    "DebugEffect", "OrderedDebugEffect", "breakpoint", "callback", "inspect_array_sharding", "log", "print", "visualize_array_sharding",
    "visualize_sharding",
]
