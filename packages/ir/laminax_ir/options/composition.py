"""Putting the rooms of this package together, when one that needs the later ones is first used.

The earlier rooms do not know the later ones, which register themselves with them: arithmetic with tracers, the printer with
programs, NumPy with the evaluation. `laminax_ir.setup` does this, and is looked up here by its name, as families of rules are: an
import of the package alone, for its settings, say, must stay small.
"""

from __future__ import annotations

import importlib


def compose() -> None:
    """Runs `laminax_ir.setup`, once in a process."""
    importlib.import_module("laminax_ir.setup")
