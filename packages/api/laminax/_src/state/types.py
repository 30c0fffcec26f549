"""The types of references and of their effects."""

from laminax_ir.effects import AccumEffect, ReadEffect, RefEffect, WriteEffect
from laminax_ir.ref_types import AbstractRef
from laminax_ir.refs import RefView as TransformedRef

__all__ = ["AbstractRef", "AccumEffect", "ReadEffect", "RefEffect", "TransformedRef", "WriteEffect"]
