"""Functions inside of which mesh axes are of type Auto or Explicit, whatever their types are around the call.

Source: JAX's documentation, "Explicit sharding (a.k.a. sharding in types)".
"""

from __future__ import annotations

from functools import partial
from typing import Any, Callable, Hashable, Sequence

import laminax_runtime as runtime
from laminax_ir.ops.sharding import reshard as reshard_value
from laminax_ir.pytrees.pytree import tree_leaves, tree_map
from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.tracing.explicit_axes import context_mesh
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.arguments import check_callable
from laminax_ir.types.avals import get_aval, is_array_like
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.type_shardings import TypeSharding, type_sharding

from laminax._src.parallel.sharding_constraints import reshard


def auto_axes(f: Callable | None = None, /, *, axes: Hashable | Sequence[Hashable] | None = None, out_sharding: Any = None) -> Callable:
    """Makes mesh axes Auto inside of a function: the compiler chooses how values are split over them.

    Args:
      f: the function; may be left out, to give the options in a decorator.
      axes: the name of a mesh axis, or several; all by default.
      out_sharding: how the results are split: a partition spec, a `NamedSharding`, or a pytree of them that is a prefix of the result.
        Left out, out_sharding is a keyword argument of each call.

    Returns:
      A function of the same arguments and results.

    Raises:
      TypeError: in a call, if out_sharding is given neither here nor to the call.
      ValueError: in a call, if there is no mesh, of the arguments or set by `set_mesh`, of which out_sharding could name axes.

    Example:
      >>> @auto_axes(out_sharding=PartitionSpec("data", None))
      ... def attend(q, k):
      ...     return nn.softmax(q @ k.T)
    """
    if f is None:
        return partial(auto_axes, axes=axes, out_sharding=out_sharding)
    check_callable("auto_axes", f)

    @api_boundary
    @wraps(f)
    def with_auto_axes(*args: Any, **kwargs: Any) -> Any:
        given = _sharding_for("auto_axes", "out_sharding", out_sharding, kwargs, "the results")
        if _found_mesh(args) is None and not any(list(spec.names()) for spec in map(_spec_of, tree_leaves(given, is_leaf=_is_spec))):
            return f(*args, **kwargs)  # there are no axes to leave to the compiler
        mesh = _mesh_around("auto_axes", args)
        inside = _with_axes("auto_axes", mesh, axes, AxisType.Auto)
        with runtime.use_abstract_mesh(inside):
            results = f(*[_on_mesh(arg, inside) for arg in args], **kwargs)
        with runtime.use_abstract_mesh(mesh):
            return reshard(results, given)

    return with_auto_axes


def _sharding_for(name: str, keyword: str, given: Any, kwargs: dict[str, Any], what: str) -> Any:
    """The sharding that was given to the transformation, or else to the call, whose keyword arguments lose it."""
    if given is not None:
        return given
    if keyword not in kwargs:
        raise TypeError(f"{name}: Missing required keyword argument: {keyword!r}. Give it to {name}, or to the call: it says how {what} "
                        "are split.")
    return kwargs.pop(keyword)


def explicit_axes(f: Callable | None = None, /, *, axes: Hashable | Sequence[Hashable] | None = None, in_sharding: Any = None) -> Callable:
    """Makes mesh axes explicit inside of a function: types say how values are split over them.

    Args:
      f: the function; may be left out, to give the options in a decorator.
      axes: the name of a mesh axis, or several; all by default.
      in_sharding: how the positional arguments are split: a partition spec, a `NamedSharding`, or a pytree of them that is a prefix of the
        tuple of arguments. Left out, in_sharding is a keyword argument of each call.

    Returns:
      A function of the same arguments and results.

    Raises:
      TypeError: in a call, if in_sharding is given neither here nor to the call.
      ValueError: in a call, if there is no mesh, of the arguments or set by `set_mesh`.

    Example:
      >>> @explicit_axes(in_sharding=PartitionSpec("data", None))
      ... def double(x):
      ...     return x * 2  # typeof(x) is float32[8@data,4]
    """
    if f is None:
        return partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    check_callable("explicit_axes", f)

    @api_boundary
    @wraps(f)
    def with_explicit_axes(*args: Any, **kwargs: Any) -> Any:
        given = _sharding_for("explicit_axes", "in_sharding", in_sharding, kwargs, "the arguments")
        mesh = _mesh_around("explicit_axes", args)
        inside = _with_axes("explicit_axes", mesh, axes, AxisType.Explicit)
        with runtime.use_abstract_mesh(inside):
            results = f(*reshard(args, given), **kwargs)
        with runtime.use_abstract_mesh(mesh):
            return _on_mesh(results, mesh)

    return with_explicit_axes


def _is_spec(x: Any) -> bool:
    return isinstance(x, PartitionSpec)


def _spec_of(sharding: Any) -> PartitionSpec:
    return sharding if isinstance(sharding, PartitionSpec) else getattr(sharding, "spec", PartitionSpec())


def _mesh_around(name: str, args: Any) -> AbstractMesh:
    """The mesh that is set, or else the mesh of the arguments."""
    mesh = _found_mesh(args)
    if mesh is None:
        raise ValueError(f"{name}: Context mesh cannot be empty: no mesh is set, and no argument is on one. Use laminax.set_mesh(mesh), or "
                         "pass arrays on a mesh.")
    return mesh


def _found_mesh(args: Any) -> AbstractMesh | None:
    mesh = context_mesh()
    if mesh is not None:
        return mesh
    for x in tree_leaves(args):
        if is_array_like(x) and (split := get_aval(x)._split) is not None:
            return split.mesh
        if isinstance(found := getattr(x, "sharding", None), runtime.NamedSharding) and not found.mesh.empty:
            return found.mesh.abstract_mesh
    return None


def _with_axes(name: str, mesh: AbstractMesh, axes: Any, kind: AxisType) -> AbstractMesh:
    names = mesh.axis_names if axes is None else tuple(axes) if isinstance(axes, (tuple, list, set, frozenset)) else (axes,)
    if unknown := [n for n in names if n not in mesh.axis_names]:
        raise ValueError(f"{name}: axes has {unknown[0]!r}, which is not an axis of the mesh {mesh}.")
    if manual := [n for n in names if n in mesh.manual_axes]:
        raise NotImplementedError(f"{name}: Going from `Manual` axes to `Auto` or `Explicit` ones is not supported: the function around "
                                  f"runs along {manual[0]!r} in a shard_map. Name other axes.")
    return mesh.update_axis_types(dict.fromkeys(names, kind))


def _on_mesh(tree: Any, mesh: AbstractMesh) -> Any:
    """The arrays of a pytree, with their specs over another mesh in their types."""
    def one(x: Any) -> Any:
        aval = get_aval(x)
        spec = PartitionSpec() if aval._split is None else aval._split.spec
        return reshard_value(x, type_sharding(TypeSharding(mesh, spec), aval.shape))
    return tree_map(one, tree)


__all__ = ["auto_axes", "explicit_axes"]
