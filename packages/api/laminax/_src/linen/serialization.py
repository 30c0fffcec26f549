"""Variables as bytes and back, in the format of Flax: its checkpoints load here, and ours there.

A pytree first becomes a *state dict*: dicts with strings as keys, and arrays as leaves. Lists and tuples become dicts with the
keys "0", "1", ... Then the dict is written as MessagePack by the package msgpack, arrays as extensions that hold shape, dtype and
bytes; what is larger than MessagePack's limit is cut into chunks. To read it, a *target* of the same structure says what the
containers were.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from laminax_ir.pytrees.pytree import Partial
from laminax_ir.types import dtypes

from laminax._src.linen.frozen_dict import FrozenDict

_ARRAY, _COMPLEX, _SCALAR = 1, 2, 3  # codes of the extensions
_CHUNK_BYTES = 1 << 30
_CHUNKED = "__msgpack_chunked_array__"

_ToState = Callable[[Any], Any]
_FromState = Callable[[Any, Any, str], Any]
_registry: dict[type, tuple[_ToState, _FromState]] = {}


def to_bytes(target: Any) -> bytes:
    """A pytree of arrays as bytes.

    Args:
      target: dicts, lists, tuples, namedtuples and registered types, with arrays and numbers as leaves.

    Example:
      >>> from laminax import numpy as jnp
      >>> from laminax.linen import serialization
      >>> serialization.from_bytes({"a": jnp.zeros(2)}, serialization.to_bytes({"a": jnp.array([1.0, 2.0])}))
      {'a': array([1., 2.], dtype=float32)}
    """
    return msgpack_serialize(to_state_dict(target))


def from_bytes(target: Any, encoded_bytes: bytes) -> Any:
    """The pytree that `to_bytes` wrote.

    Args:
      target: a pytree of the same structure, whose leaves are not read.
      encoded_bytes: what `to_bytes` returned, or Flax's function of that name.

    Returns:
      A pytree as `target`, with NumPy arrays as leaves.

    Raises:
      ValueError: if the structures differ; names the place.
    """
    return from_state_dict(target, msgpack_restore(encoded_bytes))


# --- state dicts ---


def register_serialization_state(ty: type, ty_to_state_dict: Callable[[Any], Any], ty_from_state_dict: Callable[[Any, Any], Any],
                                 override: bool = False) -> None:
    """Says how objects of a type become state dicts and how they are made again.

    Args:
      ty: the type; those derived from it are others.
      ty_to_state_dict: function of an object that returns its state, a dict with strings as keys.
      ty_from_state_dict: function of a target and a state that returns an object like the target.
      override: whether an earlier registration of the type may be replaced.

    Raises:
      ValueError: if the type is registered.
    """
    _register(ty, ty_to_state_dict, lambda target, state, path: ty_from_state_dict(target, state), override)


def _register(ty: type, to_state: _ToState, from_state: _FromState, override: bool = False) -> None:
    if ty in _registry and not override:
        raise ValueError(f'a serialization handler for "{ty.__name__}" is already registered. Give override=True to replace it')
    _registry[ty] = (to_state, from_state)


def is_serializable(target: Any) -> bool:
    """Whether a type, or an object's type, is registered."""
    return (target if isinstance(target, type) else type(target)) in _registry


def to_state_dict(target: Any) -> Any:
    """A pytree as a state dict; leaves are returned as they are.

    Example:
      >>> from laminax.linen import serialization
      >>> serialization.to_state_dict({"layers": [1, (2, 3)]})
      {'layers': {'0': 1, '1': {'0': 2, '1': 3}}}
    """
    ty = _registered_type(target)
    if ty not in _registry:
        return target
    state = _registry[ty][0](target)
    if isinstance(state, dict) and (others := [key for key in state if not isinstance(key, str)]):
        raise TypeError(f"A state dict must only have string keys. That of a {type(target).__name__} has {others[0]!r}")
    return state


def from_state_dict(target: Any, state: Any, name: str = ".") -> Any:
    """The pytree of a state dict.

    Args:
      target: a pytree of the structure that is to be made, whose leaves are not read.
      state: the state dict, as of `to_state_dict`.
      name: the name of the whole in errors.

    Raises:
      ValueError: if the structures differ.

    Example:
      >>> from laminax.linen import serialization
      >>> serialization.from_state_dict([0, 0], {"0": 5, "1": 6})
      [5, 6]
    """
    ty = _registered_type(target)
    return _registry[ty][1](target, state, name) if ty in _registry else state


