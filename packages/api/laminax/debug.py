"""Debugging compiled programs: printing and calling Python from inside."""

from __future__ import annotations

from laminax._src import setup  # noqa: F401
from laminax_ir.ops.callbacks import debug_callback as callback
from laminax_ir.ops.callbacks import debug_log as log
from laminax_ir.ops.callbacks import debug_print as print

__all__ = ["callback", "log", "print"]
