"""The types of references and of their effects."""

from laminax_ir.programs.effects import AccumEffect, ReadEffect, RefEffect, WriteEffect
from laminax_ir.refs.refs import RefView as TransformedRef
from laminax_ir.types.ref_types import AbstractRef

__all__ = ["AbstractRef", "AccumEffect", "ReadEffect", "RefEffect", "TransformedRef", "WriteEffect"]
