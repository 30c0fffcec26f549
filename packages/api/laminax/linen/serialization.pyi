# Written by tools/stubs.py.
"""Variables as bytes and back, in the format of Flax's checkpoints."""

from collections.abc import Callable
from typing import Any

__all__: list[str]

def from_bytes(target: Any, encoded_bytes: bytes) -> Any:
    """The pytree that `to_bytes` wrote."""
def from_state_dict(target: Any, state: Any, name: str = '.') -> Any:
    """The pytree of a state dict."""
def is_serializable(target: Any) -> bool:
    """Whether a type, or an object's type, is registered."""
def msgpack_restore(encoded_pytree: bytes) -> Any:
    """The tree that `msgpack_serialize` wrote, with lists for tuples and NumPy arrays as leaves."""
def msgpack_serialize(pytree: Any, in_place: bool = False) -> bytes:
    """A tree of dicts, lists and tuples with arrays, numbers, strings and None as leaves as bytes."""
def register_serialization_state(
    ty: type[Any],
    ty_to_state_dict: Callable[[Any], Any],
    ty_from_state_dict: Callable[[Any, Any], Any],
    override: bool = False,
) -> None:
    """Says how objects of a type become state dicts and how they are made again."""
def to_bytes(target: Any) -> bytes:
    """A pytree of arrays as bytes."""
def to_state_dict(target: Any) -> Any:
    """A pytree as a state dict; leaves are returned as they are."""
