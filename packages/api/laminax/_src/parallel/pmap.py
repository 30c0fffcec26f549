"""`pmap`: a function mapped over an array axis, each slice on a device of its own.

The mapped function is a program per device (`ops.shard_map`) over a mesh with one axis, which takes and returns whole arrays.
A pmap inside of another one splits the devices further: the mesh gets one more axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import laminax_runtime as runtime
from laminax_ir.ops.shape import expand_dims, squeeze
from laminax_ir.ops.shard_map import bind_shard_map, shard_map_p
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.pytrees.pytree import broadcast_over, tree_flatten, tree_leaves, tree_unflatten
from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.manual_axes import manual_axes, running_along
from laminax_ir.tracing.trace import is_tracing
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.arguments import as_int, check_callable, check_hashable
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.partition_specs import PartitionSpec
from laminax_runtime.backends import processes
from laminax_transforms.batching.named_axes import resolve_shared_sums

from laminax._src.base.argument_names import resolve
from laminax._src.compiling.jit import JitFunction
from laminax._src.compiling.jit_options import JitOptions
from laminax._src.compiling.tracing import Call, argument_avals, function_name, trace_cache, trace_call
from laminax._src.parallel.pmap_arrays import ProcessMeshes
from laminax._src.placement.partitioning import Partitioning

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike


def pmap(fun: Callable, axis_name: Hashable = None, *, in_axes: Any = 0, out_axes: Any = 0,
         static_broadcasted_argnums: int | Iterable[int] = (), devices: Sequence[runtime.Device] | None = None,
         backend: str | None = None, axis_size: int | None = None, donate_argnums: int | Iterable[int] = (),
         global_arg_shapes: None = None) -> Any:
    """Maps a function over an axis of arrays in parallel, each slice on a device of its own.

    It is like `vmap` in its result, and compiles the function like `jit`. Inside, collectives such as `lax.psum` communicate over
    the axis' name.

    In a program of several processes all of them call it, outside of other transformations, each with as many slices as it has devices, and
    each gets the results of these. Collectives are over the slices of all. Inside of `jit` and the like it maps over the devices of its own
    process only.

    Args:
      fun: function of arrays and pytrees of them: one slice of each mapped argument.
      axis_name: a name for the mapped axis.
      in_axes: for each positional argument the axis to map over: an int, None for an argument that each device gets whole, or
        a pytree of these that is a prefix of the argument. One int or None for all arguments. Keyword arguments are mapped
        over axis 0.
      out_axes: where the mapped axis appears in the results: an int, None for a result that is the same on all devices (that
        of the first is taken), or a pytree of these that is a prefix of the result.
      static_broadcasted_argnums: positions of arguments that are compile-time constants.
      devices: the devices to map over; by default the first ones of each process. Not for a pmap inside of another one.
      backend: the platform: "cpu", "gpu" or "tpu".
      axis_size: the size of the mapped axis, over all processes; by default that of the arguments.
      donate_argnums: positions of arguments whose buffers the computation may overwrite.
      global_arg_shapes: must be None; in older JAX the shapes of the arguments of `pmap(sharded_jit(f))`, which does not exist any more.

    Returns:
      The mapped function, with `lower` and `trace`.

    Raises:
      NotImplementedError: if `global_arg_shapes` is given.
      TypeError: if `fun` is not callable, or an axis is no int or None.
      ValueError: if the mapped sizes differ, no argument is mapped, or there are too few devices.

    Example:
      >>> pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(jnp.arange(4.0))
      Array([0.        , 0.16666667, 0.33333334, 0.5       ], dtype=float32)
    """
    check_callable("pmap", fun)
    if global_arg_shapes is not None:
        raise NotImplementedError(f"pmap: global_arg_shapes={global_arg_shapes!r} is not supported: it was for pmap(sharded_jit(f)), and "
                                  "there is no sharded_jit. Leave it out, and split arguments over more axes with jit or shard_map.")
    check_hashable("pmap", "axis_name", axis_name)
    check_hashable("pmap", "a device in devices", *(devices or ()))
    axis_size = None if axis_size is None else as_int("pmap", "axis_size", axis_size)
    _check_axes("in_axes", in_axes)
    _check_axes("out_axes", out_axes)
    if devices is not None and len(devices) == 0:
        raise ValueError("pmap: 'devices' argument to pmap must be non-empty, or None.")
    if devices is not None and backend is not None:
        raise ValueError(f"pmap: give devices or a backend, not both; got devices={devices!r}, backend={backend!r}")
    static, _ = resolve(fun, static_broadcasted_argnums, None, "static")
    donated, _ = resolve(fun, donate_argnums, None, "donate")
    mapping = _Mapping(fun, axis_name, tuple(in_axes) if isinstance(in_axes, list) else in_axes, out_axes, static,
                       None if devices is None else tuple(devices), backend, axis_size)
    return _compiled(mapping, JitOptions(static_argnums=static, donate_argnums=donated))


def _compiled(mapping: _Mapping, options: JitOptions, is_of_all: bool = False) -> Any:
    """The mapped function, compiled; with `is_of_all` its arguments are those of all processes."""
    mapped = mapping.function()
    pmap_function = _PmapFunction(mapped, options, mapping, is_of_all)
    wrapped = runtime.make_jit_function(mapped, pmap_function.name, pmap_function.miss, static_argnums=mapping.static,
                                        cache_key=(options, is_of_all))
    wraps(mapping.fun)(wrapped)
    wrapped._laminax_jit = pmap_function
    return wrapped


def _check_axes(name: str, axes: Any) -> None:
    for leaf in tree_leaves(axes, is_leaf=lambda x: x is None):
        if leaf is not None and (isinstance(leaf, bool) or not hasattr(leaf, "__index__")):
            raise TypeError(f"pmap {name} must be an int, None, or (nested) container with those types as leaves, but got {axes!r}.")


class _Mapping:
    """A function with the options of its pmap; maps it."""

    def __init__(self, fun: Any, axis_name: Any, in_axes: Any, out_axes: Any, static: tuple[Any, ...], devices: Any, backend: str | None,
                 axis_size: Any) -> None:
        self.fun = fun
        self.axis_name = axis_name
        self.in_axes = in_axes
        self.out_axes = out_axes
        self.static = static
        self.devices = devices
        self.backend = backend
        self.axis_size = axis_size
        self.title = f"pmap({function_name(fun)})"

    def on(self, devices: tuple[runtime.Device, ...] | None) -> _Mapping:
        """The mapping over some devices, whose number is the size of the axis."""
        return _Mapping(self.fun, self.axis_name, self.in_axes, self.out_axes, self.static, devices, None, None)

    def function(self) -> Callable:
        """The function of whole arrays, which is traced like any other function."""
        def mapped(*args: Any, **kwargs: Any) -> Any:
            if self.static and max(self.static) >= len(args):
                count = f"{len(args)} positional argument{'s' * (len(args) != 1)}"
                raise ValueError(f"{self.title}: pmapped function has static_broadcasted_argnums={self.static} but was called with only "
                                 f"{count}. All static broadcasted arguments must be passed positionally.")
            return self._map(Call(args, kwargs, self.static, ()))

        return wraps(self.fun)(mapped)

    @property
    def key(self) -> Hashable:
        """The options as a key: equal for equal mappings of one function."""
        axes = [tree_flatten(axes, is_leaf=lambda x: x is None) for axes in (self.in_axes, self.out_axes)]
        return (self.axis_name, *((tuple(leaves), tree) for leaves, tree in axes), self.static, self.devices, self.backend,
                self.axis_size)

    def axes_and_size(self, call: Call) -> tuple[list[ShapedArray], list[int | None], int]:
        """The types of a call's arguments, the axis of each that is mapped, and the size of these axes."""
        avals = argument_avals("pmap", self.fun, call)
        axes = self._flat_in_axes(call, avals)
        return avals, axes, self._size(call, avals, axes)

    @property
    def name(self) -> Hashable:
        """The mapped axis' name."""
        return self.axis_name if self.axis_name is not None else f"_pmap_axis{len(manual_axes.value) or ''}"

    def _map(self, call: Call) -> Any:
        avals, axes, size = self.axes_and_size(call)
        depth, name = len(manual_axes.value), self.name
        slices = [aval if axis is None else aval.update(shape=(*aval.shape[:axis], *aval.shape[axis + 1:]))
                  for aval, axis in zip(avals, axes)]
        with running_along([(name, size)], is_checked=False):
            traced = trace_call(self.fun, call, slices, "pmap", keeps_refs=False)
            closed = resolve_shared_sums(traced.closed, name, [axis is not None for axis in axes])
            out_axes = self._flat_out_axes(traced.out_tree, closed.out_avals)
            program = _on_blocks(closed, axes, out_axes)
        mesh = self._mesh(name, size, closed, bool(depth))
        results = bind_shard_map(program, *call.leaves, mesh=mesh, in_specs=[_spec(name, axis) for axis in axes],
                                 out_specs=[_spec(name, axis) for axis in out_axes], manual_axes=(name,))
        return tree_unflatten(traced.out_tree, results)

    def _flat_in_axes(self, call: Call, avals: Sequence[ShapedArray]) -> list[int | None]:
        args, kwargs = call.in_tree.children()
        in_axes = self.in_axes
        if isinstance(in_axes, tuple):
            if len(in_axes) != call.count:
                raise ValueError(f"{self.title}: in_axes must be an int, None, or a tuple of entries corresponding to the positional "
                                 f"arguments, but got len(in_axes)={len(in_axes)}, len(args)={call.count}"
                                 + (". Entries are not for arguments passed by keyword: each argument passed by keyword is mapped over its "
                                    "leading axis. Pass them by position." if kwargs.num_leaves else ""))
            static = {i for i, _ in call.static_args}
            in_axes = tuple(axis for i, axis in enumerate(in_axes) if i not in static)
        try:
            flat = broadcast_over(in_axes, args, lambda x: x is None, name="pmap in_axes", prefix_name="pmap in_axes", full_name="args")
        except ValueError as error:
            raise ValueError(f"{self.title}: in_axes must be a tree prefix of the arguments passed by position: {error}") from None
        flat += [0] * kwargs.num_leaves
        for i, (axis, aval) in enumerate(zip(flat, avals)):
            if axis is not None and not -aval.ndim <= axis < aval.ndim:
                raise ValueError(f"{self.title}: the argument {call.namer(self.fun)(i)}, {aval.str_short()}, cannot be mapped over its "
                                 f"axis {axis}: it has {aval.ndim} axes. Give in_axes=None for an argument that each device gets whole.")
        return [None if axis is None else axis % aval.ndim for axis, aval in zip(flat, avals)]

    def _size(self, call: Call, avals: Sequence[ShapedArray], axes: Any) -> int:
        sizes = {i: aval.shape[axis] for i, (aval, axis) in enumerate(zip(avals, axes)) if axis is not None}
        if not sizes:
            if not avals:
                args, kwargs = call.in_tree.unflatten(())
                raise ValueError(f"{self.title}: pmap requires at least one argument with a mapped axis. pmap wrapped function must be "
                                 f"passed at least one argument containing an array, got empty *args={args} and **kwargs={kwargs}")
            raise ValueError(f"{self.title}: pmap requires at least one argument with a mapped axis.")
        found = set(sizes.values()) | ({self.axis_size} if self.axis_size is not None else set())
        if len(found) > 1:
            name = call.namer(self.fun)
            listed = [f"  {name(i)}, {avals[i].str_short()}, axis {axes[i]}: size {size}" for i, size in sizes.items()]
            given = f"; axis_size is {self.axis_size}" if self.axis_size is not None else ""
            raise ValueError("\n".join([f"{self.title}: pmap got inconsistent sizes for array axes to be mapped{given}.", *listed,
                                        "Make the sizes equal, or give in_axes=None to an argument that each device gets whole."]))
        return found.pop()

    def _flat_out_axes(self, out_tree: Any, avals: Sequence[ShapedArray]) -> list[int | None]:
        try:
            flat = broadcast_over(self.out_axes, out_tree, lambda x: x is None)
        except ValueError as error:
            raise ValueError(f"{self.title}: out_axes must be a prefix of the result: {error}") from None
        for axis, aval in zip(flat, avals):
            if axis is not None and not -aval.ndim - 1 <= axis <= aval.ndim:
                raise ValueError(f"{self.title}: out_axes={axis} is out of range for a result with {aval.ndim + 1} axes")
        return [None if axis is None else axis % (aval.ndim + 1) for axis, aval in zip(flat, avals)]

    def _mesh(self, name: Hashable, size: int, closed: ClosedJaxpr, is_inner: bool) -> Any:
        """The mesh, with one more axis for each pmap inside. An inner pmap has a mesh without devices: the outermost has them."""
        if is_inner:
            if self.devices is not None:
                raise NotImplementedError(f"{self.title}: devices cannot be given for a pmap inside of another one. Leave them out.")
            return AbstractMesh((size,), (name,), AxisType.Auto)
        axes = [(name, size), *_inner_axes(closed, self.title)]
        names, sizes = zip(*axes)
        chosen = self.devices if self.devices is not None else runtime.local_devices(backend=self.backend)
        count = math.prod(sizes)
        if count > len(chosen):
            raise ValueError(f"{self.title}: compiling computation that requires {count} replicas, but only {len(chosen)} XLA devices "
                             f"are available; the mapped axes are {dict(axes)}. Map over fewer slices, or use vmap for a part.")
        if self.devices is not None and count != len(chosen):
            raise ValueError(f"{self.title}: the mapped axis has size {count}, but {len(chosen)} devices were given. Give as many "
                             "devices as there are slices.")
        grid = np.empty(count, dtype=object)
        grid[:] = chosen[:count]
        return runtime.Mesh(grid.reshape(sizes), names)