class _NamedTuple:
    """Stands for all types of namedtuples in the registry."""


def _registered_type(target: Any) -> type:
    return _NamedTuple if isinstance(target, tuple) and hasattr(target, "_fields") else type(target)


def _dict_to_state(target: Mapping[Any, Any]) -> dict[str, Any]:
    state = {str(key): to_state_dict(value) for key, value in target.items()}
    if len(state) != len(target):
        raise ValueError(f"Dict keys do not have a unique string representation: {sorted(state)} of {list(target)}")
    return state


def _dict_from_state(target: Mapping[Any, Any], state: Any, path: str) -> dict[Any, Any]:
    _expect_dict(target, state, path)
    if missing := {str(key) for key in target} - state.keys():
        raise ValueError(f"The target dict keys and state dict keys do not match, target dict contains keys {missing} which are not "
                         f"present in state dict at path {path}")
    return {key: from_state_dict(value, state[str(key)], f"{path}/{key}") for key, value in target.items()}


def _sequence_to_state(target: Any) -> dict[str, Any]:
    return {str(i): to_state_dict(value) for i, value in enumerate(target)}


def _list_from_state(target: Any, state: Any, path: str) -> list[Any]:
    _expect_dict(target, state, path)
    if len(state) != len(target):
        raise ValueError(f"The size of the list and the state dict do not match, got {len(target)} and {len(state)} at path {path}")
    return [from_state_dict(value, state[str(i)], f"{path}/{i}") for i, value in enumerate(target)]


def _namedtuple_to_state(target: Any) -> dict[str, Any]:
    return {key: to_state_dict(value) for key, value in zip(target._fields, target, strict=True)}


def _namedtuple_from_state(target: Any, state: Any, path: str) -> Any:
    _expect_dict(target, state, path)
    if set(state) == {"name", "fields", "values"}:  # the form of old checkpoints
        state = {name: state["values"][i] for i, name in state["fields"].items()}
    if set(state) != set(target._fields):
        raise ValueError("The field names of the state dict and the named tuple do not match, "
                         f"got {set(state)} and {set(target._fields)} at path {path}")
    return type(target)(**{key: from_state_dict(getattr(target, key), value, f"{path}/{key}") for key, value in state.items()})


def _partial_to_state(target: Partial) -> dict[str, Any]:
    return {"args": to_state_dict(target.args), "keywords": to_state_dict(target.keywords)}


def _partial_from_state(target: Partial, state: Any, path: str) -> Partial:
    args = from_state_dict(target.args, state["args"], f"{path}/args")
    return Partial(target.func, *args, **from_state_dict(target.keywords, state["keywords"], f"{path}/keywords"))


def _expect_dict(target: Any, state: Any, path: str) -> None:
    if not isinstance(state, dict):
        raise ValueError(f"The target is a {type(target).__name__} and the state dict has a {type(state).__name__} at path {path}")


_register(dict, _dict_to_state, _dict_from_state)
_register(FrozenDict, _dict_to_state, lambda target, state, path: FrozenDict(_dict_from_state(target, state, path)))
_register(list, _sequence_to_state, _list_from_state)
_register(tuple, _sequence_to_state, lambda target, state, path: tuple(_list_from_state(target, state, path)))
_register(_NamedTuple, _namedtuple_to_state, _namedtuple_from_state)
_register(Partial, _partial_to_state, _partial_from_state)


# --- bytes ---


def msgpack_serialize(pytree: Any, in_place: bool = False) -> bytes:
    """A tree of dicts, lists and tuples with arrays, numbers, strings and None as leaves as bytes.

    Args:
      pytree: the tree; what else there is has to go through `to_state_dict`.
      in_place: accepted as Flax has it: whether the tree may be changed. It is not.

    Raises:
      TypeError: if a leaf can't be written.
      ValueError: if an integer does not fit into 64 bits.
      ImportError: the package `msgpack` is not installed.

    Example:
      >>> from laminax import numpy as jnp
      >>> from laminax.linen import serialization
      >>> serialization.msgpack_restore(serialization.msgpack_serialize({"a": jnp.array([1, 2]), "b": "text"}))
      {'a': array([1, 2], dtype=int32), 'b': 'text'}
    """
    return _packed(_writable(pytree))


