"""Python functions that run on the hosts of their arguments' devices, and objects that live there.

In one process there is one host, so a call is a call of the function itself: what is added are the checks that make a program ready for
many hosts (arrays only, of one list of devices, as they were announced) and the CPU devices that stand beside others. With several
processes each runs the function on what it holds. Calls return when the function has; nothing is pickled, so functions and objects may
hold anything.

Source: JAX's `jax.experimental.colocated_python`.
"""

from __future__ import annotations

import dataclasses
import inspect
import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import laminax_runtime as runtime
from laminax_ir.key_arrays.extended_arrays import ExtendedArray
from laminax_ir.pytrees import pytree
from laminax_ir.pytrees.wrapping import wraps
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types.arguments import check_callable
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct


def colocated_cpu_devices(devices_or_mesh: Any) -> Any:
    """The CPU devices on the hosts of devices: a CPU device itself, and for the others of a process its CPU devices in their order.

    Args:
      devices_or_mesh: a sequence of devices, or a mesh.

    Returns:
      A list of devices, or a mesh of the same shape, axis names and axis types.

    Raises:
      ValueError: if a process has fewer CPU devices than devices are asked for.

    Example:
      >>> colocated_cpu_devices(laminax.devices("cpu")[:1])
      [CpuDevice(id=0)]
    """
    if isinstance(devices_or_mesh, runtime.Mesh):
        mesh = devices_or_mesh
        beside = np.array(colocated_cpu_devices(tuple(mesh.devices.flat)), object).reshape(mesh.devices.shape)
        return runtime.Mesh(beside, mesh.axis_names, axis_types=mesh.axis_types)
    devices = tuple(devices_or_mesh)
    if all(device.platform == "cpu" for device in devices):
        return list(devices)
    left = defaultdict(list)
    for device in reversed(runtime.devices("cpu")):
        left[device.process_index].append(device)
    found = []
    for device in devices:
        if not left[device.process_index]:
            raise ValueError(f"colocated_cpu_devices: Process {device.process_index} does not have enough local CPU devices for "
                             f"{[str(d) for d in devices]}. Set the option num_cpu_devices before the first computation.")
        found.append(left[device.process_index].pop())
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A user's function, where it is from, and its signature."""

    fun: Callable[..., Any]
    fun_sourceinfo: str | None
    fun_signature: inspect.Signature | None


@dataclasses.dataclass(frozen=True, slots=True)
class Specialization:
    """What is known of a function's calls before they are made; None for what is not."""

    in_specs_treedef: Any = None
    in_specs_leaves: tuple[ShapeDtypeStruct, ...] | None = None
    out_specs_fn: Callable[..., Any] | None = None
    out_specs_treedef: Any = None
    out_specs_leaves: tuple[ShapeDtypeStruct, ...] | None = None
    devices: Sequence[runtime.Device] | None = None

    def update(self, **known: Any) -> Specialization:
        """The same with more that is known.

        Raises:
          ValueError: if it is known already.
        """
        more = {name: value for name, value in known.items() if value is not None}
        for name in more:
            if getattr(self, name) is not None:
                what = name.removesuffix("_treedef").removesuffix("_leaves")
                raise ValueError(f"specialize: {what} already specified. Specialize the function that has no {what} yet.")
        return dataclasses.replace(self, **more)