def _spec(name: Hashable, axis: int | None) -> PartitionSpec:
    return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, name)


def _on_blocks(closed: ClosedJaxpr, in_axes: Sequence[int | None], out_axes: Sequence[int | None]) -> ClosedJaxpr:
    """The program on blocks, in which the mapped axis has size 1."""
    def fun(*blocks: ArrayLike) -> list[Array]:
        slices = [x if axis is None else squeeze(x, (axis,)) for x, axis in zip(blocks, in_axes)]
        results = eval_jaxpr(closed.jaxpr, closed.consts, *slices)
        return [r if axis is None else expand_dims(r, (axis,)) for r, axis in zip(results, out_axes)]

    avals = [aval if axis is None else aval.update(shape=(*aval.shape[:axis], 1, *aval.shape[axis:]))
             for aval, axis in zip(closed.in_avals, in_axes)]
    return stage(fun, avals, closed.jaxpr.debug_info)


def _inner_axes(closed: ClosedJaxpr, title: str) -> list[tuple[Hashable, int]]:
    """The axes of the nested pmaps in a program, from the outside to the inside; pmaps at one level must have the same axis."""
    found: list[list[tuple[Hashable, int]]] = []
    for eqn in closed.eqns:
        if eqn.primitive is shard_map_p:
            found.append([*eqn.params["mesh"].shape_tuple, *_inner_axes(eqn.params["jaxpr"], title)])
            continue
        for value in eqn.params.values():
            for item in value if type(value) is tuple else (value,):
                if isinstance(item, ClosedJaxpr) and (inner := _inner_axes(item, title)):
                    found.append(inner)
    longest = max(found, key=len, default=[])
    if any(axes != longest[:len(axes)] for axes in found):
        raise NotImplementedError(f"{title}: several pmaps inside of another one must have the same names and sizes; got {found}")
    return longest


