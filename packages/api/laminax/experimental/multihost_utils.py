"""Values that all processes of a program share. laminax programs are one process, which has them all: what is true of one holds here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import numpy as np

import laminax_runtime as runtime
from laminax_ir.pytrees.pytree import broadcast_prefix, tree_flatten, tree_leaves, tree_map, tree_unflatten
from laminax_ir.types.avals import get_aval
from laminax_ir.types.partition_specs import PartitionSpec

from laminax._src.parallel.transfers import device_put
from laminax._src.placement.distributed import is_initialized

__all__ = [
    "ProcessFailureError", "assert_equal", "broadcast_one_to_all", "global_array_to_host_local_array", "host_local_array_to_global_array",
    "live_devices", "process_allgather", "reached_preemption_sync_point", "sync_global_devices",
]


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The values of the process that is the source, for every process.

    Args:
      in_tree: a pytree of arrays, of the same shapes in all processes.
      is_source: whether this process is the source; by default process 0 is.

    Returns:
      A pytree of NumPy arrays.

    Raises:
      NotImplementedError: if there is more than one process.
    """
    _check_one_process("broadcast_one_to_all")
    return tree_map(np.asarray, in_tree)


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The values of all processes, put together.

    Args:
      in_tree: a pytree of arrays, of the same shapes in all processes.
      tiled: whether they are joined along their first axis; by default they are stacked along a new one.

    Returns:
      A pytree of NumPy arrays; of one process's values, they have the new axis in front or are as they were.

    Raises:
      NotImplementedError: if there is more than one process.
    """
    _check_one_process("process_allgather")
    return tree_map(lambda x: np.asarray(x) if tiled else np.asarray(x)[None], in_tree)


def sync_global_devices(name: str) -> None:
    """Waits until all processes have come to the point of this name.

    Args:
      name: what the point is called, the same in all processes.

    Raises:
      NotImplementedError: if there is more than one process.
    """
    _check_one_process("sync_global_devices")


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raises AssertionError unless all processes have the same values.

    Args:
      in_tree: a pytree of arrays.
      fail_message: what the error says first.

    Raises:
      AssertionError: if a value differs from itself, as NaN does.
      NotImplementedError: if there is more than one process.
    """
    _check_one_process("assert_equal")
    values = process_allgather(in_tree, tiled=True)
    if not all(np.all(np.equal(x, x)) for x in tree_leaves(values)):
        raise AssertionError(f"{fail_message}. Expected: {values}; got: {in_tree}.")


class ProcessFailureError(Exception):
    """A process failed while others worked with its devices. Nothing raises it: programs are one process."""


@contextmanager
def live_devices(devices: list[Any]) -> Iterator[list[Any]]:
    """Context manager: gives those of the devices whose processes are alive; with one process, all.

    Args:
      devices: devices.

    Raises:
      RuntimeError: if `distributed.initialize` was not called.
      NotImplementedError: if there is more than one process.
    """
    if not is_initialized():
        raise RuntimeError("multihost_utils.live_devices: distributed.initialize() has not been called. Without it all devices are this "
                           "process's own, and live.")
    _check_one_process("live_devices")
    yield list(devices)


def reached_preemption_sync_point(step_id: int) -> NoReturn:
    """Not supported: nobody tells that the machine will be taken away.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(f"multihost_utils.reached_preemption_sync_point({step_id!r}) is not supported: nobody tells that the machine "
                              "will be taken away. Save at fixed steps, or from a handler of the signal that your scheduler sends.")


def host_local_array_to_global_array(local_inputs: Any, global_mesh: runtime.Mesh, pspecs: Any) -> Any:
    """Whole arrays of the parts that each process has; with one process, these are the whole arrays already.

    Args:
      local_inputs: a pytree of arrays.
      global_mesh: the mesh of all devices.
      pspecs: a `PartitionSpec`, or a pytree of them that is a prefix of local_inputs: how the whole arrays are split over the mesh.

    Returns:
      A pytree of arrays, laid out so.

    Raises:
      ValueError: if a spec is None, or specs do not fit.
      NotImplementedError: if there is more than one process.
    """
    return _on_mesh("host_local_array_to_global_array", local_inputs, global_mesh, pspecs, device_put)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: runtime.Mesh, pspecs: Any) -> Any:
    """The parts of whole arrays that this process has; with one process, the arrays as they are.

    Args:
      global_inputs: a pytree of arrays.
      global_mesh, pspecs: as for `host_local_array_to_global_array`; they say how what is on no device yet is split.

    Returns:
      A pytree of arrays.

    Raises:
      ValueError: if a spec is None, or specs do not fit.
      NotImplementedError: if there is more than one process.
    """
    return _on_mesh("global_array_to_host_local_array", global_inputs, global_mesh, pspecs,
                    lambda x, sharding: x if isinstance(x, runtime.ArrayImpl) else device_put(x, sharding))


def _on_mesh(name: str, inputs: Any, mesh: runtime.Mesh, pspecs: Any, place: Callable) -> Any:
    _check_one_process(name)
    leaves, tree = tree_flatten(inputs)
    try:
        specs = broadcast_prefix(pspecs, inputs, is_leaf=lambda x: x is None)
    except ValueError as error:
        raise ValueError(f"{name}: pspecs must be a PartitionSpec, or a pytree of them that is a prefix of the arrays: {error}") from None
    for spec in specs:
        if not isinstance(spec, PartitionSpec):
            raise ValueError(f"{name}: {'`None`' if spec is None else repr(spec)} is not a valid input to the pspecs argument. Give a "
                             "PartitionSpec, PartitionSpec() for a copy on each device.")
    outs = []
    for leaf, spec in zip(leaves, specs):
        sharding = runtime.NamedSharding(mesh, spec)
        if reason := runtime.misfit(sharding, get_aval(leaf).shape):
            raise ValueError(f"{name}: an array of type {get_aval(leaf).str_short()} {reason}")
        outs.append(place(leaf, sharding))
    return tree_unflatten(tree, outs)


def _check_one_process(name: str) -> None:
    if (count := runtime.process_count()) > 1:
        raise NotImplementedError(f"multihost_utils.{name}: programs of several processes are not supported, and this one has {count}.")
