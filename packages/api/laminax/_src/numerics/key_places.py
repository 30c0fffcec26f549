"""Where arrays of random keys are: the properties of arrays that tell their devices and memory, for keys.

Keys lie where their words do, so most of it is the words' own answer; shardings and shards are those of the words without the
axes of the words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import laminax_runtime as runtime
from laminax_ir.types.partition_specs import PartitionSpec


def member_table() -> dict[str, Any]:
    """The members, by name, for whoever installs them on the class of key arrays."""
    table: dict[str, Any] = {name: _of_words(name) for name in ("devices", "delete", "is_deleted", "copy_to_host_async",
                                                               "on_device_size_in_bytes", "unsafe_buffer_pointer")}
    table.update({name: property(_answer_of_words(name)) for name in ("committed", "is_fully_addressable", "is_fully_replicated")})
    table.update({"device": property(_device), "sharding": property(_sharding), "addressable_shards": property(_addressable_shards),
                  "global_shards": property(_global_shards), "addressable_data": _addressable_data})
    return table


def _of_words(name: str) -> Callable:
    def method(keys: Any) -> Any:
        return getattr(keys.base, name)()

    method.__name__ = name
    method.__doc__ = getattr(runtime.ArrayImpl, name).__doc__
    return method


def _answer_of_words(name: str) -> Callable:
    return lambda keys: getattr(keys.base, name)


def _device(keys: Any) -> Any:
    """The device that holds the keys, or their sharding if there are several."""
    device = keys.base.device
    return _sharding(keys) if isinstance(device, runtime.Sharding) else device


def _sharding(keys: Any) -> Any:
    """How the keys lie on devices."""
    sharding = keys.base.sharding
    if not isinstance(sharding, runtime.NamedSharding):
        return sharding
    return runtime.NamedSharding(sharding.mesh, PartitionSpec(*tuple(sharding.spec)[:keys.ndim]), memory_kind=sharding.memory_kind)


def _addressable_shards(keys: Any) -> list[Any]:
    """The parts that the devices of this process hold."""
    return _shards(keys, keys.base.addressable_shards)


def _global_shards(keys: Any) -> list[Any]:
    """The parts on all devices; those of other processes have no data."""
    return _shards(keys, keys.base.global_shards)


def _shards(keys: Any, of_words: list[Any]) -> list[Any]:
    sharding = _sharding(keys)
    return [runtime.Shard(shard.device, sharding, keys.shape, None if shard.data is None else _part(keys, shard))
            for shard in of_words]


def _part(keys: Any, of_words: Any) -> Any:
    return keys._with_words(of_words.data, lambda used: used[(*of_words.index[:keys.ndim], ...)])


def _addressable_data(keys: Any, index: int) -> Any:
    """The part on this process's device number `index`, as keys."""
    return _part(keys, keys.base.addressable_shards[index])
