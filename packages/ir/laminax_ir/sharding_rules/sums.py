"""Sums over explicit mesh axes that have not been made: which operations may go on with their terms, and what their results are.

Along an `unreduced` axis each device has a term of a sum that is the array. Linear operations can be applied to the terms. The other factor
of a product must be whole there and `reduced`, since its cotangent is such a sum, too. `reduced` arrays are whole, and go through all
operations that are done element by element. A rule gives the two sets of axes of the results; the modules of the families say which
operations have which.
Source: JAX's documentation, "Autodiff and explicit sharding".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from laminax_ir.programs.primitive import Primitive
from laminax_ir.programs.result_types import Sums, has_sums, sum_rules
from laminax_ir.sharding_rules.agreement import listed, refuse
from laminax_ir.tracing.explicit_axes import is_resolving, sums_left_open
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import ShardingTypeError
from laminax_ir.types.type_shardings import TypeSharding, names_of

_NONE: Sums = (frozenset(), frozenset())


def _unreduced(aval: ShapedArray) -> frozenset:
    return frozenset() if aval._split is None else aval._split.spec.unreduced


def _reduced(aval: ShapedArray) -> frozenset:
    return frozenset() if aval._split is None else aval._split.spec.reduced


def _common_reduced(avals: Sequence[ShapedArray]) -> frozenset:
    """The axes along which the cotangents of operands taken together are sums; scalars go with all."""
    sets = {names for aval in avals if (names := _reduced(aval))}
    if not sets:
        return frozenset()
    if len(sets) > 1:
        refuse(f"All inputs should be reduced across the same mesh axes, got {listed(avals)}. Use reshard on some of them.")
    names = frozenset().union(*sets)
    for aval in avals:
        if not aval.ndim and not has_sums(aval):
            continue
        split = set() if aval._split is None else set(aval._split.spec.names())
        if split & names:
            refuse("Inputs cannot be sharded/varying on the same axes that another input is reduced on. "
                   f"Reshard the input which is reduced to be sharded on these axes, via `reshard(x, P(...))`. Got {listed(avals)}.")
        elif names - split - _unreduced(aval) - _reduced(aval):
            refuse("Inputs cannot be replicated on the same axes that another input is reduced on. "
                   f"Got {aval.str_short()} among {listed(avals)}. Use reshard(x, P(reduced={set(names)!r})) on it.")
    return names


def elementwise_sums(*primitives: Primitive) -> None:
    """Gives operations the rule of those that go element by element, and are not linear."""
    for primitive in primitives:
        sum_rules.add(primitive, _elementwise(primitive))


def _elementwise(primitive: Primitive) -> Callable[..., Sums]:
    def rule(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
        if any(map(_unreduced, avals)):
            raise NotImplementedError(f"unreduced rule for {primitive} is not implemented: it is not linear, "
                                      f"and cannot be done to the terms of sums that have not been made; got {listed(avals)}. "
                                      "Use reshard to make the sums first.")
        return frozenset(), _common_reduced(avals)
    return rule


def added(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
    """Terms are added to terms."""
    x, y = avals
    reduced, left, right = _common_reduced(avals), _unreduced(x), _unreduced(y)
    if left == right:
        return left, reduced
    if left and right:
        refuse(f"lhs and rhs to `add` must be unreduced along the same mesh axes. Got {listed(avals)}. Use reshard on one of them.")
    else:
        which, other = ("lhs", "rhs") if left else ("rhs", "lhs")
        refuse(f"{which} is unreduced while {other} is not. `add` operation does not allow this because there will be implicit "
               f"communication. Please reduce {which} via `reshard` before calling `add`. Got {listed(avals)}.")
    return left & right, reduced


def multiplied(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
    """Terms are multiplied with factors that are whole, and so reduced."""
    x, y = avals
    left, right = _unreduced(x), _unreduced(y)
    reduced = _common_reduced(avals)
    if not left and not right:
        return frozenset(), reduced
    if left and right:
        raise ShardingTypeError(f"lhs and rhs to `mul` cannot be unreduced since mul is bilinear. Got {listed(avals)}. "
                                "Use reshard on one of them.")
    if left and left != _reduced(y):
        refuse(f"RHS should be reduced along the same axes LHS is unreduced on. Got {listed(avals)}. Use reshard on one of them.")
    if right and right != _reduced(x):
        refuse(f"LHS should be reduced along the same axes RHS is unreduced on. Got {listed(avals)}. Use reshard on one of them.")
    return left or right, reduced - (left or right)


def divided(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
    if _unreduced(avals[1]):
        raise NotImplementedError("unreduced rule for div is not implemented: a quotient is not linear in the divisor, "
                                  f"which is a sum that has not been made; got {listed(avals)}. Use reshard to make the sum first.")
    return multiplied(avals, given, params)


def selected(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
    """All cases are terms, or none is; the selector is whole."""
    which, *cases = avals
    if _unreduced(which):
        raise NotImplementedError(f"unreduced rule for select_n is not implemented for `which`; got {listed(avals)}. "
                                  "Use reshard to make the sum first.")
    return _alike("select_n", cases)


def _alike(name: str, avals: Sequence[ShapedArray]) -> Sums:
    """Operands that are put side by side."""
    found = {(_unreduced(aval), _reduced(aval)) for aval in avals}
    if len(found) > 1:
        refuse(f"{name}: All operands should be unreduced and reduced along the same mesh axes. Got {listed(avals)}. "
               "Use reshard on some of them.")
        return _NONE
    return found.pop()


def all_alike(name: str) -> Callable[..., Sums]:
    return lambda avals, given, params: _alike(name, avals)


def kept(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
    """The operation on an array can be applied to the terms."""
    return (_unreduced(avals[0]), _reduced(avals[0])) if avals else _NONE


def kept_or_given(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
    return kept(avals, None, params) if given is None else (given.spec.unreduced, given.spec.reduced)


def reshaped(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
    found = kept(avals, None, params)
    if given is not None and found != (given.spec.unreduced, given.spec.reduced) and not is_resolving.value:
        raise ValueError("reshape: out_sharding passed to reshape must be unreduced and reduced over the same mesh axes as operand. "
                         f"Got out_sharding: {given.spec} and operand type: {avals[0].str_short()}. "
                         "Use reshard to make the sum, before or after.")
    return found if given is None else (given.spec.unreduced, given.spec.reduced)


def without_terms(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
    if _unreduced(avals[0]):
        raise NotImplementedError(f"unreduced rule for dynamic_slice is not implemented; got {listed(avals)}. "
                                  "Use reshard to make the sum first.")
    return frozenset(), _reduced(avals[0])


def summed(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
    """Where an axis is summed that is split, each device may keep its own sum."""
    (x,) = avals
    if given is None:
        return _unreduced(x) | _summed_entries(x, params["axes"]) & sums_left_open.value, _reduced(x)
    if not given.spec.unreduced:
        return frozenset(), _reduced(x)
    open_sums = _unreduced(x) | _summed_entries(x, params["axes"])
    if not given.spec.unreduced <= open_sums:
        refuse("reduce_sum: out_sharding's unreduced axes should be in operand's specs that were reduce_sum over. Got the operand "
               f"{x.str_short()}, axes {params['axes']} and out_sharding {given.spec}.")
    return given.spec.unreduced, _reduced(x)


def _summed_entries(x: ShapedArray, axes: Sequence[int]) -> frozenset:
    """The mesh axes that split the axes of an operand that are summed over."""
    return frozenset() if x._split is None else frozenset(name for axis in axes for name in names_of(x._split.spec.partitions[axis]))


def contracted(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
    """Where contracted axes are split alike, each device may keep its own sum."""
    lhs, rhs = avals
    if _unreduced(lhs) or _unreduced(rhs):
        raise ShardingTypeError(f"lhs or rhs passed to dot_general cannot be unreduced. Got {listed(avals)}. "
                                "Use reshard to make the sums first.")
    if given is None:
        return _summed_entries(lhs, params["dimension_numbers"][0][0]) & sums_left_open.value, frozenset()
    if given.spec.reduced and not is_resolving.value:
        raise ShardingTypeError(f"dot_general: out_sharding cannot have reduced axes, got {given.spec}. Use reshard on the result.")
    if given.spec.unreduced and not is_resolving.value:
        (lhs_contracting, rhs_contracting), _ = params["dimension_numbers"]
        left, right = (tuple(None if x._split is None else x._split.spec.partitions[axis] for axis in axes)
                       for x, axes in ((lhs, lhs_contracting), (rhs, rhs_contracting)))
        if left != right:
            raise ShardingTypeError("lhs and rhs contracting dims should be sharded identically when out_sharding provided to dot_general "
                                    f"mentions unreduced_axes. Got {listed(avals)} with the contracting axes {lhs_contracting} and "
                                    f"{rhs_contracting}, which are split as {left} and {right}. Use reshard on one of them.")
        if given.spec.unreduced != frozenset(name for entry in left for name in names_of(entry)):
            raise ShardingTypeError("out_sharding's unreduced axes should be equal to the contracting specs. Got unreduced "
                                    f"axes={set(given.spec.unreduced)!r} and contracting spec={left}. Name the axes that are summed over.")
    return given.spec.unreduced, given.spec.reduced


def each_kept(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> list[Sums]:
    """Each operand is a result."""
    return [kept([aval], None, params) for aval in avals]


def updated(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
    """A part of the first operand is replaced by the second; the others are indices."""
    return _alike("dynamic_update_slice", avals[:2])
