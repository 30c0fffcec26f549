"""The operation set: one module per family, named alike in every layer.

Each module defines primitives (`sin_p`), their shape rules, and the functions that bind them (`sin`), which
carry the documentation. Operands are positional, static parameters keyword-only on the primitive.
"""
