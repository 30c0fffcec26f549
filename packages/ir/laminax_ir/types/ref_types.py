"""Types of references: what a reference is to, `Ref{f32[3]}`."""

from __future__ import annotations

import operator
from typing import Any

from laminax_ir.options.interning import Interned
from laminax_ir.types.avals import ShapedArray


class AbstractRef:
    """The type of a reference to an array of the type `inner_aval`. Interned: equality is identity.

    The kind "no_grad_no_remat" says that what is written has no derivative.
    """

    __slots__ = ("inner_aval", "kind", "__weakref__")

    inner_aval: ShapedArray
    kind: str | None
    _split = None  # over explicit mesh axes references are whole
    memory_space = None
    _plain = None

    def __new__(cls, inner_aval: ShapedArray, kind: str | None = None) -> AbstractRef:
        return _interned[inner_aval, kind]

    def __reduce__(self) -> tuple[Any, ...]:
        return AbstractRef, (self.inner_aval, self.kind)

    shape: property = property(operator.attrgetter("inner_aval.shape"), doc="Sizes of the axes.")
    dtype: property = property(operator.attrgetter("inner_aval.dtype"), doc="The dtype of the elements.")
    ndim: property = property(operator.attrgetter("inner_aval.ndim"), doc="The number of axes.")
    size: property = property(operator.attrgetter("inner_aval.size"), doc="The number of elements.")
    weak_type: property = property(operator.attrgetter("inner_aval.weak_type"), doc="Whether the dtype yields to that of other operands.")
    sharding: property = property(operator.attrgetter("inner_aval.sharding"), doc="How the array is split over explicit mesh axes.")
    mat: property = property(operator.attrgetter("inner_aval.mat"), doc="How the array varies along the axes of a program per device.")
    named_shape: property = property(operator.attrgetter("inner_aval.named_shape"), doc="The named axes that the array varies over.")
    _named: property = property(operator.attrgetter("inner_aval._named"))

    def to_tangent_aval(self) -> AbstractRef:
        """The type of references to tangents."""
        return AbstractRef(self.inner_aval.to_tangent_aval())

    def to_ct_aval(self) -> AbstractRef:
        """The type of references to cotangents."""
        return AbstractRef(self.inner_aval.to_ct_aval())

    def update(self, **changes: Any) -> AbstractRef:
        """The type of references to arrays that differ in the given fields."""
        return AbstractRef(self.inner_aval.update(**changes), self.kind)

    def str_short(self, short_dtypes: bool = True) -> str:
        """The printed form used in jaxprs, `Ref{f32[2,3]}`."""
        return f"Ref{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __repr__(self) -> str:
        return self.str_short(short_dtypes=False)

    __str__ = __repr__


def _made(key: tuple[ShapedArray, str | None]) -> AbstractRef:
    made = object.__new__(AbstractRef)
    made.inner_aval, made.kind = key
    return made


_interned: Interned[AbstractRef] = Interned(_made)
