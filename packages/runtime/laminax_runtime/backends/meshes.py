"""Meshes: devices in a grid whose axes have names, and the mesh that a thread's programs run on."""

from __future__ import annotations

import functools
import math
import operator
import threading
import weakref
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from laminax_ir.options.ambient import Override, define_ambient
from laminax_ir.options.restoring import Restoring
from laminax_ir.recording.staging_trace import record_explicitly
from laminax_ir.tracing.explicit_axes import abstract_mesh
from laminax_ir.tracing.manual_axes import mesh_of_shard_map
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType, NamedGrid, normal_axis_types
from laminax_ir.types.arguments import check_hashable
from laminax_ir.types.type_shardings import in_use
from laminax_runtime import _jaxlib
from laminax_runtime.backends import placement
from laminax_runtime.base import context, options


class Mesh(Restoring, NamedGrid):
    """An n-dimensional array of devices with one name per axis.

    As a context manager or decorator it is the mesh that `pjit` runs on, and that partition specs in `pjit` and
    `with_sharding_constraint` refer to.

    Args:
        devices: a NumPy array of devices, or nested sequences of them, or one device.
        axis_names: one hashable name per axis, or a single string for one axis.
        axis_types: one type for all axes, one per axis, or None: `AxisType.Auto` for all. The compiler decides how values inside of
            a program are split over such axes; over `AxisType.Explicit` ones their types say it.

    Raises:
        ValueError: the names do not match the array's axes, or a device or a name comes twice.

    Example:
        >>> Mesh(devices("cpu"), ("data",)).shape
        OrderedDict({'data': 1})
    """

    devices: np.ndarray[Any, Any]
    _key: tuple[Any, ...]
    _hash: int

    def __new__(
        cls,
        devices: Any,
        axis_names: str | Sequence[Hashable],
        axis_types: AxisType | Sequence[AxisType] | None = None,
    ) -> Mesh:
        grid = np.array(devices, dtype=object)
        names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if None in names:
            raise ValueError(f"Mesh axis names cannot be None. Got {names}.")
        if grid.ndim != len(names):
            raise ValueError(
                "Mesh requires the ndim of its first argument (`devices`) to equal the length of its second argument "
                f"(`axis_names`), but got {grid.ndim} axes of devices, of shape {grid.shape}, and {len(names)} names: {names}. "
                "Reshape the devices, or name each axis."
            )
        check_hashable("Mesh", "an axis name", *names)
        if len(set(names)) != len(names):
            raise ValueError(f"Mesh: the axis names {names} must be distinct")
        if len(set(grid.flat)) != grid.size:
            raise ValueError("Mesh: a device comes twice in the array of devices")
        types = normal_axis_types("Mesh", axis_types, len(names))
        key = (names, grid.shape, tuple(grid.flat), types)
        if (known := _meshes.get(key)) is not None:
            return known
        grid.flags.writeable = False
        mesh = super().__new__(cls)
        mesh.devices, mesh.axis_names, mesh.axis_sizes, mesh.axis_types = grid, names, grid.shape, types
        mesh._key, mesh._hash = key, hash(key)
        return _meshes.setdefault(key, mesh)

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        """Does nothing: a mesh that is there already is found again."""

    @property
    def ndim(self) -> int:
        return self.devices.ndim

    @functools.cached_property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh without its devices."""
        return AbstractMesh(self.axis_sizes, self.axis_names, self.axis_types)

    @property
    def is_multi_process(self) -> bool:
        """Whether devices of another process belong to the mesh."""
        return len(self.local_devices) < self.devices.size

    def update(self, devices: Any = None, axis_names: Any = None, axis_types: Any = None) -> Mesh:
        """The mesh that differs in what is given."""
        return Mesh(
            self.devices if devices is None else devices,
            self.axis_names if axis_names is None else axis_names,
            self.axis_types if axis_types is None else axis_types,
        )

    _saved = property(lambda self: _entered.before, doc="Of the thread, since a mesh is one object for all threads.")

    def _recreate_cm(self) -> Mesh:
        return self

    def _present(self) -> Any:
        return _entered_mesh.get_local()

    def _change(self) -> Mesh:
        """Makes this the mesh of `pjit` and of the partition specs of `with_sharding_constraint`; `set_mesh` is the newer way.

        Raises:
            RuntimeError: the option `disallow_mesh_context_manager` is set.
            ValueError: a function is traced for a mesh of another size.
        """
        if options.disallow_mesh_context_manager.value:
            raise RuntimeError("Mesh context manager is disabled, by the option disallow_mesh_context_manager. "
                               "Use `with set_mesh(mesh):` instead of `with mesh:`.")
        around = _entered_mesh.value
        if around is not None and around.size != self.size and not self.empty and context.is_tracing():
            raise ValueError(
                f"with mesh: cannot change the size of the mesh while a function is traced: {self} has {self.size} devices, and the mesh "
                f"around, {around}, has {around.size}. A program runs on one list of devices: enter a mesh of as many."
            )
        _entered_mesh.set_local(self)
        return self

    def _put_back(self, before: Any) -> None:
        _entered_mesh.set_local(before)

    @property
    def device_ids(self) -> np.ndarray[Any, Any]:
        """The devices' ids, in the mesh's shape."""
        return np.array([device.id for device in self.devices.flat], dtype=int).reshape(self.devices.shape)

    @property
    def local_mesh(self) -> Mesh:
        """The mesh of the devices of this process; this one, where it has no others.

        Raises:
            ValueError: they are no block of the mesh: some are between those of other processes.
        """
        if not self.is_multi_process:
            return self
        mine = np.array([device.process_index == device.client.process_index() for device in self.devices.flat]).reshape(self.devices.shape)
        lines = map(np.sort, np.nonzero(mine))
        block = self.devices[tuple([slice(line[0], line[-1] + 1) if len(line) else slice(0) for line in lines])]
        if block.size != len(self.local_devices):
            raise ValueError(f"local_mesh: the devices of this process are no block of {self}: give each process devices that are "
                             "neighbours along every axis. When passing host local inputs or outputs, the mesh must be continuous; its "
                             f"devices' processes are {np.vectorize(lambda d: d.process_index, otypes=[int])(self.devices).tolist()}")
        return Mesh(block, self.axis_names)

    @functools.cached_property
    def local_devices(self) -> list[Any]:
        """The devices of this process."""
        return [device for device in self.devices.flat if device.process_index == device.client.process_index()]

    @functools.cached_property
    def _internal_device_list(self) -> _jaxlib.DeviceList:
        """The list of devices that jaxlib's NamedSharding reads."""
        return _jaxlib.DeviceList(self._flat_devices_tuple)

    @functools.cached_property
    def _flat_devices_tuple(self) -> tuple[_jaxlib.Device, ...]:
        return tuple(self.devices.flat)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Mesh) and self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, Any]:
        return _from_ids, (self.devices.flat[0].platform if self.size else None, self.device_ids, self.axis_names, self.axis_types)

    def __str__(self) -> str:
        return f"Mesh({self._describe()})"

    def __repr__(self) -> str:
        types = f", axis_types={self.axis_types}" if self.axis_names else ""
        return f"Mesh(axis_sizes={self.axis_sizes}, axis_names={self.axis_names}{types})"


