"""The file format of exported functions.

    b"LAXEXPRT"  format version (u32)  digest of the rest (32 bytes)  header length (u64)  header (JSON)  parts

The header holds the calling convention and the lengths of the parts: StableHLO portable artifacts, and the exported
derivative if there is one. All numbers are little-endian. Reading it executes nothing of its content, unlike a pickle.
"""

from __future__ import annotations

import json
import struct
from hashlib import blake2b
from typing import Any, Callable, NamedTuple, Sequence

import numpy as np

from laminax_ir.programs.effects import lowerable_effects, own_effects
from laminax_ir.pytrees.pytree import make_from_node_data_and_children, tree_leaves, tree_structure, tree_unflatten
from laminax_ir.symbolic.symbolic_parsing import parse_dimension
from laminax_ir.symbolic.symbolic_scope import SymbolicScope
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray
from laminax_ir.types.memory_spaces import MemorySpace

MAGIC = b"LAXEXPRT"
VERSION = 1
_PREFIX = struct.Struct("<I32sQ")


def pack(header: dict[str, Any], parts: Sequence[bytes]) -> bytearray:
    """The bytes of a header and parts."""
    text = json.dumps({**header, "part_sizes": [len(part) for part in parts]}, separators=(",", ":")).encode()
    rest = text + b"".join(parts)
    return bytearray(MAGIC + _PREFIX.pack(VERSION, _digest(rest), len(text)) + rest)


def unpack(data: bytes | bytearray) -> tuple[dict[str, Any], list[bytes]]:
    """The header and parts of what `pack` made.

    Raises:
      ValueError: if the data are of another format, damaged, or of an unknown version.
    """
    data = bytes(data)
    start = len(MAGIC) + _PREFIX.size
    if not data.startswith(MAGIC):
        raise ValueError(f"deserialize: this is not an exported function: it begins with {data[:8]!r}, expected {MAGIC!r}. "
                         "Expected what Exported.serialize() of laminax returned (jax's format is another).")
    if len(data) >= len(MAGIC) + 4:
        (version,) = struct.unpack_from("<I", data, len(MAGIC))
        if version != VERSION:
            raise ValueError(f"deserialize: the exported function has format version {version}, and this laminax reads version "
                             f"{VERSION}. Use the laminax that wrote it, or export again.")
    if len(data) < start:
        raise ValueError(f"deserialize: the exported function is damaged: it has only {len(data)} bytes")
    _, digest, header_size = _PREFIX.unpack_from(data, len(MAGIC))
    if _digest(data[start:]) != digest:
        raise ValueError(f"deserialize: the exported function is damaged: its {len(data)} bytes do not have the digest they were "
                         "written with. Copy or export it again.")
    header = json.loads(data[start:start + header_size])
    parts, position = [], start + header_size
    for size in header["part_sizes"]:
        parts.append(data[position:position + size])
        position += size
    return header, parts


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=32).digest()


# Effects


def effect_to_json(effect: Any) -> str:
    """The class of an effect as `module:name`.

    Raises:
      ValueError: if it takes arguments to make one like it.
    """
    kind, name = type(effect), str(effect)
    try:
        is_made_alike = own_effects.contains(effect) or str(kind()) == name
    except TypeError:
        is_made_alike = False
    if not is_made_alike:
        raise ValueError(f"serialize: the effect {name} of the class {kind.__name__} cannot be written: {kind.__name__}() makes no effect "
                         "like it. Give the class a constructor without arguments.")
    return f"{kind.__module__}:{kind.__qualname__}"


def effect_from_json(text: str) -> Any:
    """An effect of the class that `effect_to_json` has written.

    Raises:
      ValueError: if no such class is among those that programs may have.
    """
    for kind in lowerable_effects.kinds():
        if f"{kind.__module__}:{kind.__qualname__}" == text:
            return kind()
    raise ValueError(f"deserialize: the exported function has an effect of the class {text}, which is not known here. Import the library "
                     "that defines it, which says lowerable_effects.add_type(...).")


# Avals


def aval_to_json(aval: ShapedArray) -> list:
    """A type as a list: shape, dtype, whether it is weak, and the kind of memory where it is not the device's own.

    Raises:
      ValueError: for keys of a generator that is known in this process only.
    """
    if dtypes.is_extended(aval.dtype) and not isinstance(aval.dtype, dtypes.KeyDType):
        raise ValueError(f"export: values of the extended dtype {aval.dtype} cannot be written: its rules are known in this process only. "
                         f"Export a function of {dtypes.dtype_name(aval.dtype.physical_dtype)}, which stores them, and convert in it.")
    if dtypes.is_extended(aval.dtype) and aval.dtype.impl.functions is not None:
        raise ValueError(f"export: keys of the generator {aval.dtype.impl.name!r}, which define_prng_impl made, cannot be written: its "
                         "functions are known in this process only. Export a function of the words, random.key_data(key).")
    dtype = {"key": aval.dtype.impl.name} if dtypes.is_extended(aval.dtype) else \
        "float0" if aval.dtype == dtypes.float0 else aval.dtype.name
    described = [[size if type(size) is int else str(size) for size in aval.shape], dtype, aval.weak_type]
    return described if aval.memory_space is MemorySpace.Device else [*described, aval.memory_space.name]


