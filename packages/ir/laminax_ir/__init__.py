"""laminax-ir: the programs of laminax: types, operations, tracing, jaxprs, and what they mean in NumPy."""

__version__ = "0.2.0"
