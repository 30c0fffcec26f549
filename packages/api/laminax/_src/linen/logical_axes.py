"""Logical names of axes, "embed" or "heads", which rules map to axes of a mesh: a model says what axes are, its user how to split them."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import enum
import functools
import threading
from typing import Any, Callable, Iterator, Sequence

from laminax_ir.pytrees.pytree import tree_map
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_runtime import NamedSharding

from laminax._src.linen.partitioning import Partitioned, mesh_is_set, register_box
from laminax._src.parallel.sharding_constraints import with_sharding_constraint

Rules = Sequence[tuple[str, Any]]  # for a logical name the mesh axis, several, or None; those that come first win


class _Current(threading.local):
    rules: Rules = ()


_current = _Current()


def set_logical_axis_rules(rules: Rules) -> None:
    """Sets the rules of this thread.

    Args:
      rules: pairs of a logical name and a mesh axis, several, or None for an axis that is not split. A name may have several rules:
        the first whose mesh axes no other axis of the value has taken is used.

    Example:
      >>> from laminax import linen as nn
      >>> with nn.logical_axis_rules((("batch", "data"), ("embed", None), ("hidden", "model"))):
      ...     nn.logical_to_mesh_axes(("batch", "hidden"))
      P('data', 'model')
    """
    _current.rules = rules


def get_logical_axis_rules() -> Rules:
    """The rules of this thread."""
    return _current.rules


@contextlib.contextmanager
def logical_axis_rules(rules: Rules) -> Iterator[None]:
    """A context in which other rules are set."""
    before = _current.rules
    _current.rules = rules
    try:
        yield
    finally:
        _current.rules = before


class RulesFallback(enum.Enum):
    """What becomes of an axis without a rule in `with_logical_constraint`: it is not split, it is an error, or it is left open."""
    AXIS_IS_UNSHARDED = "axis_is_unsharded"
    RAISE_ERROR = "raise_error"
    NO_CONSTRAINT = "no_constraint"


_UNASSIGNED = object()


def _assigned(names: Sequence[Any], rules: Rules | None) -> list[Any]:
    """The mesh axes of each axis; `_UNASSIGNED` where no rule says one."""
    special = (None, PartitionSpec.UNCONSTRAINED)
    doubled = [name for name, count in collections.Counter(name for name in names if name not in special).items() if count > 1]
    if doubled:
        raise ValueError(f"logical names {doubled} occur more than once in {tuple(names)}. Give each axis a name of its own.")
    result = [name if name in special else _UNASSIGNED for name in names]
    for name, mesh_axes in (_current.rules if rules is None else rules):
        if name not in names or result[i := list(names).index(name)] is not _UNASSIGNED:
            continue
        if not isinstance(mesh_axes, (str, tuple)) or not _axes_in(result) & _axes_in([mesh_axes]):
            result[i] = mesh_axes
    return result


def _axes_in(specs: Sequence[Any]) -> set[str]:
    return {axis for spec in specs for axis in ((spec,) if isinstance(spec, str) else spec if isinstance(spec, tuple) else ())}


def logical_to_mesh_axes(array_dim_names: Sequence[str | None] | None, rules: Rules | None = None) -> PartitionSpec | None:
    """The partition spec of a value whose axes have these logical names, None where no rule says how to split one.

    Args:
      array_dim_names: for each axis its logical name or None; or None as a whole.
      rules: the rules; by default those of this thread.

    Raises:
      ValueError: a name occurs twice.
    """
    if array_dim_names is None:
        return None
    return PartitionSpec(*(None if axes is _UNASSIGNED else axes for axes in _assigned(array_dim_names, rules)))


def logical_to_mesh(tree: Any, rules: Rules | None = None) -> Any:
    """The tree with specs of mesh axes in place of specs of logical names."""
    return tree_map(lambda spec: logical_to_mesh_axes(spec, rules), tree, is_leaf=lambda x: isinstance(x, PartitionSpec))


def logical_to_mesh_sharding(tree: Any, mesh: Any, rules: Rules | None = None) -> Any:
    """The tree with shardings over the mesh in place of specs of logical names."""
    return tree_map(lambda spec: NamedSharding(mesh, spec), logical_to_mesh(tree, rules), is_leaf=lambda x: isinstance(x, PartitionSpec))


def with_logical_constraint(
    x: Any, logical_axis_resources: Any, rules: Rules | None = None, mesh: Any = None,
    fallback: RulesFallback = RulesFallback.AXIS_IS_UNSHARDED,
) -> Any:
    """Has values split over the mesh as the rules say. Without rules, or without a mesh, they stay as they are.

    Args:
      x: a tree of arrays.
      logical_axis_resources: for each array the logical names of its axes.
      rules: the rules; by default those of this thread.
      mesh: the mesh; by default that which is set.
      fallback: what becomes of axes without a rule.

    Raises:
      ValueError: an axis has no rule, and `fallback` is RAISE_ERROR.
    """
    rules = _current.rules if rules is None else rules
    if not rules or logical_axis_resources is None or (mesh is None and not mesh_is_set()):
        return x

    def constrained(names: Any, value: Any) -> Any:
        axes = _assigned(names, rules)
        if _UNASSIGNED in axes and fallback is RulesFallback.RAISE_ERROR:
            name = names[axes.index(_UNASSIGNED)]
            raise ValueError(f"with_logical_constraint: axis {name!r} of {tuple(names)} has no rule among {rules}.")
        if _UNASSIGNED in axes and fallback is RulesFallback.NO_CONSTRAINT:
            return value
        spec = PartitionSpec(*(None if axis is _UNASSIGNED else axis for axis in axes))
        return with_sharding_constraint(value, spec if mesh is None else NamedSharding(mesh, spec))

    def is_names(names: Any) -> bool:
        return isinstance(names, (PartitionSpec, tuple)) and all(name is None or isinstance(name, (str, tuple)) for name in names)

    return tree_map(constrained, logical_axis_resources, x, is_leaf=is_names)


@dataclasses.dataclass(frozen=True)
class LogicallyPartitioned(Partitioned):
    """A value with the logical names of its axes.

    Attributes:
      value: the value.
      names: for each axis its logical name, or None.
      mesh: the mesh; None for that which is set.
      rules: the rules; None for those of the thread.
    """
    rules: Any = None

    def unbox(self, apply_constraint: bool = True) -> Any:
        """The value, split over the mesh as the rules say, if there are any."""
        if not apply_constraint:
            return self.value
        return with_logical_constraint(self.value, self.get_partition_spec(), rules=self.rules, mesh=self.mesh)


register_box(LogicallyPartitioned)


def with_logical_partitioning(
    fn: Callable[..., Any], names: tuple[Any, ...], mesh: Any = None, rules: Rules | None = None
) -> Callable[..., LogicallyPartitioned]:
    """An initializer whose values are boxed with the logical names of their axes.

    Args:
      fn: the initializer.
      names: for each axis its logical name, or None.
      mesh: the mesh; by default that which is set.
      rules: the rules; by default those of the thread.
    """
    @functools.wraps(fn)
    def boxed(*args: Any, **kwargs: Any) -> LogicallyPartitioned:
        return LogicallyPartitioned(fn(*args, **kwargs), names, mesh=mesh, rules=rules)
    return boxed
