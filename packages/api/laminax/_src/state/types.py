"""The types of references and of their effects."""

from laminax_ir.refs import AbstractRef, AccumEffect, ReadEffect, RefEffect, WriteEffect
from laminax_ir.refs import RefView as TransformedRef

__all__ = ["AbstractRef", "AccumEffect", "ReadEffect", "RefEffect", "TransformedRef", "WriteEffect"]