def colocated_python(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function that runs on the host of its arguments' devices, in plain Python: it may do anything.

    Args:
      fun: function of pytrees of arrays, which returns such a pytree.

    Returns:
      The function, with a method `specialize(in_specs=None, out_specs_fn=None, devices=None)` that returns one of which more is known:
      in_specs, `ShapeDtypeStruct`s in place of the arguments `(args, kwargs)`; out_specs_fn, a function of those that returns them for the
      results; devices, where it runs, which a function without arguments needs. Calls that differ from what was announced are refused.

    Raises:
      TypeError: if fun is no function.

    Example:
      >>> @colocated_python
      ... def count(x):
      ...     return jnp.asarray(len(set(x.tolist())))
      >>> count(jnp.array([1, 2, 1]))
      Array(2, dtype=int32, weak_type=True)
    """
    check_callable("colocated_python", fun)
    return make_callable(fun, None, None)


def make_callable(fun: Callable[..., Any], fun_sourceinfo: str | None, fun_signature: inspect.Signature | None) -> Callable[..., Any]:
    """`colocated_python` for a function whose source position and signature the caller knows."""
    return _specialized(FunctionInfo(fun, fun_sourceinfo, fun_signature), Specialization())


def _specialized(info: FunctionInfo, known: Specialization) -> Callable[..., Any]:
    @wraps(info.fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        return _call(info.fun, known, args, kwargs)

    def specialize(in_specs: Any = None, out_specs_fn: Callable[..., Any] | None = None,
                   devices: Sequence[runtime.Device] | None = None) -> Callable[..., Any]:
        leaves, structure = (None, None) if in_specs is None else pytree.tree_flatten(in_specs)
        return _specialized(info, known.update(
            in_specs_treedef=structure, in_specs_leaves=None if leaves is None else tuple(leaves), out_specs_fn=out_specs_fn,
            devices=None if devices is None else tuple(devices)))

    call.specialize = specialize
    return call


def _call(fun: Callable[..., Any], known: Specialization, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    leaves, structure = pytree.tree_flatten((args, kwargs))
    if not leaves and known.devices is None:
        raise ValueError("No devices found. colocated_python function without input arguments must be first specialized with devices. "
                         "Call .specialize(devices=...) first.")
    specs = [_spec(x) for x in leaves]
    if known.devices is None:
        _check_one_list(leaves)
    if known.in_specs_leaves is not None:
        _check_specs("the arguments", structure, specs, known.in_specs_treedef, known.in_specs_leaves)
    result = fun(*args, **kwargs)
    outs, out_structure = pytree.tree_flatten(result)
    out_specs = [_spec(x) for x in outs]
    if known.out_specs_fn is not None:
        arg_specs, kwarg_specs = pytree.tree_unflatten(structure, specs)
        wanted, wanted_structure = pytree.tree_flatten(known.out_specs_fn(*arg_specs, **kwarg_specs))
        _check_specs("the results", out_structure, out_specs, wanted_structure, wanted)
    return result


def _spec(x: Any) -> ShapeDtypeStruct:
    if isinstance(x, Tracer):
        raise TypeError(f"colocated_python: Python cannot run on {x}, which is traced and has no value yet. Call the function outside of "
                        "jit and other transformations, or call Python inside of them with pure_callback or io_callback.")
    if not isinstance(x, (runtime.ArrayImpl, ExtendedArray)):
        raise ValueError(f"colocated_python only supports jax.Array as input and output, but got {type(x)}. Make an array of it: "
                         "laminax.device_put(x, device).")
    return ShapeDtypeStruct(x.shape, x.dtype, sharding=x.sharding)


def _check_one_list(leaves: Sequence[Any]) -> None:
    lists = {tuple(x.sharding._device_assignment) for x in leaves}
    if len(lists) > 1:
        raise ValueError(f"All arguments must use the same device list, but got multiple device lists: {sorted(map(str, lists))}. Say with "
                         "colocated_python's .specialize(devices=...) which it is.")


def _check_specs(what: str, structure: Any, specs: Sequence[ShapeDtypeStruct], wanted_structure: Any,
                 wanted: Sequence[ShapeDtypeStruct]) -> None:
    if structure != wanted_structure:
        raise ValueError(f"colocated_python: {what} have the structure {structure}, but were announced as {wanted_structure}.")
    for spec, announced in zip(specs, wanted):
        sharding: Any = spec.sharding
        if (spec.shape, spec.dtype) != (tuple(announced.shape), announced.dtype) or (
                announced.sharding is not None and not sharding.is_equivalent_to(announced.sharding, len(spec.shape))):
            raise ValueError(f"colocated_python: one of {what} is {spec}, but was announced as {announced}.")


def colocated_python_class(cls: type[Any]) -> type[Any]:
    """Makes a class whose objects live on the hosts of the devices that their methods' arguments are on.

    An object is made when a method is called for the first time, and goes with the last reference to what stands for it.

    Args:
      cls: a class; its methods take and return pytrees of arrays, as functions of `colocated_python` do, and can be specialized as these.

    Returns:
      A class with the same methods.

    Raises:
      TypeError: if cls is no class.

    Example:
      >>> @colocated_python_class
      ... class Counter:
      ...     def __init__(self):
      ...         self.total = 0
      ...     def add(self, x):
      ...         self.total = self.total + x
      ...         return self.total
      >>> counter = Counter()
      >>> _ = counter.add(jnp.arange(2))
      >>> counter.add(jnp.arange(2))
      Array([0, 2], dtype=int32)
    """
    if not isinstance(cls, type):
        raise TypeError(f"colocated_python_class: expected a class, got {cls!r} of type {type(cls).__name__}.")

    class Colocated:
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            late = _LateObject(lambda: cls(*args, **kwargs))
            for name in dir(cls):
                method = getattr(cls, name)
                if inspect.isfunction(method) and name not in ("__init__", "__del__", "__reduce__", "__reduce_ex__"):
                    setattr(self, name, make_callable(_method(late, name, method), None, None))

    Colocated.__name__, Colocated.__qualname__, Colocated.__doc__ = cls.__name__, cls.__qualname__, cls.__doc__
    Colocated.__module__ = cls.__module__
    return Colocated


class _LateObject:
    """An object that is made when it is first asked for, by one thread."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._made: list[Any] = []

    def get(self) -> Any:
        with self._lock:
            if not self._made:
                self._made.append(self._make())
        return self._made[0]


def _method(late: _LateObject, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(late.get(), name)(*args, **kwargs)
    call.__name__, call.__doc__ = name, method.__doc__
    return call