# Meshes that are equal are one object while somebody has it, so that comparing them is cheap.
_meshes: weakref.WeakValueDictionary[tuple[Any, ...], Mesh] = weakref.WeakValueDictionary()


def _from_ids(platform: str | None, ids: np.ndarray[Any, Any], axis_names: tuple[Any, ...], axis_types: tuple[Any,
              ...] | None = None) -> Mesh:
    by_id = {device.id: device for device in placement.devices(platform)}
    grid = np.empty(ids.shape, dtype=object)
    for position, device_id in np.ndenumerate(ids):
        grid[position] = by_id[device_id]
    return Mesh(grid, axis_names, axis_types)


def make_mesh(
    axis_sizes: Sequence[int] | None = None,
    axis_names: str | Sequence[Hashable] = (),
    axis_types: AxisType | Sequence[AxisType] | None = None,
    *,
    devices: Sequence[Any] | None = None,
    axis_shapes: Sequence[int] | None = None,
) -> Mesh:
    """A mesh over the first devices there are, in their order.

    Args:
        axis_sizes: the size of each axis.
        axis_names: a name per axis; a string for a mesh of one axis.
        axis_types: as for `Mesh`; None is Explicit for all axes, so that types say how arrays are split. Where the compiler is to
            decide it, give `AxisType.Auto`.
        devices: the devices to choose from; by default all of the default platform.
        axis_shapes: axis_sizes, by its name in JAX 0.10.

    Raises:
        TypeError: neither or both of axis_sizes and axis_shapes are given.
        ValueError: there are not enough devices, or the names do not match the sizes.

    Example:
        >>> make_mesh((4, 2), ("data", "model"))
        Mesh(axis_sizes=(4, 2), axis_names=('data', 'model'), axis_types=(Explicit, Explicit))
    """
    if (axis_sizes is None) == (axis_shapes is None):
        raise TypeError(f"make_mesh: give axis_sizes, the size of each axis; got {axis_sizes=} and {axis_shapes=}")
    sizes = _axis_sizes(axis_shapes if axis_sizes is None else axis_sizes)
    names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
    if len(sizes) != len(names):
        raise ValueError(f"make_mesh: {len(sizes)} sizes, {sizes}, but {len(names)} names, {names}")
    chosen = placement.devices() if devices is None else list(devices)
    count = math.prod(sizes)
    if count > len(chosen):
        raise ValueError(
            f"make_mesh: Number of devices {len(chosen)} must be >= the product of mesh_shape {sizes}, which is {count}. "
            "On the CPU, laminax.config.update('num_cpu_devices', n) makes n devices if it comes first."
        )
    grid = np.empty(count, dtype=object)
    grid[:] = chosen[:count]
    return Mesh(grid.reshape(sizes), names, AxisType.Explicit if axis_types is None else axis_types)


