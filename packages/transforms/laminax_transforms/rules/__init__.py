"""The rules of the transformations: one module per family, named like the one in `laminax_ir.ops`."""
