"""Branches that return different further values: each value gets a place among further results that all branches have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.ops.extended_dtypes import to_edtype_p
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_transforms.base.zeros import zeros_of

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array


def shared_places(branches: Sequence[Sequence[ShapedArray]]) -> tuple[list[list[int]], list[ShapedArray]]:
    """Places for the values of each branch, given by their avals; values of different branches share the places of their type.

    Returns:
      For each branch the places of its values, and the avals of the places.
    """
    avals: list[ShapedArray] = []
    places = []
    for values in branches:
        free = list(range(len(avals)))
        own = []
        for aval in values:
            place = next((i for i in free if avals[i] is aval), None)
            if place is None:
                place = len(avals)
                avals.append(aval)
            else:
                free.remove(place)
            own.append(place)
        places.append(own)
    return places, avals


def with_places(branch: ClosedJaxpr, count: int, places: Sequence[int], avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    """The branch with its results from number `count` on at their places, and zeros at the other places."""
    jaxpr = branch.jaxpr
    if list(places) == list(range(len(avals))):
        return branch
    empty = [i for i in range(len(avals)) if i not in places]
    zeros = stage(lambda: [_empty(avals[i]) for i in empty], [], "nothing")
    outvars: list[Any] = [None] * len(avals)
    for place, v in zip(places, jaxpr.outvars[count:]):
        outvars[place] = v
    for place, v in zip(empty, zeros.jaxpr.outvars):
        outvars[place] = v
    return ClosedJaxpr(jaxpr.replace(constvars=[*jaxpr.constvars, *zeros.jaxpr.constvars], eqns=[*jaxpr.eqns, *zeros.eqns],
                                     outvars=[*jaxpr.outvars[:count], *outvars]), [*branch.consts, *zeros.consts])


def _empty(aval: ShapedArray) -> Array:
    if not dtypes.is_extended(aval.dtype):
        return zeros_of(aval)
    return to_edtype_p.bind(zeros_of(physical_aval(aval)), edtype=aval.dtype)
