"""Nodes of pytrees, for the registry in pure Python: keys, the steps of a path, and kinds, which take a node apart and put it together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

# --- keys: one step of a path ------------------------------------------------------------------------


class _Key:
    """A step from a node to one of its children: a value with equality, a hash and two spellings."""

    __slots__ = ("_value",)
    __match_args__: tuple[str, ...] = ()

    _value: Any

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._value == other._value

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._value))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__match_args__[0]}={self._value!r})"

    def __reduce__(self) -> tuple[type[Any], tuple[Any]]:
        return type(self), (self._value,)


class SequenceKey(_Key):
    """The step `[idx]` into a tuple or list."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ("idx",)

    def __init__(self, idx: int) -> None:
        self._value = idx

    @property
    def idx(self) -> int:
        return self._value

    def __str__(self) -> str:
        return f"[{self._value!r}]"


class DictKey(_Key):
    """The step `[key]` into a mapping."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ("key",)

    def __init__(self, key: str) -> None:
        self._value = key

    @property
    def key(self) -> Any:
        return self._value

    def __str__(self) -> str:
        return f"[{self._value!r}]"


class GetAttrKey(_Key):
    """The step `.name` to an attribute."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ("name",)

    def __init__(self, name: str) -> None:
        self._value = name

    @property
    def name(self) -> str:
        return self._value

    def __str__(self) -> str:
        return f".{self._value}"


