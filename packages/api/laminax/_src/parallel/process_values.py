"""Values that go from processes to all processes: gathered, broadcast, compared.

Values go as bytes, so that any NumPy dtype arrives as it was sent, and all leaves of a tree in one collective, between one device of each
process. A tree of another structure in some process is an error in all of them: what they are about to send is compared first.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np

import laminax_runtime as runtime
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.pytrees.pytree import keystr, tree_flatten, tree_flatten_with_path, tree_unflatten
from laminax_ir.types.partition_specs import PartitionSpec

from laminax._src.compiling.jit import jit

_AXIS = "processes"
_DIGEST = 16  # bytes


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The values of all processes, put together in each of them. All processes must call it.

    Args:
      in_tree: a pytree of arrays, of the same shapes in all processes; or of arrays that are on devices of several processes.
      tiled: whether they are joined along their first axis; by default they are stacked along a new one. It must be True for an array
        that is on devices of several processes, which is one value: it is put together of its parts.

    Returns:
      A pytree of NumPy arrays.

    Raises:
      ValueError: if processes give values of different shapes or dtypes, or `tiled` is False and an array is on devices of several.

    Example:
      >>> multihost_utils.process_allgather(np.arange(2))  # in a program of one process
      array([[0, 1]])
    """
    leaves, tree = tree_flatten(in_tree)
    spanning = [_is_spanning(x) for x in leaves]
    if any(spanning) and not tiled:
        raise ValueError("multihost_utils.process_allgather: Gathering global non-fully-addressable arrays only supports tiled=True: an "
                         "array on devices of several processes is one value. Give tiled=True for it.")
    own = [np.asarray(x) for x, is_spanning in zip(leaves, spanning) if not is_spanning]
    if runtime.process_count() == 1:
        gathered = iter([x[None] for x in own])
    else:
        _check_agreement("process_allgather", in_tree, own)
        gathered = iter(_unpacked(_gather(_packed(own)), own))
    outs = [_whole(x) if is_spanning else _joined(next(gathered), tiled) for x, is_spanning in zip(leaves, spanning)]
    return tree_unflatten(tree, outs)


def _is_spanning(x: Any) -> bool:
    return isinstance(x, runtime.ArrayImpl) and not x.is_fully_addressable


def _joined(stacked: np.ndarray, tiled: bool) -> np.ndarray:
    """Values of all processes joined along their first axis where that is asked for; scalars have none."""
    if not tiled or stacked.ndim == 1 and runtime.process_count() > 1:
        return stacked
    return stacked[0, ...] if stacked.ndim == 1 else stacked.reshape(-1, *stacked.shape[2:])


def _whole(x: runtime.ArrayImpl) -> np.ndarray:
    """The value of an array whose parts are in several processes."""
    if x.is_fully_replicated:
        return np.asarray(x.addressable_data(0))
    sharding = x.sharding
    if isinstance(sharding, runtime.NamedSharding):
        replicated: runtime.Sharding = sharding.update(spec=PartitionSpec())
    else:
        replicated = runtime.GSPMDSharding.get_replicated(runtime.devices_of(sharding), memory_kind=sharding.memory_kind)
    return np.asarray(runtime.device_put(x, replicated).addressable_data(0))


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The values of the process that is the source, in every process. All processes must call it.

    Args:
      in_tree: a pytree of arrays, of the same shapes in all processes.
      is_source: whether this process is the source; by default process 0 is.

    Returns:
      A pytree of NumPy arrays.

    Raises:
      ValueError: if processes give values of different shapes or dtypes, or not exactly one of them is the source.
    """
    leaves, tree = tree_flatten(in_tree)
    own = [np.asarray(x) for x in leaves]
    if runtime.process_count() == 1:
        return tree_unflatten(tree, own)
    is_source = runtime.process_index() == 0 if is_source is None else bool(is_source)
    digests = _check_agreement("broadcast_one_to_all", in_tree, own, bytes([is_source]))
    if (count := int(digests[:, _DIGEST].sum())) != 1:
        raise ValueError(f"multihost_utils.broadcast_one_to_all: exactly one process must be the source, and is_source is true in {count}")
    sent = _packed(own)
    return tree_unflatten(tree, [row[0, ...] for row in _unpacked(_sum(sent if is_source else np.zeros_like(sent))[None], own)])


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raises AssertionError, in all processes, unless all have the same values. All processes must call it.

    Args:
      in_tree: a pytree of arrays; of one on devices of several processes, the first part of each process is compared with the others'.
      fail_message: what the error says first.

    Raises:
      AssertionError: if a value differs, or differs from itself, as NaN does.
    """
    paths, _ = tree_flatten_with_path(in_tree)
    own = [np.asarray(x.addressable_data(0) if _is_spanning(x) else x) for _, x in paths]
    if runtime.process_count() == 1:
        values = [x[None] for x in own]
    else:
        structures = _gather(_digest(_structure(in_tree, own)))
        if (structures != structures[0]).any():
            raise AssertionError(f"{fail_message}. The values have different shapes, dtypes or containers in processes "
                                 f"{_different(structures)} than in process 0; got: {in_tree}.")
        digests = _gather(_digest(_packed(own).tobytes()))
        has_nans = any(x.dtype.kind in "fcV" and (x != x).any() for x in own)
        if (digests == digests[0]).all() and not has_nans:
            return
        values = _unpacked(_gather(_packed(own)), own)
    for (path, _), rows in zip(paths, values):
        same = np.array([bool(np.all(row == rows[0])) for row in rows])
        if not same.all():
            where = f" at {keystr(path)}" if path else ""
            raise AssertionError(f"{fail_message}. Expected: {rows[0]}{where}, the value of process 0; got: {rows[np.argmin(same)]} in "
                                 f"process {np.argmin(same)}. It differs in processes {np.flatnonzero(~same).tolist()}.")


