# Written by tools/stubs.py.
"""Shardings in the forms that XLA stores. A table of contents: names load on first use."""

from typing import Any

__all__: list[str]

def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """XLA's `HloSharding` of the bytes of an `OpSharding`."""
def get_op_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """The `OpSharding` of its bytes."""
def get_serialized_proto_from_hlo_sharding(sharding: Any) -> bytes:
    """The bytes of the `OpSharding` of an `HloSharding`."""