class FlattenedIndexKey(_Key):
    """The step to the `key`-th child of a node whose type was registered without keys."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ("key",)

    def __init__(self, key: int) -> None:
        self._value = key

    @property
    def key(self) -> int:
        return self._value

    def __str__(self) -> str:
        return f"[<flat index {self._value}>]"


# --- kinds: how a node of one type comes apart -------------------------------------------------------


class Kind:
    """How nodes of one container type are taken apart, put together and printed."""

    __slots__ = ("type",)

    def __init__(self, nodetype: type[Any] | None) -> None:
        self.type: Any = nodetype

    def flatten(self, tree: Any) -> tuple[Sequence[Any], Any]:
        """Returns (children, static data)."""
        return tree, None

    def flatten_with_keys(self, tree: Any) -> tuple[Sequence[tuple[Any, Any]], Any]:
        """Returns ((key, child) pairs, static data)."""
        children, data = self.flatten(tree)
        return tuple([(SequenceKey(i), child) for i, child in enumerate(children)]), data

    def unflatten(self, data: Any, children: list[Any]) -> Any:
        raise NotImplementedError

    def type_of(self, data: Any) -> type[Any]:
        """Returns the exact type that a node with this static data has."""
        return self.type

    def node_data(self, data: Any) -> Any:
        """Returns the static data as `PyTreeDef.node_data` shows it."""
        return data

    def show(self, data: Any, children: list[str]) -> str:
        return f"CustomNode({self.type.__name__}[{data}], [{', '.join(children)}])"


class NoneKind(Kind):
    __slots__ = ()

    def flatten(self, tree: Any) -> tuple[Sequence[Any], Any]:
        return (), None

    def unflatten(self, data: Any, children: list[Any]) -> Any:
        return None

    def show(self, data: Any, children: list[str]) -> str:
        return "None"


class TupleKind(Kind):
    __slots__ = ()

    def unflatten(self, data: Any, children: list[Any]) -> Any:
        return tuple(children)

    def show(self, data: Any, children: list[str]) -> str:
        return f"({children[0]},)" if len(children) == 1 else f"({', '.join(children)})"


class ListKind(Kind):
    __slots__ = ()

    def unflatten(self, data: Any, children: list[Any]) -> Any:
        return list(children)

    def show(self, data: Any, children: list[str]) -> str:
        return f"[{', '.join(children)}]"


class DictKind(Kind):
    __slots__ = ()

    def flatten(self, tree: Any) -> tuple[Sequence[Any], Any]:
        try:
            keys = sorted(tree)
        except Exception as error:
            raise ValueError(
                f"The keys of a dict in a pytree must be sortable, got {list(tree)}: {error}"
            ) from error
        return [tree[key] for key in keys], tuple(keys)

    def flatten_with_keys(self, tree: Any) -> tuple[Sequence[tuple[Any, Any]], Any]:
        children, keys = self.flatten(tree)
        return tuple([(DictKey(key), child) for key, child in zip(keys, children)]), keys

    def unflatten(self, data: Any, children: list[Any]) -> Any:
        return dict(zip(data, children))

    def node_data(self, data: Any) -> Any:
        return list(data)

    def show(self, data: Any, children: list[str]) -> str:
        return "{" + ", ".join(f"{key!r}: {child}" for key, child in zip(data, children)) + "}"


class NamedTupleKind(Kind):
    """All namedtuple types that nobody registered; the type itself is the static data."""

    __slots__ = ()

    def flatten(self, tree: Any) -> tuple[Sequence[Any], Any]:
        return tree, type(tree)

    def flatten_with_keys(self, tree: Any) -> tuple[Sequence[tuple[Any, Any]], Any]:
        names = type(tree)._fields
        return [(GetAttrKey(name), child) for name, child in zip(names, tree)], type(tree)

    def unflatten(self, data: Any, children: list[Any]) -> Any:
        return data(*children)

    def type_of(self, data: Any) -> type[Any]:
        return data

    def node_data(self, data: Any) -> Any:
        return None

    def show(self, data: Any, children: list[str]) -> str:
        return f"CustomNode(namedtuple[{data.__name__}], [{', '.join(children)}])"


class CustomKind(Kind):
    """A type registered with functions."""

    __slots__ = ("to_iterable", "from_iterable", "to_iterable_with_keys")

    def __init__(self, nodetype: type[Any], to_iterable: Callable[..., Any], from_iterable: Callable[..., Any],
                 to_iterable_with_keys: Callable[..., Any] | None) -> None:
        self.type = nodetype
        self.to_iterable = to_iterable
        self.from_iterable = from_iterable
        self.to_iterable_with_keys = to_iterable_with_keys

    def flatten(self, tree: Any) -> tuple[Sequence[Any], Any]:
        return self._checked("flatten", self.to_iterable(tree))

    def flatten_with_keys(self, tree: Any) -> tuple[Sequence[tuple[Any, Any]], Any]:
        if self.to_iterable_with_keys is None:
            children, data = self.flatten(tree)
            return [(FlattenedIndexKey(i), child) for i, child in enumerate(children)], data
        pairs, data = self._checked("flatten-with-keys", self.to_iterable_with_keys(tree))
        for pair in pairs:
            if not (isinstance(pair, tuple) and len(pair) == 2):
                raise ValueError(
                    f"The flatten-with-keys function of {self.type} must return (key, child) pairs, got {pair!r}"
                )
        return pairs, data

    def _checked(self, which: str, result: tuple[Any, ...]) -> tuple[Sequence[Any], Any]:
        if not (isinstance(result, tuple) and len(result) == 2):
            raise ValueError(
                f"The {which} function of {self.type} must return a pair (children, static data), got {result!r}"
            )
        try:
            return tuple(result[0]), result[1]
        except TypeError as error:
            raise ValueError(
                f"The {which} function of {self.type} must return children that can be iterated, got {result[0]!r}"
            ) from error

    def unflatten(self, data: Any, children: list[Any]) -> Any:
        return self.from_iterable(data, tuple(children))


class DataclassKind(Kind):
    """A type whose children and static data are attributes, and which is made from keyword arguments."""

    __slots__ = ("data_fields", "meta_fields")

    def __init__(self, nodetype: type[Any], data_fields: Sequence[str], meta_fields: Sequence[str]) -> None:
        self.type = nodetype
        self.data_fields = tuple(data_fields)
        self.meta_fields = tuple(meta_fields)

    def flatten(self, tree: Any) -> tuple[Sequence[Any], Any]:
        children = [getattr(tree, name) for name in self.data_fields]
        return children, tuple([getattr(tree, name) for name in self.meta_fields])

    def flatten_with_keys(self, tree: Any) -> tuple[Sequence[tuple[Any, Any]], Any]:
        children, data = self.flatten(tree)
        return [(GetAttrKey(name), child) for name, child in zip(self.data_fields, children)], data

    def unflatten(self, data: Any, children: list[Any]) -> Any:
        return self.type(**dict(zip(self.meta_fields, data)), **dict(zip(self.data_fields, children)))


NAMEDTUPLE_KIND = NamedTupleKind(None)
