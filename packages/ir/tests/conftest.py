"""Tests of this layer compute with NumPy, and trace functions that use operators, which `laminax_ir.setup` arranges."""

import laminax_ir.setup  # noqa: F401