def aval_from_json(described: list, scope: SymbolicScope) -> ShapedArray:
    """The aval that `aval_to_json` described; its symbolic dimensions belong to the scope."""
    shape, dtype, weak_type, *memory = described
    if isinstance(dtype, dict):
        dtype = dtypes.key_dtype(dtype["key"])
    shape = tuple(size if isinstance(size, int) else parse_dimension(size, scope, "exported function") for size in shape)
    return ShapedArray(shape, dtypes.float0 if dtype == "float0" else _named_dtype(dtype), weak_type,
                       memory_space=MemorySpace[memory[0] if memory else "Device"])


def _named_dtype(dtype: Any) -> Any:
    return np.dtype(dtype) if isinstance(dtype, str) else dtype


# Pytree structures


class _CustomNode(NamedTuple):
    """The functions that write and read the pytree nodes of one class."""
    nodetype: type
    name: str
    serialize: Callable[[Any], bytes]
    deserialize: Callable[[bytes], Any]
    from_children: Callable[[Any, Sequence[Any]], Any]


_by_type: dict[type, _CustomNode] = {}
_by_name: dict[str, _CustomNode] = {}


def register_pytree_node_serialization(nodetype: type, *, serialized_name: str, serialize_auxdata: Callable[[Any], bytes],
                                       deserialize_auxdata: Callable[[bytes], Any],
                                       from_children: Callable[[Any, Sequence[Any]], Any] | None = None) -> type:
    """Lets exported functions take and return nodes of a registered pytree class.

    Args:
      nodetype: the class, already registered as a pytree node.
      serialized_name: the name of the class in the file; must be the same where the file is read.
      serialize_auxdata, deserialize_auxdata: from the node's static data to bytes and back.
      from_children: makes a node from static data and children; by default the function that the class was registered with.

    Returns:
      `nodetype`.

    Raises:
      ValueError: if the class or the name has been registered.
    """
    def as_registered(auxiliary: Any, children: Sequence[Any]) -> Any:
        treedef = make_from_node_data_and_children((nodetype, auxiliary), [tree_structure(child) for child in children])
        return tree_unflatten(treedef, tree_leaves(children))

    from_children = from_children or as_registered
    return _register(_CustomNode(nodetype, serialized_name, serialize_auxdata, deserialize_auxdata, from_children))


def register_namedtuple_serialization(nodetype: type, *, serialized_name: str) -> type:
    """Lets exported functions take and return values of a namedtuple class; arguments as for other nodes.

    Raises:
      ValueError: if the class is no namedtuple, or the class or the name has been registered.
    """
    if not (issubclass(nodetype, tuple) and hasattr(nodetype, "_fields")):
        raise ValueError(f"register_namedtuple_serialization: expected a namedtuple class, got {nodetype!r}")
    return _register(_CustomNode(nodetype, serialized_name, lambda _: b"", lambda _: None, lambda _, xs: nodetype(*xs)))


def _register(node: _CustomNode) -> type:
    for key, found in ((node.nodetype, _by_type.get(node.nodetype)), (node.name, _by_name.get(node.name))):
        if found is not None:
            raise ValueError(f"Duplicate serialization registration: that of {key!r} has been registered already, for "
                             f"{found.nodetype} as {found.name!r}")
    _by_type[node.nodetype] = _by_name[node.name] = node
    return node.nodetype


def tree_to_json(treedef: Any) -> Any:
    """A structure as lists: ["leaf"], ["tuple", ...], ["dict", keys, ...], ["custom", name, auxiliary data, ...]."""
    data = treedef.node_data()
    if data is None:
        return ["leaf"]
    nodetype, auxiliary = data
    children = [tree_to_json(child) for child in treedef.children()]
    if nodetype in (tuple, list, type(None)):
        return [nodetype.__name__, *children]
    if nodetype is dict and all(isinstance(key, (str, int)) and not isinstance(key, bool) for key in auxiliary):
        return ["dict", list(auxiliary), *children]
    if nodetype is dict:
        raise TypeError(f"export: Serialization is supported only for dictionaries with string keys, or ints; an argument or a result has "
                        f"a dictionary with the keys {auxiliary!r}. Make them strings.")
    if (custom := _by_type.get(nodetype)) is None:
        how = "register_namedtuple_serialization" if hasattr(nodetype, "_fields") else "register_pytree_node_serialization"
        raise ValueError(f"export: Cannot serialize a value of the unregistered type {nodetype.__module__}.{nodetype.__qualname__}, which "
                         f"is among the arguments or results. Call export.{how} for it.")
    return ["custom", custom.name, custom.serialize(auxiliary).hex(), *children]


def tree_from_json(described: Any) -> Any:
    """The structure that `tree_to_json` described.

    Raises:
      ValueError: if a class has not been registered here.
    """
    return tree_structure(_skeleton(described))


def _skeleton(described: list) -> Any:
    kind, *rest = described
    if kind == "leaf":
        return 0
    if kind == "NoneType":
        return None
    if kind in ("tuple", "list"):
        return {"tuple": tuple, "list": list}[kind](map(_skeleton, rest))
    if kind == "dict":
        return dict(zip(rest[0], map(_skeleton, rest[1:])))
    name, auxiliary, *children = rest
    if (custom := _by_name.get(name)) is None:
        raise ValueError(f"deserialize: the exported function takes or returns nodes of the class written as {name!r}, which has not "
                         "been registered here. Call export.register_pytree_node_serialization for it first.")
    return custom.from_children(custom.deserialize(bytes.fromhex(auxiliary)), [_skeleton(child) for child in children])