def _axis_sizes(given: Any) -> tuple[int, ...]:
    try:
        return tuple(operator.index(size) for size in given)
    except TypeError:
        raise ValueError(
            f"make_mesh: `axis_sizes` passed to `make_mesh` should be a sequence of ints, got {given!r}. Give one size per axis."
        ) from None


# --- the mesh of a thread ---


class _Entered(threading.local):
    """The mesh before each `with mesh:` of this thread, the innermost last."""

    def __init__(self) -> None:
        self.before: list[Any] = []


_entered: _Entered = _Entered()


def _unless_empty(mesh: Mesh | None) -> Mesh | None:
    return None if mesh is None or mesh.empty else mesh


_current_mesh = define_ambient("mesh", None, "The mesh that partition specs refer to, or None; set by laminax.set_mesh.",
                               normal=_unless_empty)


def current_mesh() -> Mesh | None:
    """The mesh that partition specs refer to in this thread, if one has been set."""
    mesh = _current_mesh.value
    if mesh is None or not in_use or (seen := abstract_mesh.value) is None or seen == mesh.abstract_mesh or seen.size != mesh.size:
        return mesh
    return on_devices(seen, mesh)


def only_mesh_of(abstract: AbstractMesh) -> Mesh | None:
    """The mesh of devices with these axes; None if there is none, or several."""
    found = [mesh for mesh in list(_meshes.values()) if mesh.abstract_mesh == abstract]
    return found[0] if len(found) == 1 else None


def on_devices(abstract: AbstractMesh, mesh: Mesh) -> Mesh:
    """An abstract mesh with the devices of another; axes that are manual are the compiler's outside of the program."""
    types = tuple(AxisType.Auto if kind is AxisType.Manual else kind for kind in abstract.axis_types)
    return Mesh(mesh.devices.reshape(abstract.axis_sizes), abstract.axis_names, types)


_entered_mesh = define_ambient(
    "entered_mesh", None, "The mesh of pjit and with_sharding_constraint, or None; set by `with mesh:`.", normal=_unless_empty
)


def entered_mesh() -> Mesh | None:
    """The mesh that this thread has entered with `with mesh:`, if any."""
    return _entered_mesh.value


