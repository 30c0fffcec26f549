"""Symbolic zeros: tangents and cotangents known to be zero, never materialised unless a rule asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from laminax_ir.ops import elementwise
from laminax_ir.ops.open_sums import zeros_as
from laminax_ir.ops.shape import broadcast, full, full_like
from laminax_ir.ops.sharding import in_memory, reshard
from laminax_ir.symbolic.symbolic_dims import is_constant_shape
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.extended_dtypes import has_user_dtypes, rule_of
from laminax_ir.types.hi_types import HiType, types_in_use


class _Zero:
    """The one symbolic zero; its shape is the shape of the value whose tangent or cotangent it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ZERO"

    def __bool__(self) -> Any:
        raise TypeError("a symbolic zero has no truth value; compare with `is ZERO`")


ZERO = _Zero()


class Zero:
    """A tangent or cotangent that is known to be zero, with its type: what rules in JAX's form get in the place of `ZERO`.

    Args:
      aval: its shape and dtype.
    """

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval: ShapedArray = aval

    def __repr__(self) -> str:
        return f"Zero({self.aval.str_short()})"

    @staticmethod
    def from_primal_value(value: Any) -> Zero:
        """The zero tangent of a value."""
        return Zero(get_aval(value).to_tangent_aval())

    def instantiate(self) -> Any:
        """An array of zeros."""
        return zeros_of(self.aval)


def instantiate(tangent: Any, primal_aval: ShapedArray) -> Any:
    """The tangent as an array: zeros of the primal's tangent type for `ZERO`, itself otherwise."""
    return zeros_of(primal_aval.to_tangent_aval()) if tangent is ZERO else tangent


def instantiate_cotangent(ct: Any, primal_aval: ShapedArray) -> Any:
    """The cotangent as an array: zeros of the primal's cotangent type for `ZERO`, itself otherwise."""
    return zeros_of(primal_aval.to_ct_aval()) if ct is ZERO else ct


def zero_cotangent(primal_aval: ShapedArray) -> Any:
    """Zeros as the cotangent of a value in a linear program, where integers are linear, too."""
    split = primal_aval._split
    return zeros_of(primal_aval if split is None else primal_aval.update(sharding=split.of_cotangents()))


def cotangent_of_dtype(ct: Any, dtype: Any) -> Any:
    """A cotangent in the dtype of a linear operand; the real part, if the operand is real and was used as a complex number."""
    if dtypes.issubdtype(ct.dtype, dtypes.complexfloating) and not dtypes.issubdtype(dtype, dtypes.complexfloating):
        ct = elementwise.real(ct)
    return elementwise.in_exact_dtype(ct, dtype)


def has_tangents(aval: Any) -> bool:
    """Whether values of a type are differentiated: inexact arrays, those of extended dtypes and values of users' types that say so."""
    if not isinstance(aval, HiType) and not dtypes.is_extended(aval.dtype):
        return dtypes.issubdtype(aval.dtype, dtypes.inexact)
    tangent = aval.to_tangent_aval()
    return isinstance(tangent, HiType) or tangent.dtype != dtypes.float0


def tangent_type(aval: Any) -> Any:
    """The type of the tangents of a value that `has_tangents`."""
    return aval.to_tangent_aval() if isinstance(aval, HiType) or dtypes.is_extended(aval.dtype) else aval


def adder() -> Callable[[Any, Any], Any]:
    """What adds two cotangents of one value."""
    return added if types_in_use() or has_user_dtypes() else elementwise.add_p.bind


def has_own_sum(aval: Any) -> bool:
    """Whether cotangents of a type are added by a rule of the type."""
    return isinstance(aval, HiType) or dtypes.is_extended(aval.dtype)


def added(total: Any, term: Any) -> Any:
    """The sum of two cotangents of one value: arrays, of an extended dtype too, or values of a type of users' own."""
    aval = get_aval(total)
    if isinstance(aval, HiType):
        return aval.vspace_add(total, term)
    if dtypes.is_extended(aval.dtype):
        return rule_of(aval.dtype, "add")(aval.dtype, total, term)
    return elementwise.add_p.bind(total, term)


def spread(values: Sequence[Any], present: Sequence[bool]) -> list[Any]:
    """The values at the marked places, `ZERO` at the others: tangents or cotangents of which only those that are not zero were computed."""
    found = iter(values)
    return [next(found) if has else ZERO for has in present]


def zeros_of(aval: ShapedArray) -> Any:
    """Zeros of an aval (weakly typed if the aval is), made under the current trace; float0 zeros of constant sizes are NumPy arrays."""
    if isinstance(aval, HiType):
        return aval.vspace_zero()
    if dtypes.is_extended(aval.dtype):
        return broadcast(rule_of(aval.dtype, "zero")(aval.dtype), aval.shape)
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0) if is_constant_shape(aval.shape) else broadcast(np.zeros((), dtypes.float0), aval.shape)
    zeros = full_like(aval, 0) if aval.weak_type or dtypes.is_kept_wide(aval.dtype) else full(aval.shape, 0, aval.dtype)
    if aval._plain is None:
        return zeros
    zeros = reshard(zeros, None if aval._split is None else aval._split.along_explicit_axes())
    return in_memory(zeros_as(zeros, aval), aval.memory_space)
