"""`shard_map` and `smap`: every device of a mesh runs a function on its own parts of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence, Set
from functools import partial
from typing import Any

import laminax_runtime as runtime
from laminax_ir.ops.shard_map import bind_shard_map, local_aval
from laminax_ir.options.config import remove_size_one_mesh_axis_from_type
from laminax_ir.pytrees.pytree import (
    PyTreeDef,
    broadcast_over,
    keystr,
    leaf_paths,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)
from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.tracing.manual_axes import manual_axes, manual_mesh, running_along
from laminax_ir.tracing.trace import Tracer
from laminax_ir.tracing.tracebacks import api_boundary
from laminax_ir.types.abstract_meshes import AbstractMesh
from laminax_ir.types.arguments import check_callable, check_hashable
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_ir.types.ref_types import AbstractRef
from laminax_ir.types.type_shardings import names_of

from laminax._src.compiling.tracing import Call, TracedFunction, argument_avals, function_name, trace_cache
from laminax._src.parallel.values_per_device import Devices, Recorder
from laminax._src.placement.partitioning import committed_sharding


class _Infer:
    """The type of the default of in_specs: the specs are those in the types of the arguments, over explicit axes."""

    def __repr__(self) -> str:
        return "Infer"


INFER = _Infer()


def shard_map(f: Callable | None = None, /, *, out_specs: Any, in_specs: Any = INFER, mesh: runtime.Mesh | AbstractMesh | None = None,
              axis_names: Set[Hashable] = frozenset(), check_vma: bool = True) -> Any:
    """Maps a function over the parts of arrays that the devices of a mesh hold.

    Each device runs the function on its own parts; inside, collectives such as `lax.psum` communicate over the mesh axes by
    name. It can be called inside of jit and outside. Outside, the function may ask for values: printing one shows what each device has,
    and one that all devices have may decide what is done, `if total > 0`. A function that does so is called each time, and its operations
    run one by one; one that does not is traced once, as under jit.

    Args:
      f: function of arrays and pytrees of them, the parts. May be left out, to give options in a decorator.
      out_specs: a `PartitionSpec`, or a pytree of them that is a prefix of the result: along which mesh axes the parts of the
        results are put together. Along an axis that is not named, the result must be the same on every device.
      in_specs: likewise, for the tuple of positional arguments: how they are split. By default the specs in the types of the
        arguments, if all axes that the function runs along are explicit. An argument with None in the place of a spec reaches the
        function as it is, be it an array or any other object.
      mesh: the mesh; by default that of the shard_map around this one, or the one that is set. An abstract mesh means the mesh of
        the arguments' `NamedSharding`s.
      axis_names: the mesh axes along which the function runs; over the others the compiler splits what it likes. By default
        all.
      check_vma: whether types record along which axes values vary. Then out_specs are checked against the types, and inside
        of the function the gradient of a value that does not vary is a sum over the devices.

    Returns:
      The function of whole arrays.

    Raises:
      TypeError: if `f` is not callable or a spec is no `PartitionSpec`.
      ValueError: if specs do not match the arguments or the result, name axes that the function does not run along, do not
        divide an array, or claim that a result is the same along an axis where it may vary.

    Example:
      >>> @shard_map(mesh=mesh, in_specs=PartitionSpec("x"), out_specs=PartitionSpec())
      ... def total(x):
      ...     return lax.psum(x.sum(), "x")
    """
    if f is None:
        return partial(shard_map, out_specs=out_specs, in_specs=in_specs, mesh=mesh, axis_names=axis_names, check_vma=check_vma)
    check_callable("shard_map", f)
    if in_specs is not INFER:
        _check_specs("in_specs", in_specs)
    _check_specs("out_specs", out_specs)
    if mesh is not None and not isinstance(mesh, (runtime.Mesh, AbstractMesh)):
        raise TypeError(f"shard_map requires a `laminax.sharding.Mesh` or a `laminax.sharding.AbstractMesh` instance for mesh, but "
                        f"got {mesh!r} of type {type(mesh).__name__}. Make one with make_mesh.")
    title = f"shard_map applied to the function {function_name(f)!r}"
    in_specs = tuple(in_specs) if isinstance(in_specs, list) else in_specs

    @api_boundary
    @wraps(f)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError(f"{title}: keyword arguments are not supported; got {', '.join(kwargs)}. Pass them by position.")
        chosen, names = _mesh_and_axes(title, _with_devices(mesh, args) if isinstance(mesh, AbstractMesh) else mesh, axis_names)
        given = _specs_of_types(args, names, chosen) if in_specs is INFER else in_specs
        specs = _matched(title, "in_specs", given, tree_structure(args), "the tuple of arguments", is_leaf=_is_none)
        if None in specs:
            of_parts, parts = _with_whole_arguments(f, args, specs)
            return shard_map(of_parts, out_specs=out_specs, in_specs=tuple(s for s in specs if s is not None), mesh=mesh,
                             axis_names=axis_names, check_vma=check_vma)(*parts)
        call = Call(args, {}, (), ())
        _check_names(title, "in_specs", specs, names)
        avals = argument_avals("shard_map", f, call)
        namer = call.namer(f)
        _check_types(title, avals, specs, chosen, names, namer)
        parts = [_part(title, partial(namer, i), aval, spec, chosen, names, check_vma) for i, (aval, spec) in enumerate(zip(avals, specs))]
        recorder = _recorder(title, call, specs, Devices(chosen, names, check_vma))
        with running_along([(name, chosen.shape[name]) for name in names], check_vma, chosen):  # which is part of the key
            traced = trace_cache.lookup(f, call, parts, "shard_map", trace_cache.entries_of_mapped(f, "shard_map"), recorder)
        results = _matched(title, "out_specs", out_specs, traced.out_tree, "the result")
        _check_names(title, "out_specs", results, names)
        _check_results(title, traced, results, names, check_vma)
        operands, split = (recorder.operands, recorder.specs) if recorder and recorder.has_run else (call.leaves, specs)
        outs = bind_shard_map(traced.closed, *operands, mesh=chosen, in_specs=split, out_specs=results, manual_axes=names,
                              check_vma=check_vma)
        return tree_unflatten(traced.out_tree, [*map(_with_spec_as_given, outs, results)])

    return mapped


def _with_spec_as_given(out: Any, spec: PartitionSpec) -> Any:
    """A result that is an array, with a sharding that is equal to one of the spec that the user wrote, where that means the same: a spec
    may be shorter than the shape of the array, and programs give results specs of their own length."""
    found = getattr(out, "sharding", None) if isinstance(out, runtime.ArrayImpl) else None
    if not isinstance(found, runtime.NamedSharding) or found.spec == spec:
        return out
    written, of_program = (s.update(partitions=(*s.partitions, *(None,) * (out.ndim - len(s)))) for s in (spec, found.spec))
    return runtime.device_put(out, found.update(spec=spec)) if written == of_program else out


def smap(f: Callable | None = None, /, *, in_axes: Any = INFER, out_axes: Any, axis_name: Hashable) -> Any:
    """Maps a function over the parts of arrays along one axis of the mesh that is set: `shard_map` in the words of `vmap`.

    Args:
      f: function of arrays and pytrees of them, the parts. May be left out, to give options in a decorator.
      in_axes: for each positional argument the array axis that is split over the mesh axis, None for an argument that each
        device gets whole, or a pytree of these that is a prefix of the argument. By default the types of the arguments say it,
        over an explicit mesh axis.
      out_axes: likewise, for the result: along which array axis the parts are put together. None is for a result that is the
        same on all devices.
      axis_name: the axis of the mesh. Over the others the compiler splits what it likes.

    Returns:
      The function of whole arrays.

    Raises:
      TypeError: if `f` is not callable, in_axes is left out where the mesh axis is not explicit, or an axis is neither an int nor None.
      ValueError: if an axis is negative, and as for `shard_map`.

    Example:
      >>> with set_mesh(make_mesh((4,), ("data",), AxisType.Auto)):
      ...     total = smap(lambda x: lax.psum(x.sum(), "data"), in_axes=0, out_axes=None, axis_name="data")(jnp.arange(8.0))
    """
    if f is None:
        return partial(smap, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name)
    check_callable("smap", f)
    mesh = manual_mesh.value or runtime.current_mesh()
    if in_axes is INFER and (mesh is None or axis_name not in mesh.explicit_axes):
        raise TypeError(f"smap: in_axes was not specified, and the mesh axis {axis_name!r} is of type Auto: types of values do not tell "
                        "how they are split over it. Give in_axes=...")
    in_specs, out_specs = (axes if axes is INFER else tree_map(partial(_spec_of_axis, name, axis_name), axes, is_leaf=_is_none)
                           for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)))
    return shard_map(f, in_specs=in_specs, out_specs=out_specs, axis_names={axis_name})


def _spec_of_axis(name: str, axis_name: Hashable, axis: Any) -> PartitionSpec:
    if axis is None:
        return PartitionSpec()
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise TypeError(f"smap: {name} must be an int, None, or a pytree of these, got {axis!r} of type {type(axis).__name__}")
    if axis < 0:
        raise ValueError(f"smap: {name} must not be negative, got {axis}. Count from the front.")
    return PartitionSpec(*[None] * axis, axis_name)


def _check_specs(name: str, specs: Any) -> None:
    for leaf in tree_leaves(specs):
        if not isinstance(leaf, PartitionSpec):
            raise TypeError(f"shard_map: {name} must be a PartitionSpec or a pytree of them, got {leaf!r} of type {type(leaf).__name__}")


def _specs_of_types(args: tuple, names: Sequence[Hashable], mesh: Any) -> tuple:
    """The specs of the arguments by their types, along the axes that the function runs along.

    Raises:
      TypeError: if these axes are not all explicit.
    """
    if others := [name for name in names if name not in mesh.explicit_axes]:
        raise TypeError(f"shard_map: in_specs must be given, a PartitionSpec or a pytree of them: the axis {others[0]!r} of {mesh} is of "
                        "type Auto, and types say how values are split over Explicit axes only.")

    def spec_of(x: Any) -> PartitionSpec:
        split, own = _in_reference(get_aval(x))._split, frozenset(names)
        if split is None:
            return PartitionSpec()
        return PartitionSpec(*[tuple(n for n in names_of(entry) if n in own) for entry in split.spec],
                             unreduced=split.spec.unreduced & own, reduced=split.spec.reduced & own)
    return tree_map(spec_of, args)


def _in_reference(aval: Any) -> ShapedArray:
    """The type of the array in a reference; any other type as it is."""
    return aval.inner_aval if isinstance(aval, AbstractRef) else aval


def _is_none(x: Any) -> bool:
    return x is None


def _with_whole_arguments(f: Callable, args: tuple, specs: Sequence[PartitionSpec | None]) -> tuple[Callable, list[Any]]:
    """The function of only the leaves that have a spec, which closes over the other leaves; and the leaves with a spec."""
    leaves, tree = tree_flatten(args, is_leaf=_is_none)
    by_position = {i: leaf for i, (leaf, spec) in enumerate(zip(leaves, specs)) if spec is None}

    def of_parts(*parts: Any) -> Any:
        remaining = iter(parts)
        return f(*tree_unflatten(tree, [by_position[i] if i in by_position else next(remaining) for i in range(len(leaves))]))

    of_parts.__name__ = of_parts.__qualname__ = function_name(f)
    return of_parts, [leaf for i, leaf in enumerate(leaves) if i not in by_position]


def _mesh_and_axes(title: str, mesh: Any, axis_names: Set[Hashable]) -> tuple[Any, tuple]:
    """The mesh, and the axes along which the function runs, in the mesh's order."""
    mesh = manual_mesh.value or runtime.current_mesh() if mesh is None else mesh
    if mesh is None:
        raise ValueError(f"{title}: no mesh is given, and none is set. The context mesh cannot be empty then. "
                         "Give mesh=..., or set one with set_mesh(mesh).")
    if mesh.empty:
        raise ValueError(f"{title}: shard_map requires a non-empty mesh, got {mesh}. Give one with axes.")
    current = runtime.current_mesh()
    if isinstance(mesh, AbstractMesh) and not manual_axes.value and current is not None and current.abstract_mesh == mesh:
        mesh = current
    taken = {name for name, _, _ in manual_axes.value}
    check_hashable(title, "a name in axis_names", *axis_names)
    if unknown := set(axis_names) - set(mesh.axis_names):
        raise ValueError(f"{title}: axis_names={set(axis_names)} are not all axes of {mesh}: {sorted(unknown, key=str)} are not")
    if again := set(axis_names) & taken:
        raise ValueError(f"{title}: the function around this one runs along {sorted(again, key=str)} already. Leave them out of "
                         "axis_names.")
    return mesh, tuple(name for name in mesh.axis_names if (name in axis_names if axis_names else name not in taken))


