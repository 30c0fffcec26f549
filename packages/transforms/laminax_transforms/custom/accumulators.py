"""Accumulators: what backward rules that take them add cotangents to, one for each operand.

Such a rule need not hold the cotangents of all its operands at once, and is told which of them nobody asks for.
"""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.refs.refs import Ref, freeze, new_ref, write
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.hi_types import HiType
from laminax_ir.types.symbolic_zeros import SymbolicZero
from laminax_transforms.base.zeros import ZERO, Zero, added, zeros_of


class GradAccum:
    """The sum of the cotangents of one operand of an operation.

    Args:
      aval: the type of the cotangent.
    """

    def __init__(self, aval: ShapedArray) -> None:
        self.aval: ShapedArray = aval

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval})"

    def accum(self, x: Any) -> None:
        """Adds a cotangent; None and symbolic zeros are zero."""
        raise NotImplementedError

    def freeze(self) -> Any:
        """The sum, an array or a `Zero`; nothing is added from now on."""
        raise NotImplementedError


class ValAccum(GradAccum):
    """A sum that is a value.

    Args:
      aval: the type of the cotangent.
      val: what is in it already.
    """

    def __init__(self, aval: ShapedArray, val: Any = None) -> None:
        super().__init__(aval)
        self.val: Any = Zero(aval)
        self.accum(val)

    def accum(self, x: Any) -> None:
        if not is_zero(x):
            _check_type(self.aval, x)
            self.val = x if is_zero(self.val) else added(self.val, x)

    def freeze(self) -> Any:
        return self.val


class RefAccum(GradAccum):
    """A sum that is in a reference.

    Args:
      aval: the type of the cotangent.
      ref: the reference; made with the first cotangent if None.
    """

    def __init__(self, aval: ShapedArray, ref: Ref | None = None) -> None:
        super().__init__(aval)
        self.ref: Ref | None = ref

    def accum(self, x: Any) -> None:
        if is_zero(x):
            return
        _check_type(self.aval, x)
        if self.ref is None:
            self.ref = new_ref(x)
        else:
            write("ref_addupdate", self.ref, (), x)

    def freeze(self) -> Any:
        return Zero(self.aval) if self.ref is None else freeze(self.ref)

    def inst(self) -> RefAccum:
        """Itself, with a reference to zeros if it had none."""
        if self.ref is None:
            self.ref = new_ref(zeros_of(self.aval))
        return self


class NullAccum(GradAccum):
    """The accumulator of an operand that is not differentiated: what is added to it is dropped."""

    def accum(self, x: Any) -> None:
        pass


def is_zero(x: Any) -> bool:
    """Whether a cotangent that a rule gives is a symbolic zero of any form, or one of an integer."""
    return x is None or x is ZERO or isinstance(x, (Zero, SymbolicZero)) or getattr(x, "dtype", None) == dtypes.float0


def _check_type(expected: ShapedArray, ct: Any) -> None:
    found = get_aval(ct)
    if isinstance(expected, HiType) or isinstance(found, HiType):
        if found is not expected:
            raise ValueError(f"Expected cotangent type {expected.str_short()} but got {found.str_short()}: what is added to an accumulator "
                             "must have its type.")
        return
    if found.shape != expected.shape:
        raise ValueError(f"Expected cotangent type {expected.str_short(short_dtypes=False)} but got "
                         f"{found.str_short(short_dtypes=False)}: what is added to an accumulator must "
                         "have its shape.")


def accumulators(in_avals: Sequence[Any], wanted: Sequence[bool]) -> list[GradAccum]:
    """One accumulator for each operand of these types; `NullAccum` where the cotangent is not wanted."""
    return [(ValAccum if is_wanted else NullAccum)(aval.to_ct_aval()) for aval, is_wanted in zip(in_avals, wanted)]


def sums(accums: Sequence[GradAccum]) -> list[Any]:
    """What was added to each, or `ZERO`."""
    return [ZERO if not isinstance(x, ValAccum) or is_zero(x.val) else x.val for x in accums]
