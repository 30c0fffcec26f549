"""Checks of how arrays are split over explicit mesh axes, and of how a user asks for results to be split."""

from __future__ import annotations

from typing import Any, Sequence

from laminax_ir.tracing import explicit_axes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import ShardingTypeError


def check_sums_are_kept(name: str, x: Any, out_sharding: Any) -> None:
    """What only moves the elements of an array about leaves sums open along the mesh axes along which its operand does.

    Args:
      name: the function's name, for messages.
      x: the operand, an array or scalar.
      out_sharding: the partition spec or `NamedSharding` that the user gives, checked elsewhere.

    Raises:
      ValueError: if out_sharding says otherwise.
    """
    spec, split = getattr(out_sharding, "spec", out_sharding), get_aval(x)._split
    for state in ("unreduced", "reduced"):
        wanted: frozenset = getattr(spec, state, frozenset())
        found: frozenset = frozenset() if split is None else getattr(split.spec, state)
        if wanted and not found:
            raise ValueError(f"{name}: out_sharding passed to `{name}` cannot contain {state} axes, since the operand, "
                             f"{get_aval(x).str_short()}, is {state} along none. Got {out_sharding}. Use reshard on the result.")
        if wanted != found:
            raise ValueError(f"{name}: out_sharding passed to {name} must be {state} over the same mesh axes as operand. Got out_sharding: "
                             f"{spec} and operand type: {get_aval(x).str_short()}. Use reshard before or after.")


def check_not_split(x: Any, axes: Sequence[int], message: str) -> None:
    """Raises ShardingTypeError with a message if an array is split over explicit mesh axes along some of its axes.

    While it is resolved how results are split, nothing is refused.
    """
    split = get_aval(x)._split
    if split is not None and any(split.spec.partitions[axis] is not None for axis in axes) and not explicit_axes.is_resolving.value:
        raise ShardingTypeError(f"{message} Got {get_aval(x).str_short()}. Use reshard on it first.")


def entries_asked_for(out_sharding: Any, ndim: int) -> tuple:
    """Per axis of a result of a rank the mesh axes that a user's `out_sharding` splits it over."""
    entries = getattr(out_sharding, "spec", out_sharding).partitions
    return (*entries, *[None] * (ndim - len(entries)))