def _with_devices(mesh: AbstractMesh, args: tuple) -> runtime.Mesh | AbstractMesh:
    """The mesh of the arguments, which has these axes; if there is none, the placement of the program finds the mesh.

    Raises:
      ValueError: if an argument is on a mesh with other axes.
    """
    found = None
    for leaf in tree_leaves(args):
        sharding = committed_sharding(leaf.concrete_value() if isinstance(leaf, Tracer) else leaf)
        if not isinstance(sharding, runtime.NamedSharding):
            continue
        if sharding.mesh.shape_tuple != mesh.shape_tuple:
            raise ValueError(f"Mesh shape of the input {dict(sharding.mesh.shape)} does not match the mesh shape passed to shard_map "
                             f"{dict(mesh.shape)}. Use device_put to bring the argument, {get_aval(leaf).str_short()}, to the mesh.")
        found = found or sharding.mesh
    return found or mesh


def _matched(title: str, name: str, specs: Any, full: PyTreeDef, what: str, is_leaf: Callable | None = None) -> list[Any]:
    try:
        return broadcast_over(specs, full, is_leaf, name=f"shard_map {name}", prefix_name=f"shard_map {name}", full_name=what)
    except ValueError as error:
        raise ValueError(f"{title}: {name} must be a PartitionSpec, or a pytree of them that is a prefix of {what}: {error}") from None