def _msgpack() -> Any:
    """The package msgpack, which is loaded by the first checkpoint."""
    try:
        return importlib.import_module("msgpack")
    except ImportError as error:
        raise ImportError("checkpoints are written and read by the package msgpack, which is not installed: install it with "
                          "`pip install msgpack`") from error


def _packed(value: Any) -> bytes:
    try:
        return _msgpack().packb(value, use_bin_type=True)
    except OverflowError as error:
        raise ValueError("the tree has an integer that does not fit into 64 bits, the most that MessagePack has: give it as a string or a "
                         "float") from error
    except TypeError as error:
        raise TypeError(f"the tree has a leaf that can't be written as MessagePack: {error}. Leaves are arrays, numbers, strings, bytes "
                        "and None; `to_state_dict` makes a tree of them") from error


def _writable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _writable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_writable(item) for item in value]
    if isinstance(value, np.generic):
        return _msgpack().ExtType(_SCALAR, _array_bytes(np.asarray(value)))
    if isinstance(value, complex):
        return _msgpack().ExtType(_COMPLEX, _packed((value.real, value.imag)))
    if not hasattr(value, "__array__"):
        return value
    array = np.asarray(value)
    return _msgpack().ExtType(_ARRAY, _array_bytes(array)) if array.nbytes <= _CHUNK_BYTES else _chunks(array)


def _array_bytes(array: np.ndarray) -> bytes:
    if array.dtype.hasobject or array.dtype.isalignedstruct:
        raise ValueError(f"Object and structured dtypes not supported for serialization of ndarrays. Got an array of dtype {array.dtype}")
    return _packed((array.shape, array.dtype.name, array.tobytes()))


def _chunks(array: np.ndarray) -> dict[str, Any]:
    flat, size = array.reshape(-1), max(1, _CHUNK_BYTES // array.itemsize)
    chunks = [_msgpack().ExtType(_ARRAY, _array_bytes(flat[start:start + size])) for start in range(0, flat.size, size)]
    return {_CHUNKED: True, "shape": _sequence_to_state(array.shape), "chunks": {str(i): chunk for i, chunk in enumerate(chunks)}}


def msgpack_restore(encoded_pytree: bytes) -> Any:
    """The tree that `msgpack_serialize` wrote, with lists for tuples and NumPy arrays as leaves.

    Raises:
      ValueError: if the bytes are cut off or are something else.
      ImportError: the package `msgpack` is not installed.
    """
    try:
        return _joined(_msgpack().unpackb(encoded_pytree, ext_hook=_from_extension, raw=False, strict_map_key=False))
    except ValueError as error:
        raise ValueError(f"the {len(encoded_pytree)} bytes are cut off or are no MessagePack: {error or type(error).__name__}") from error


def _from_extension(code: int, data: bytes) -> Any:
    if code == _COMPLEX:
        return complex(*_msgpack().unpackb(data))
    if code not in (_ARRAY, _SCALAR):
        return _msgpack().ExtType(code, data)
    shape, name, content = _msgpack().unpackb(data, raw=True)
    array = np.frombuffer(content, _dtype(name.decode())).reshape(shape)
    return array if code == _ARRAY else array[()]


def _dtype(name: str) -> np.dtype:
    """The dtype of a name, also of those that NumPy does not have itself: `bfloat16`, `float8_e4m3fn`."""
    return np.dtype(getattr(dtypes, name, name))


def _joined(value: Any) -> Any:
    """The tree with arrays in place of the dicts of their chunks."""
    if isinstance(value, list):
        return [_joined(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _CHUNKED not in value:
        return {key: _joined(item) for key, item in value.items()}
    shape, chunks = ([part[str(i)] for i in range(len(part))] for part in (value["shape"], value["chunks"]))
    array = np.concatenate(chunks)
    if math.prod(shape) != array.size:
        raise ValueError(f"the chunks of an array of shape {tuple(shape)} have {array.size} elements")
    return array.reshape(shape)
