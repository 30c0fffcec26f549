"""Transposition: the adjoint of a tape.

Walks the equations backwards and sums one cotangent per linear value. Most types consist of a shape and a dtype alone, and cotangents
of such values are added as they are. Where a type also says how a value is split, or along which axes it varies, an `Accumulation`
brings the cotangents to the matching type before they are added.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterable, Sequence

from laminax_ir.ops.elementwise import add_p
from laminax_ir.ops.sharding import in_memory, reshard
from laminax_ir.refs.refs import Ref, read
from laminax_ir.tracing.manual_axes import checked_axes
from laminax_ir.tracing.name_stacks import JVP, TRANSPOSE, NameStack
from laminax_ir.tracing.source import SourceInfo
from laminax_ir.tracing.trace import state
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.dtypes import is_extended
from laminax_ir.types.hi_types import HiType
from laminax_transforms.base.registry import transpose_rules
from laminax_transforms.base.zeros import ZERO, adder
from laminax_transforms.differentiation.varying import added, cotangent_like, entered, summed_like

if TYPE_CHECKING:  # the tape's module imports this one
    from laminax_transforms.differentiation.linear import LinearEqn


class Accumulation:
    """Adds cotangents of values that are split over explicit mesh axes, or in other memory than the device's."""

    is_split = True

    def conformed(self, ct: Any, aval: ShapedArray) -> Any:
        """A cotangent of a value of this type, brought to the type of its cotangents."""
        if isinstance(aval, HiType):  # its type says what it is, and only operations of the type could change it
            return ct
        split = aval._split
        return in_memory(reshard(ct, None if split is None else split.of_cotangents()), aval.memory_space)

    def added(self, total: Any, term: Any) -> Any:
        """The sum of two conformed cotangents of one value."""
        return adder()(total, term)

    def entered(self, cts: list[Any], eqn: LinearEqn) -> tuple[list[Any], LinearEqn]:
        """The cotangents of the results of a call, and the call, brought to types that match each other."""
        return cts, eqn

    def finished(self, cts: list[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        """The cotangents of inputs of these types, as they are returned; they may be `ZERO`."""
        return cts


class CheckedAccumulation(Accumulation):
    """Inside of a program per device: cotangents are sums over the devices, or each device's share of one; see `varying`.

    Args:
      is_split: whether types say how values are split, too.
      sums_shared: whether cotangents of inputs that all devices share are summed over them here, or by the caller.
    """

    def __init__(self, is_split: bool, sums_shared: bool) -> None:
        self.is_split = is_split
        self.sums_shared = sums_shared

    def conformed(self, ct: Any, aval: ShapedArray) -> Any:
        if isinstance(aval, HiType):
            return ct
        ct = cotangent_like(ct, aval)
        if not self.is_split:
            return ct
        split, found = aval._split, get_aval(ct)._split
        sums = (frozenset(), frozenset()) if found is None else found.manual_sums
        if split is None:
            wanted = found if any(sums) else None
        else:  # over explicit axes as the value; what is open along the program's own axes is so already
            wanted = split.of_cotangents()
            spec, manual = wanted.spec, frozenset(wanted.mesh.manual_axes)
            wanted = wanted.update(spec.update(unreduced=spec.unreduced - manual | sums[0], reduced=spec.reduced - manual | sums[1]))
        return in_memory(reshard(ct, wanted), aval.memory_space)

    def added(self, total: Any, term: Any) -> Any:
        aval = get_aval(total)
        if isinstance(aval, HiType) or is_extended(aval.dtype):
            return adder()(total, term)
        return add_p.bind(*added(total, term, self.sums_shared))

    def entered(self, cts: list[Any], eqn: LinearEqn) -> tuple[list[Any], LinearEqn]:
        return entered(cts, eqn, self.sums_shared)

    def finished(self, cts: list[Any], avals: Sequence[ShapedArray]) -> list[Any]:
        return [summed_like(ct, aval) for ct, aval in zip(cts, avals)] if self.sums_shared else cts


def accumulation(avals: Iterable[ShapedArray | None], sums_shared: bool) -> Accumulation | None:
    """The `Accumulation` for values of these types; None if their cotangents are added as they are."""
    is_split = any(aval is not None and aval._plain is not None for aval in avals)
    if checked_axes():
        return CheckedAccumulation(is_split, sums_shared)
    return Accumulation() if is_split else None


class StashReader:
    """The backward rule of an equation without results, whose operand's cotangent is what is in a reference at that time."""

    __slots__ = ("ref",)

    def __init__(self, ref: Ref) -> None:
        self.ref = ref

    def __call__(self, _residuals: Sequence[Any], _cts: Sequence[Any]) -> list[Any]:
        return [read(self.ref)]


def transpose_equations(eqns: list[LinearEqn], cts: list[Any], how: Accumulation | None) -> None:
    """Brings cotangents from the results of a tape to its inputs.

    Args:
      eqns: the tape; each equation is removed once it is transposed, so that its residuals can be freed.
      cts: the cotangents so far by tape index, `ZERO` where there is none; those of results are replaced by `ZERO` on the way.
      how: the result of `accumulation`.
    """
    add = adder() if how is None else how.added
    origin = where = None  # several equations in a row come from one operation, and several operations from one function
    stack = transposed = ()
    while eqns:
        eqn = eqns.pop()
        if eqn.primitive.multiple_results:
            ct = [cts[index] for index in eqn.outputs]
            if all(c is ZERO for c in ct) and (ct or not isinstance(eqn.params.get("bwd"), StashReader)):
                continue
            for index in eqn.outputs:
                cts[index] = ZERO
            if how is not None:
                ct, eqn = how.entered(ct, eqn)
        else:
            output = eqn.output
            ct = cts[output]
            if ct is ZERO:
                continue
            cts[output] = ZERO  # not needed any more: free it early
        if eqn.source is not origin:
            origin = where = eqn.source
            if names := origin[2]:
                if names is not stack:
                    stack, transposed = names, _transposed_names(names)
                where = _new_tuple(SourceInfo, (origin[0], origin[1], transposed))
        state.source = where
        in_cts = transpose_rules[eqn.primitive](ct, *eqn.operands, **eqn.params)
        for position, index in eqn.inputs:
            term = in_cts[position]
            if term is not None and term is not ZERO:
                if how is not None:
                    term = how.conformed(term, eqn.operands[position])
                total = cts[index]
                cts[index] = term if total is ZERO else add(total, term)


_new_tuple = tuple.__new__  # a named tuple's own constructor costs three times as much


def _transposed_names(stack: NameStack) -> NameStack:
    """The name stack of the transposed operations: `transpose(...)` around the names of the differentiation."""
    for i in range(len(stack) - 1, -1, -1):
        if stack[i] is JVP:
            return NameStack((*stack[:i], TRANSPOSE, *stack[i:]))
    return stack