def _check_names(title: str, what: str, specs: Sequence[PartitionSpec], names: tuple) -> None:
    for spec in specs:
        if unknown := [name for name in spec.names() if name not in names]:
            raise ValueError(f"{title}: {what} refers to {unknown[0]!r}, in {spec}, which is not an axis that the function runs along. "
                             f"These are {names}.")
        for state, found in (("unreduced", spec.unreduced), ("reduced", spec.reduced)):
            if unknown := sorted(found.difference(names), key=str):
                raise ValueError(f"{title}: {state} in {what} {spec} can only be used when the mesh passed to shard_map contains axis "
                                 f"names of type `Manual`: the function does not run along {unknown[0]!r}, but along {names}.")


def _check_types(title: str, avals: Sequence[ShapedArray], specs: Sequence[PartitionSpec], mesh: Any, names: tuple,
                 namer: Callable[[int], str]) -> None:
    """Checks that arguments over a mesh of explicit axes alone are split as in_specs say: shard_map does not reshard them.

    Sums that are open must be those of in_specs over any mesh.

    Raises:
      ValueError: if an argument is split otherwise, or other sums are open in it, or types cannot say so.
      NotImplementedError: if types cannot say that sums are open, for a function that runs along some of the axes.
    """
    for i, (aval, spec) in enumerate(zip(avals, specs)):
        for state, sums in (("unreduced", spec.unreduced), ("reduced", spec.reduced)):
            if sums and (others := [name for name in names if name not in mesh.explicit_axes]):
                if set(names) != set(mesh.axis_names):
                    raise NotImplementedError(f"{title}: {state} in in_specs {spec} can only be passed to in_specs when shard_map is in "
                                              f"full manual mode, over axes of type `Explicit`; {others} of {mesh} are not. Leave "
                                              "axis_names out, and make the axes Explicit.")
                raise ValueError(f"{title}: {state} in in_specs {spec} can only be used when the mesh passed to shard_map contains "
                                 f"axis names all of type `Explicit`; {others} of {mesh} are not.")
            have = frozenset() if aval._split is None else getattr(aval._split.spec, state).intersection(names)
            if have != sums:
                raise ValueError(f"{title}: in_specs containing {state} {spec} passed to shard_map should be equal to the {state} present "
                                 f"on the in_aval {aval.str_short()}, of {namer(i)}. `reshard` makes sums, or says that they are open.")
    if set(names) != set(mesh.axis_names) or set(names) != set(mesh.explicit_axes):
        return
    left_out = _left_out(mesh, names)
    for i, (aval, spec) in enumerate(zip(map(_in_reference, avals), specs)):
        found = PartitionSpec(*[None] * aval.ndim) if aval._split is None else aval._split.spec
        wanted = spec.update(partitions=(*spec.partitions, *[None] * (aval.ndim - len(spec))))
        if found != wanted and _names_by_axis(found, left_out) != _names_by_axis(wanted, left_out):
            raise ValueError(f"{title}: in_specs passed to shard_map: {wanted} does not match the specs of the input: {found} for arg: "
                             f"{namer(i)}, {aval.str_short()}. `in_specs` is an optional argument so you can omit specifying it and "
                             "shard_map will infer the in_specs from the arguments. If you want to reshard your inputs, you can use "
                             "`laminax.reshard` on the arguments and then pass those args to shard_map.")