class _PmapFunction(JitFunction):
    """The Python half of a mapped function: jit of the function of whole arrays, on the devices it is mapped over."""

    def __init__(self, mapped: Callable, options: JitOptions, mapping: _Mapping, is_of_all: bool) -> None:
        super().__init__(mapped, options)
        self.entries = trace_cache.entries_of_mapped(mapping.fun, mapping.key)
        self.mapping = mapping
        self.is_of_all = is_of_all
        self.of_all: dict[tuple[runtime.Device, ...], Any] = {}  # the function of arguments of all processes, by the devices

    def answered_elsewhere(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, None, bool] | None:
        """In a program of several processes a call outside of traces is one of them all, each with its part."""
        if processes.state.num_processes > 1 and not self.is_of_all and not is_tracing() and self._is_over_processes():
            return self._run_over_processes(Call(args, kwargs, self.mapping.static, ())), None, False
        return None

    def _is_over_processes(self) -> bool:
        chosen = self.mapping.devices
        return chosen is None or any(device.process_index != device.client.process_index() for device in chosen)

    def _run_over_processes(self, call: Call) -> Any:
        mapping = self.mapping
        _, axes, size = mapping.on(None).axes_and_size(call)
        meshes = ProcessMeshes(mapping.title, mapping.name, size, mapping.devices, mapping.backend)
        if mapping.axis_size not in (None, len(meshes.devices)):
            raise ValueError(f"{mapping.title}: axis_size is {mapping.axis_size}, but the mapped axis has size {len(meshes.devices)} "
                             f"over all processes, {size} in this one.")
        of_all = self.of_all.get(meshes.devices)
        if of_all is None:
            of_all = self.of_all[meshes.devices] = _compiled(mapping.on(meshes.devices), self.options, is_of_all=True)
        results = call.invoke(of_all, [meshes.as_whole(x, axis) for x, axis in zip(call.leaves, axes)])
        leaves, tree = tree_flatten(results)
        return tree_unflatten(tree, [meshes.own_part(x) for x in leaves])

    def place(self, traced: Any, call: Call, are_types: bool = False, may_lack_devices: bool = False) -> Partitioning:
        """Arguments and results have the shardings of the `shard_map`, the program's only operation, wherever the arguments come from."""
        (eqn,) = traced.closed.eqns
        mesh, in_specs = eqn.params["mesh"], eqn.params["in_specs"][-len(call.leaves):]
        out_specs = eqn.params["out_specs"]
        return Partitioning(tuple(mesh.devices.flat), tuple(runtime.NamedSharding(mesh, spec) for spec in in_specs),
                            tuple(runtime.NamedSharding(mesh, spec) for spec in out_specs))