class set_mesh(Restoring):
    """Sets the mesh that partition specs refer to: until further notice, or as a context manager for a block.

    Computations run on all devices of the mesh; values that are committed to other devices are refused.

    Args:
        mesh: the mesh; None unsets it.

    Raises:
        TypeError: it is no mesh.
        ValueError: a function is being traced.

    Example:
        >>> with set_mesh(make_mesh((8,), ("data",))):
        ...     y = jit(f, in_shardings=PartitionSpec("data"))(x)
    """

    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise TypeError(f"set_mesh: expected a Mesh or None, got {mesh!r} of type {type(mesh).__name__}")
        if mesh is not None and mesh.manual_axes:
            raise ValueError(f"set_mesh: {mesh} contains manual axes, which axes are inside of shard_map only. "
                             "Use AxisType.Auto or AxisType.Explicit.")
        if context.is_tracing():
            raise ValueError("set_mesh can only be used outside of jit: a program runs on the mesh it is called under.")
        super().__init__()
        self._mesh = mesh
        self._before = _current_mesh.get_local(), abstract_mesh.get_local()
        try:
            _current_mesh.set_local(mesh)
            abstract_mesh.set_local(None if mesh is None else mesh.abstract_mesh)
        except BaseException:
            self._put_back(self._before)
            raise

    def _recreate_cm(self) -> set_mesh:
        return set_mesh(self._mesh)

    def _present(self) -> tuple[Any, Any]:
        return self._before

    def _change(self) -> None:
        """It is set already."""

    def _put_back(self, before: tuple[Any, Any]) -> None:
        _current_mesh.set_local(before[0])
        abstract_mesh.set_local(before[1])


class use_abstract_mesh(Override):
    """Context manager: functions are traced for another view of the mesh inside, whose axes may have other names and types.

    Args:
        mesh: the mesh without devices; it has as many as the mesh that is set.

    Raises:
        TypeError: it is no abstract mesh.
        ValueError: it has another number of devices than the mesh that is set.

    Example:
        >>> with set_mesh(mesh):
        ...     with use_abstract_mesh(get_abstract_mesh().update_axis_types({"x": AxisType.Auto})):
        ...         y = reshard(x, PartitionSpec())
    """

    def __init__(self, mesh: AbstractMesh) -> None:
        if not isinstance(mesh, AbstractMesh):
            raise TypeError(f"use_abstract_mesh: expected an AbstractMesh, got {mesh!r} of type {type(mesh).__name__}")
        super().__init__(abstract_mesh, None if mesh.empty else mesh)

    def _recreate_cm(self) -> use_abstract_mesh:
        return use_abstract_mesh(self._value or AbstractMesh((), ()))

    def _change(self) -> None:
        mesh, concrete = self._value, _current_mesh.value
        if mesh is not None and concrete is not None and mesh.size != concrete.size:
            raise ValueError(f"use_abstract_mesh cannot change the size of the mesh: {mesh} has {mesh.size} devices, "
                             f"and the mesh that is set, {concrete}, has {concrete.size}.")
        super()._change()
        if mesh is not None and mesh.explicit_axes:
            record_explicitly()


def get_mesh() -> Mesh:
    """The mesh that `set_mesh` has set, or an empty one.

    Raises:
        ValueError: while a function is traced, whose program may run on other devices; use `get_abstract_mesh` there.

    Example:
      >>> with set_mesh(make_mesh((1,), ("x",))):
      ...     get_mesh().axis_names
      ('x',)
    """
    if context.is_tracing():
        raise ValueError("get_mesh can only be used outside of jit. Use get_abstract_mesh instead.")
    return current_mesh() or _empty_mesh()


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the mesh that `set_mesh` has set, or an abstract mesh without axes.

    Inside of a function under `shard_map` they are those of its mesh; the ones that the function runs along are manual.

    Example:
      >>> get_abstract_mesh().empty
      True
    """
    if (inside := mesh_of_shard_map()) is not None:
        return inside
    return abstract_mesh.value or AbstractMesh((), ())


@functools.cache
def _empty_mesh() -> Mesh:
    return Mesh(np.empty((), dtype=object), ())