def _left_out(mesh: Any, names: tuple) -> frozenset:
    """The axes that types leave out."""
    return frozenset(name for name in names if mesh.shape[name] == 1) if remove_size_one_mesh_axis_from_type.value else frozenset()


def _names_by_axis(spec: PartitionSpec, left_out: frozenset) -> list[tuple]:
    return [tuple(name for name in names_of(entry) if name not in left_out) for entry in spec]


def _recorder(title: str, call: Call, specs: Sequence[PartitionSpec], devices: Devices) -> Recorder | None:
    """What makes the trace of a call outside of jit; None inside, where no values are known."""
    if not isinstance(devices.mesh, runtime.Mesh):
        return None
    recorder = Recorder(shard_map, devices, call.leaves, specs,
                        lambda aval, spec: _part(title, lambda: "a result", aval, spec, devices.mesh, devices.names, devices.check_vma))
    return recorder if recorder.has_values else None


def _part(title: str, argument: Callable[[], str], aval: ShapedArray, spec: PartitionSpec, mesh: Any, names: tuple,
          check_vma: bool) -> ShapedArray:
    """The type of a device's part, with the axes along which it varies."""
    try:
        part = local_aval(aval, spec, mesh, names, check_vma)
    except ValueError as error:
        raise ValueError(f"{title}: {argument()}, {error}") from None
    if not check_vma:
        return part
    left_out = _left_out(mesh, names)
    return part.update(named_shape={**part.named_shape, **{name: mesh.shape[name] for name in spec.names() if name not in left_out}})


