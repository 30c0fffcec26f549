"""laminax-lowering: programs of `laminax_ir` as StableHLO text, on a machine that needs no compiler."""

from laminax_lowering.lower import LoweredModule, lower

__version__ = "0.2.0"
__all__ = ["LoweredModule", "lower"]