def sync_global_devices(name: str) -> None:
    """Waits until all processes have come to the point of this name, and their devices have done what they were given before.

    Args:
      name: what the point is called, the same in all processes.

    Raises:
      AssertionError: if processes have come to points of different names.
    """
    row = np.array([zlib.crc32(name.encode())], np.uint32)
    devices = runtime.devices()
    if runtime.process_count() == 1:
        return
    found = _gather_over(devices, [row] * runtime.local_device_count())[:, 0]
    if (found != found[0]).any():
        others = sorted({d.process_index for d, value in zip(devices, found) if value != found[0]})
        raise AssertionError(f"sync_global_devices name mismatch ('{name}'): processes {others} have come to a point of another name than "
                             "process 0")


def check_same(name: str, values: Sequence[Any]) -> None:
    """Raises AssertionError, in all processes, unless all give `device_put` the same value for an array that they share."""
    digests = _gather(_digest(b"".join(np.ascontiguousarray(x).tobytes() for x in values)))
    if (digests != digests[0]).any():
        raise AssertionError(f"{name} passed to device_put is not the same on each process. Make sure you are passing the same value of "
                             f"{name} on each process: it differs in processes {_different(digests)}. Where each has a part of its own, "
                             "use make_array_from_process_local_data.")


# --- what they send each other ---


def _check_agreement(title: str, in_tree: Any, own: Sequence[np.ndarray], note: bytes = b"") -> np.ndarray:
    """Raises ValueError, in all processes, unless all are about to send values of the same structure; returns what they noted beside it."""
    found = _gather(np.concatenate([_digest(_structure(in_tree, own)), np.frombuffer(note, np.uint8)]))
    if (found[:, :_DIGEST] != found[0, :_DIGEST]).any():
        shapes = ", ".join(f"{x.dtype.name}{list(x.shape)}" for x in own[:20])
        raise ValueError(f"multihost_utils.{title}: the values have other shapes, dtypes or containers in processes "
                         f"{_different(found[:, :_DIGEST])} than in process 0. In this one, process {runtime.process_index()}, they are "
                         f"{shapes}{', ...' if len(own) > 20 else ''}")
    return found


def _different(rows: np.ndarray) -> list[int]:
    return np.flatnonzero((rows != rows[0]).any(axis=1)).tolist()


def _structure(in_tree: Any, own: Sequence[np.ndarray]) -> bytes:
    paths, _ = tree_flatten_with_path(in_tree)
    return repr([[keystr(path) for path, _ in paths], [(x.shape, x.dtype.name) for x in own]]).encode()


def _digest(data: bytes) -> np.ndarray:
    return np.frombuffer(blake2b(data, digest_size=_DIGEST).digest(), np.uint8)


def _packed(values: Sequence[np.ndarray]) -> np.ndarray:
    for x in values:
        if x.dtype.hasobject:
            raise TypeError(f"multihost_utils: a NumPy array of dtype {x.dtype} cannot go to another process. Give numbers.")
    return np.frombuffer(b"".join(x.tobytes() for x in values), np.uint8)


def _unpacked(rows: np.ndarray, like: Sequence[np.ndarray]) -> list[np.ndarray]:
    """For each value, those of all processes, stacked."""
    found, begin = [], 0
    for x in like:
        part = np.ascontiguousarray(rows[:, begin:begin + x.nbytes])
        found.append(np.frombuffer(part.tobytes(), x.dtype).reshape(len(rows), *x.shape).copy())
        begin += x.nbytes
    return found


# --- the collectives ---


def _first_devices() -> list[runtime.Device]:
    """The first device of each process, in the order of the processes."""
    first: dict[int, runtime.Device] = {}
    for device in runtime.devices():
        first.setdefault(device.process_index, device)
    return [first[index] for index in sorted(first)]


def _gather(row: np.ndarray) -> np.ndarray:
    """The rows of all processes."""
    return _gather_over(_first_devices(), [row])


def _gather_over(devices: Sequence[runtime.Device], rows: Sequence[np.ndarray]) -> np.ndarray:
    """The rows of all devices, of which this process gives those of its own."""
    whole, mesh = _split(devices, rows)
    return np.asarray(runtime.device_put(whole, runtime.NamedSharding(mesh, PartitionSpec())).addressable_data(0))


def _sum(row: np.ndarray) -> np.ndarray:
    """The sum of the rows of all processes."""
    whole, mesh = _split(_first_devices(), [row])
    return np.asarray(jit(_sum_of_rows, out_shardings=runtime.NamedSharding(mesh, PartitionSpec()))(whole).addressable_data(0))


def _sum_of_rows(rows: Any) -> Any:
    return reduce_sum(rows, axes=(0,))


def _split(devices: Sequence[runtime.Device], rows: Sequence[np.ndarray]) -> tuple[runtime.ArrayImpl, runtime.Mesh]:
    """An array of rows, each on a device, of which this process gives those of its own devices."""
    grid = np.empty(len(devices), dtype=object)
    grid[:] = devices
    mesh = runtime.Mesh(grid, (_AXIS,))
    own = [device for device in devices if device.process_index == runtime.process_index()]
    parts = [runtime.device_put(row[None], device) for row, device in zip(rows, own, strict=True)]
    sharding = runtime.NamedSharding(mesh, PartitionSpec(_AXIS))
    return runtime.make_array_from_single_device_arrays((len(devices), *rows[0].shape), sharding, parts), mesh
