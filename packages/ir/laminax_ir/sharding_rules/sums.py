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
    """The axes along which the cotangents of operands taken together are sums; scalars go with all.

    Where another operand varies along such an axis of a program per device, the reduced operand is taken to vary.
    """
    varying = {name for aval in avals for name, _ in aval._named}
    sets = {names for aval in avals if (names := _reduced(aval) - varying)}
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
                   f"Got {aval.str_short()} among {listed(avals)}. Use reshard(x, P(reduced={set(names)!r})) on it, or inside of shard_map "
                   f"lax.pcast(x, {tuple(names)!r}, to='reduced').")
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
        raise ValueError("The denominator cannot be unreduced passed to `div`: a quotient is not linear in the divisor, "
                         f"which is a sum that has not been made. Got {listed(avals)}. Use reshard to make the sum first.")
    return multiplied(avals, given, params)


def selected(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
    """All cases are terms, or none is; the selector is whole."""
    which, *cases = avals
    if _unreduced(which):
        raise NotImplementedError(f"unreduced rule for select_n is not implemented for `which`; got {listed(avals)}. "
                                  "Use reshard to make the sum first.")
    return _alike("select_n", cases)


def _alike(name: str, avals: Sequence[ShapedArray]) -> Sums:
    """Operands that are put side by side; reduced ones beside others that vary along the axis vary."""
    varying = {axis for aval in avals for axis, _ in aval._named}
    found = {(_unreduced(aval), _reduced(aval) - varying) for aval in avals}
    if len(found) > 1:
        refuse(f"{name}: All operands should be unreduced and reduced along the same mesh axes. Got {listed(avals)}. "
               "Use reshard on some of them.")
        if len({unreduced for unreduced, _ in found}) > 1:
            raise ShardingTypeError(f"{name}: terms of sums and whole values cannot be put side by side. Got {listed(avals)}.")
        return found.pop()[0], frozenset()
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


def without_terms_of(name: str) -> Callable[..., Sums]:
    """The rule of operations on one array that are not linear, or cannot be done to the terms."""
    def rule(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
        if _unreduced(avals[0]):
            raise NotImplementedError(f"unreduced rule for {name} is not implemented; got {listed(avals)}. "
                                      "Use reshard to make the sum first, or inside of shard_map lax.psum.")
        return frozenset(), _reduced(avals[0])
    return rule


def check_none_open(name: str, x: ShapedArray, axes: Sequence[Any]) -> None:
    """A collective is over axes along which its operand is neither unreduced nor reduced.

    Raises:
      ValueError: if it is.
    """
    for state, names in (("unreduced", _unreduced(x)), ("reduced", _reduced(x))):
        if found := [axis for axis in axes if axis in names]:
            raise ValueError(f"{name} cannot accept args which are {state}. Got {x.str_short()} and axes={tuple(axes)}. Use "
                             + (f"lax.psum(x, {found[0]!r}) first." if state == "unreduced" else
                                f"lax.pcast(x, {found[0]!r}, to='varying') first."))


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
        return _open_contraction(lhs, rhs, params["dimension_numbers"][0]), frozenset()
    if given.spec.reduced and not is_resolving.value:
        raise ShardingTypeError(f"dot_general: out_sharding cannot have reduced axes, got {given.spec}. Use reshard on the result.")
    if given.spec.unreduced and not is_resolving.value:
        left = _alike_contracted(lhs, rhs, params["dimension_numbers"][0])
        if given.spec.unreduced != frozenset(name for entry in left for name in names_of(entry)):
            raise ShardingTypeError("out_sharding's unreduced axes should be equal to the contracting specs. Got unreduced "
                                    f"axes={set(given.spec.unreduced)!r} and contracting spec={left}. Name the axes that are summed over.")
    return given.spec.unreduced, given.spec.reduced


def _open_contraction(lhs: ShapedArray, rhs: ShapedArray, contracting: Sequence[Sequence[int]]) -> frozenset:
    """The axes of the sum of a product that are left open where the user asks for terms; the operands must be split alike along them."""
    wanted = sums_left_open.value
    found = _summed_entries(lhs, contracting[0]) & wanted
    if found or wanted and _summed_entries(rhs, contracting[1]) & wanted:
        _alike_contracted(lhs, rhs, contracting)
    return found


def _alike_contracted(lhs: ShapedArray, rhs: ShapedArray, contracting: Sequence[Sequence[int]]) -> tuple:
    """How the contracted axes are split, of both operands alike.

    Raises:
      ShardingTypeError: if they are split differently.
    """
    left, right = (tuple(None if x._split is None else x._split.spec.partitions[axis] for axis in axes)
                   for x, axes in zip((lhs, rhs), contracting))
    if left != right:
        raise ShardingTypeError("lhs and rhs contracting dims should be sharded identically when out_sharding provided to dot_general "
                                f"mentions unreduced_axes. Got {listed((lhs, rhs))} with the contracting axes {tuple(contracting[0])} and "
                                f"{tuple(contracting[1])}, which are split as {left} and {right}. Use reshard on one of them.")
    return left


def each_kept(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> list[Sums]:
    """Each operand is a result."""
    return [kept([aval], None, params) for aval in avals]


def updated(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
    """A part of the first operand is replaced by the second; the others are indices."""
    return _alike("dynamic_update_slice", avals[:2])


def gathered(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
    """Elements of an array that is whole are whole, and may be reduced; what says where they are is neither."""
    operand, indices = avals
    _check_whole("gather", "indices", indices)
    return without_terms_of("gather")([operand], given, params)


def scattered(name: str) -> Callable[..., Sums]:
    """The rule of scatters that are linear: terms are put among terms, or what devices have of a split axis is added among terms."""
    def rule(avals: Sequence[ShapedArray], given: TypeSharding | None, params: dict[str, Any]) -> Sums:
        operand, indices, updates = avals
        _check_whole(name, "indices", indices)
        missing = _unreduced(operand) - _unreduced(updates)
        if (name != "scatter" and is_resolving.value and _unreduced(updates) <= _unreduced(operand)
                and missing <= _names_along_scattered(updates, params)):
            return _unreduced(operand), _reduced(operand)
        if _unreduced(operand) != _unreduced(updates):
            raise ShardingTypeError(f"{name}: scatter operand and updates must be unreduced along the same axes. Got {listed(avals)}. Use "
                                    "reshard on one of them.")
        return _unreduced(operand), _common_reduced((operand, updates))
    return rule


def _check_whole(name: str, what: str, aval: ShapedArray) -> None:
    for state, names in (("unreduced", _unreduced(aval)), ("reduced", _reduced(aval))):
        if names:
            raise ShardingTypeError(f"{name} {what} cannot be {state}. Got {what} of the type {aval.str_short()}. Use reshard on them.")


def _names_along_scattered(updates: ShapedArray, params: dict[str, Any]) -> frozenset:
    """The mesh axes that split the axes of updates along which there is one window after the other."""
    if updates._split is None:
        return frozenset()
    windows = params["dimension_numbers"].update_window_dims
    return frozenset(name for axis, entry in enumerate(updates._split.spec.partitions) if axis not in windows for name in names_of(entry))
