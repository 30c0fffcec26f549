"""Lowering rules: one module per family, named like the one in `laminax_ir.ops`."""