def _check_results(title: str, traced: TracedFunction, specs: Sequence[PartitionSpec], names: tuple, check_vma: bool) -> None:
    """Checks that each spec has at most as many entries as its result has axes, and names all mesh axes along which the result varies."""
    for path, aval, spec in zip(leaf_paths(traced.out_tree), traced.closed.out_avals, specs):
        what = f"{title}: the result{keystr(path)}, {aval.update(named_shape={}).str_short()} per device,"
        if len(spec) > aval.ndim:
            raise ValueError(f"{what} which has rank {aval.ndim}, cannot be put together as {spec}, which has length {len(spec)}. Shorten "
                             "the spec, or give the result more axes.")
        for state in ("unreduced", "reduced") if check_vma else ():
            if (found := getattr(aval.mat, state).intersection(names)) != getattr(spec, state):
                raise ValueError(f"{what} and out_specs do not fit: out_specs passed to shard_map should be equal to the {state} present "
                                 f"on the out_aval. Got out_specs={spec} and out_aval={aval.str_short()}, which is {state} along "
                                 f"{_braced(found, names)}. Change out_specs, or use lax.psum or lax.pcast on the result.")
        varying = [name for name in names if name in aval.named_shape and name not in set(spec.names())]
        if check_vma and varying:
            raise ValueError(f"{what} may vary along the mesh axes {tuple(varying)}, and its out_specs {spec} says that it does not: "
                             "they require replication which can't be statically inferred.\n"
                             f"out_specs is {spec} which implies that the corresponding output value is only varying across mesh axes "
                             f"{_braced(set(spec.names()), names)} and not {_braced(varying, names)}, but it was inferred to be possibly "
                             f"varying over {_braced(aval.named_shape, names)}.\nName the axes in out_specs, sum over them with lax.psum, "
                             "or switch the check off with check_vma=False.")


def _braced(chosen: Any, names: tuple) -> str:
    return "{" + ",".join(str(name) for name in names if name in chosen) + "}"
