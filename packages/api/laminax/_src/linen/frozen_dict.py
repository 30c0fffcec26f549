"""`FrozenDict`, a dict that cannot be changed: what containers in attributes become, and what older checkpoints hold."""

from __future__ import annotations

from typing import Any, Generic, Hashable, Iterable, Iterator, Mapping, TypeVar

from laminax_ir.pytrees.pytree import DictKey, register_pytree_with_keys

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(Mapping[K, V], Generic[K, V]):
    """A dict that cannot be changed, nor can the dicts in it; it is a pytree, and has a hash where its values have one.

    Example:
      >>> from laminax import linen as nn
      >>> variables = nn.FrozenDict({"params": {"kernel": 1}})
      >>> variables["params"]["kernel"]
      1
    """
    __slots__ = ("_dict", "_hash")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._dict: dict[Any, Any] = {key: _frozen(value) for key, value in dict(*args, **kwargs).items()}
        self._hash: int | None = None

    def __getitem__(self, key: K) -> V:
        return self._dict[key]

    def __setitem__(self, key: K, value: V) -> None:
        raise ValueError(f"FrozenDict is immutable: cannot set {key!r}. Use copy({{...}}) or unfreeze().")

    def __contains__(self, key: object) -> bool:
        return key in self._dict

    def __iter__(self) -> Iterator[K]:
        return iter(self._dict)

    def __len__(self) -> int:
        return len(self._dict)

    def __repr__(self) -> str:
        return self.pretty_repr()

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (self.unfreeze(),)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._dict.items()))
        return self._hash

    def pretty_repr(self, num_spaces: int = 4) -> str:
        """The dict with one item per line, inner dicts indented."""
        return f"FrozenDict({_pretty(self._dict, num_spaces)})" if self._dict else "FrozenDict({})"

    def copy(self, add_or_replace: Mapping[K, V] | None = None) -> FrozenDict[K, V]:
        """A copy, with the items of `add_or_replace` added or in place of earlier ones."""
        return FrozenDict({**self, **unfreeze(add_or_replace or {})})

    def pop(self, key: K) -> tuple[FrozenDict[K, V], V]:
        """A copy without the key, and the key's value."""
        rest = dict(self._dict)
        value = rest.pop(key)
        return FrozenDict(rest), value

    def unfreeze(self) -> dict[K, V]:
        """The items as a dict of dicts that can be changed."""
        return unfreeze(self)


def _frozen(value: Any) -> Any:
    return FrozenDict(value) if isinstance(value, dict) else value


def _pretty(tree: Mapping, spaces: int) -> str:
    lines = [f"{key!r}: {_pretty(value, spaces) if isinstance(value, Mapping) else repr(value)},\n" for key, value in tree.items()]
    inner = "".join(lines).rstrip("\n").replace("\n", "\n" + " " * spaces)
    return "{\n" + " " * spaces + inner + "\n}" if lines else "{}"


def freeze(xs: Mapping[Any, Any]) -> FrozenDict[Any, Any]:
    """A dict of dicts as a FrozenDict."""
    return xs if isinstance(xs, FrozenDict) else FrozenDict(unfreeze(xs))


def unfreeze(x: Any) -> Any:
    """A mapping as a dict of dicts that can be changed; subclasses of dict and other values as they are."""
    is_plain = type(x) is dict or isinstance(x, Mapping) and not isinstance(x, dict)
    return {key: unfreeze(value) for key, value in x.items()} if is_plain else x


def _flatten(x: FrozenDict) -> tuple[Iterable[Any], Hashable]:
    keys = sorted(x)
    return [x[key] for key in keys], tuple(keys)


def _flatten_with_keys(x: FrozenDict) -> tuple[Iterable[tuple[Any, Any]], Hashable]:
    keys = sorted(x)
    return [(DictKey(key), x[key]) for key in keys], tuple(keys)


register_pytree_with_keys(FrozenDict, _flatten_with_keys, lambda keys, values: FrozenDict(zip(keys, values)), _flatten)
