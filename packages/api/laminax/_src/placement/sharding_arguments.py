"""The in_shardings and out_shardings of jit: checked when the function is made, matched with arguments and results when it is called.

A leaf is a sharding, a partition spec of the mesh that is set, or None. Shardings that are left out are those of the arguments, or the
compiler's choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import laminax_runtime as runtime
from laminax_ir.ops.sharding import sharding_constraint_p
from laminax_ir.options.records import Record
from laminax_ir.pytrees.pytree import PyTreeDef, broadcast_over, structure_errors, tree_flatten, tree_unflatten
from laminax_ir.tracing.manual_axes import mesh_of_shard_map
from laminax_ir.types.array_layouts import AUTO, Format, Layout
from laminax_ir.types.avals import get_aval
from laminax_ir.types.partition_specs import UNCONSTRAINED, PartitionSpec

from laminax._src.placement.layouts import constrain_layout, sharding_of


class _Unspecified:
    """The type of the default of in_shardings and out_shardings."""

    def __repr__(self) -> str:
        return "UnspecifiedValue"


UNSPECIFIED = _Unspecified()


class ShardingTree(Record):
    """A pytree of shardings, hashable: the leaves and their structure."""
    leaves: tuple
    tree: PyTreeDef

    def unflatten(self) -> Any:
        """The pytree of shardings."""
        return tree_unflatten(self.tree, self.leaves)


def normal_tree(name: str, shardings: Any) -> ShardingTree | None:
    """The pytree given as `in_shardings` or `out_shardings`; None if no sharding was given.

    Raises:
      TypeError: if a leaf is no sharding, partition spec or None.
    """
    if shardings is UNSPECIFIED:
        return None
    if isinstance(shardings, list):  # as JAX takes a list for several arguments or results
        shardings = tuple(shardings) if name == "in_shardings" else shardings
    leaves, tree = tree_flatten(shardings, is_leaf=_is_none)
    for leaf in leaves:
        if leaf is AUTO or isinstance(leaf, Layout):
            raise ValueError("jit: `jax.jit` does not accept device-local layouts directly. Create a `Format` instance wrapping this "
                             f"device-local layout and pass that to `jit` instead. Got {leaf} in {name}.")
        if leaf is not None and leaf is not UNSPECIFIED and not isinstance(leaf, (runtime.Sharding, PartitionSpec, Format)):
            raise TypeError(f"jit: {name} leaf specifications are expected to be PartitionSpec instances or None, but got {leaf} of type "
                            f"{type(leaf).__name__}. Shardings serve too.")
        if isinstance(sharding_of(leaf), runtime.NamedSharding) and sharding_of(leaf).mesh.empty:
            raise ValueError(f"jit: {name} got an empty NamedSharding: {leaf}. Its mesh has no devices and no axes; give a sharding over a "
                             "mesh that has, or leave the sharding out.")
        spec = leaf if isinstance(leaf, PartitionSpec) else getattr(sharding_of(leaf), "spec", ())
        if UNCONSTRAINED in spec:
            raise ValueError(f"jit: Unconstrained dims are not allowed when passed to {name}, got {leaf}. Use None there for an axis that "
                             "is whole, or with_sharding_constraint inside of the function.")
    return None if all(leaf is UNSPECIFIED for leaf in leaves) else ShardingTree(tuple(leaves), tree)


def _is_none(x: Any) -> bool:
    return x is None


_LEAF = tree_flatten(0)[1]  # the structure of one sharding for everything


def for_arguments(given: ShardingTree | None, title: str, in_tree: PyTreeDef, mesh: runtime.Mesh | None,
                  is_none_whole: bool) -> list[Any] | None:
    """One sharding or None per leaf of the arguments, over the mesh; with `is_none_whole`, None is a copy on each device of the mesh.

    Raises:
      ValueError: if the tree is no prefix of the positional arguments, or there are keyword arguments and it is more than one None.
      RuntimeError: for partition specs if no mesh is set.
    """
    if given is None:
        return None
    args, kwargs = in_tree.children()
    if given.leaves == (None,) and given.tree == _LEAF:
        return _matched(given, "in_shardings", title, in_tree, "the arguments", mesh, is_none_whole)
    _, keywords = kwargs.node_data() or (dict, ())
    if keywords:
        raise ValueError(f"{title}: pjit does not support kwargs when in_shardings is specified. Keyword arguments cannot be given "
                         f"together with it; got {', '.join(keywords)}. Pass them by position.")
    return _matched(given, "in_shardings", title, args, "the tuple of positional arguments", mesh, is_none_whole)


def for_results(given: ShardingTree | None, title: str, out_tree: PyTreeDef, mesh: runtime.Mesh | None,
                is_none_whole: bool) -> list[Any] | None:
    """One sharding or None per leaf of the result; errors as for `for_arguments`."""
    if given is None:
        return None
    return _matched(given, "out_shardings", title, out_tree, "the result", mesh, is_none_whole)


def _matched(given: ShardingTree, name: str, title: str, full: PyTreeDef, what: str, mesh: runtime.Mesh | None,
             is_none_whole: bool) -> list[Any]:
    if given.tree == _LEAF:
        flat = [given.leaves[0]] * full.num_leaves
    else:
        shardings = given.unflatten()
        if name == "in_shardings":
            _check_one_each(title, shardings, len(full.children()))
        try:
            flat = broadcast_over(shardings, full, _is_none)
        except ValueError:
            differences = [str(error(title, f"pjit {name}", what)) for error in structure_errors(given.tree, full)]
            raise ValueError(f"{title}: {name} must be one sharding, or a pytree of them that is a prefix of {what}. Mismatch details "
                             f"({len(differences)} found):\n" + "\n".join(differences)) from None
    whole = runtime.NamedSharding(mesh, PartitionSpec()) if is_none_whole and mesh is not None else None
    return [whole if leaf is None else resolve(leaf, f"{title}: {name}", mesh) for leaf in flat]


def _check_one_each(title: str, shardings: Any, count: int) -> None:
    """Raises ValueError unless the shardings are a tuple as long as the tuple of positional arguments."""
    if type(shardings) is not tuple:
        wrong = ("in_shardings is not a tuple, and might need to be wrapped in one of length 1" if count == 1
                 else f"in_shardings is a {type(shardings).__name__}, not a tuple")
    elif len(shardings) != count:
        wrong = (f"But pjit in_shardings is the wrong length: got a tuple or list of length {len(shardings)} for an args tuple of length "
                 f"{count}")
    else:
        return
    raise ValueError(f"{title}: pjit in_shardings specification must be a tree prefix of the positional arguments tuple. In particular, "
                     "pjit in_shardings must either be a Sharding, a PartitionSpec, or a tuple of length equal to the number of positional "
                     f"arguments. {wrong}.")


def resolve(leaf: Any, title: str, mesh: runtime.Mesh | None) -> runtime.Sharding | Format | None:
    """The sharding that a leaf means under a mesh; for a `Format`, a format with that sharding.

    Raises:
      RuntimeError: for a partition spec if there is no mesh.
      ValueError: for one that does not go with the mesh, and for a sharding over an abstract mesh that is not that of the mesh that is set.
    """
    if isinstance(leaf, Format):
        return Format(leaf.layout, leaf.sharding and resolve(leaf.sharding, title, mesh))
    if leaf is UNSPECIFIED:
        return None
    if isinstance(leaf, runtime.Sharding):
        return leaf if leaf._is_concrete else _with_devices(leaf, mesh, title)
    if mesh is None:
        function = title.partition(":")[0].partition("(")[0]
        raise RuntimeError(f"{title} holds the partition spec {leaf}, which needs a mesh: {function} requires a non-empty mesh in context. "
                           "Set one with set_mesh(mesh), or give NamedSharding(mesh, spec).")
    try:
        return runtime.NamedSharding(mesh, leaf)
    except ValueError as error:  # the user wrote no NamedSharding
        raise ValueError(f"{title}: {str(error).replace('NamedSharding spec', title.rpartition(' ')[2])}") from None


def _with_devices(sharding: runtime.NamedSharding, mesh: runtime.Mesh | None, title: str) -> runtime.NamedSharding:
    """A sharding over an abstract mesh, put on the devices of the mesh that is set; without one `place` looks for devices."""
    if mesh is None:
        return sharding
    if mesh.shape_tuple != sharding.mesh.shape_tuple:
        raise ValueError(f"{title} holds a sharding over {sharding.mesh}, which has no devices, and the mesh that is set is {mesh}. Set "
                         "a mesh of devices with the same axes with set_mesh(mesh).")
    return runtime.NamedSharding(mesh, sharding.spec)


def constrain(values: Sequence[Any], shardings: Sequence[runtime.Sharding | None] | None, title: str,
              name: Callable[[int], str]) -> list[Any]:
    """The values, constrained in the current trace to the given shardings.

    Raises:
      ValueError: if an axis does not divide.
    """
    if shardings is None:
        return list(values)
    found = []
    for i, (x, where) in enumerate(zip(values, shardings)):
        if (sharding := sharding_of(where)) is not None:
            x = bind_constraint(x, sharding, title, name(i), f"{title} with pytree key path {name(i)}")
        found.append(constrain_layout(x, where.layout) if isinstance(where, Format) and isinstance(where.layout, Layout) else x)
    return found


def bind_constraint(x: Any, sharding: runtime.Sharding, title: str, name: str, what: str, *, may_be_padded: bool = False) -> Any:
    """The value under a sharding constraint; `title`, `name` and `what` are for errors."""
    aval = get_aval(x)
    if reason := runtime.misfit(sharding, aval.shape, what, may_be_padded=may_be_padded):
        raise ValueError(f"{title}: {name}, {aval.str_short()}, {reason}")
    _check_not_manual(sharding, title, name)
    return sharding_constraint_p.bind(x, sharding=sharding)


def _check_not_manual(sharding: runtime.Sharding, title: str, name: str) -> None:
    """Refuses mesh axes along which the shard_map around runs: along these each device has its part already."""
    if (inside := mesh_of_shard_map()) is None or not isinstance(sharding, runtime.NamedSharding):
        return
    if names := [n for n in sharding.spec.names() if n in inside.manual_axes]:
        raise ValueError(f"{title}: the sharding of {name}, {sharding.spec}, contains a manual axes entry, {names[0]!r}, which is an axis "
                         f"of mesh {inside} that the shard_map around this call runs along. Leave it out, or out of shard_map's "
                         "axis_names.")
