"""`no_collectives`: mesh axes along which the operations that are traced must not have devices exchange data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from laminax_ir.options.config import no_collectives
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.errors import ForbiddenCollectiveError
from laminax_ir.types.partition_specs import PartitionSpec


def check_named(name: str, axes: Iterable) -> None:
    """A collective along named axes.

    Raises:
      ForbiddenCollectiveError: if it is forbidden along one of them.
    """
    for axis in axes:
        if axis in no_collectives.value:
            raise ForbiddenCollectiveError(f"{_forbidden(axis)} but `{name}` acts on axis '{axis}'.")


def check_types(name: str, avals: Sequence[ShapedArray], outs: Sequence[ShapedArray]) -> None:
    """An operation on arrays that are split over explicit mesh axes: what is split or summed over a forbidden axis must stay so.

    Raises:
      ForbiddenCollectiveError: if a result is not split over an axis that splits an operand, or no sum over the axis that an operand is.
    """
    ins, results = list(_specs(avals)), list(_specs(outs))
    if not ins:
        return
    split, kept = ({axis for spec in specs for axis in spec.names()} for specs in (ins, results))
    open_sums, kept_sums = ({axis for spec in specs for axis in spec.unreduced} for specs in (ins, results))
    for axis in _in_order(no_collectives.value):
        if axis in open_sums and axis not in kept_sums:
            raise ForbiddenCollectiveError(f"{_forbidden(axis)} but `{name}` consumes unreduced axis '{axis}' without keeping it unreduced "
                                           "in the output.")
        if axis in split and axis not in kept | kept_sums:
            raise ForbiddenCollectiveError(f"{_forbidden(axis)} but `{name}` loses sharding axis '{axis}' in the output without marking it "
                                           "unreduced.")


def check_kept_places(name: str, before: Sequence[Any], after: Sequence[Any]) -> None:
    """What splits an axis of an array must go on splitting that axis, if it splits one.

    Raises:
      ForbiddenCollectiveError: if a forbidden mesh axis splits another axis of the array afterwards.
    """
    for axis in _in_order(no_collectives.value):
        old, new = _places(before, axis), _places(after, axis)
        if old and new and old != new:
            raise ForbiddenCollectiveError(f"{_forbidden(axis)} but `{name}` changes the sharded dimension of axis '{axis}'.")


def check_contracted(name: str, entries: Sequence[Any], result: PartitionSpec) -> None:
    """A sum over array axes that are split so: over forbidden mesh axes it must be left open in the result.

    Raises:
      ForbiddenCollectiveError: if it is not.
    """
    for axis in _in_order(no_collectives.value):
        if _places(entries, axis) and axis not in result.unreduced:
            raise ForbiddenCollectiveError(f"{_forbidden(axis)} but `{name}` contracts over axis '{axis}' without marking it unreduced in "
                                           "the output.")


def _forbidden(axis: Any) -> str:
    return f"Collective across axis '{axis}' is forbidden by `no_collectives`,"


def _in_order(axes: frozenset) -> list:
    return sorted(axes, key=str)


def _specs(avals: Sequence[Any]) -> Iterator[PartitionSpec]:
    return (aval._split.spec for aval in avals if getattr(aval, "_split", None) is not None)


def _places(entries: Sequence[Any], axis: Any) -> list[int]:
    return [i for i, entry in enumerate(entries) if entry == axis or isinstance(entry, tuple) and axis in entry]
