"""Shardings as XLA's objects and as the bytes of its protocol buffer `OpSharding`."""

from __future__ import annotations

from typing import Any

from laminax_runtime.arrays.hlo_shardings import hlo_sharding_of_bytes, op_sharding_of_bytes

__all__: list[str] = []


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """XLA's `HloSharding` of the bytes of an `OpSharding`.

    Args:
      sharding: the bytes.
    """
    return hlo_sharding_of_bytes(sharding)


def get_op_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """The `OpSharding` of its bytes.

    Args:
      sharding: the bytes.
    """
    return op_sharding_of_bytes(sharding)


def get_serialized_proto_from_hlo_sharding(sharding: Any) -> bytes:
    """The bytes of the `OpSharding` of an `HloSharding`.

    Args:
      sharding: XLA's object, such as one of `Exported.in_shardings_hlo`.
    """
    return sharding.to_proto().SerializeToString()
