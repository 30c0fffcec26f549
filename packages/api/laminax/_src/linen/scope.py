"""Scopes: the place of a module among the variables, and its streams of random keys.

The variables of a call are a dict of collections ("params", "batch_stats", ...), each a tree of dicts that follows the tree of
modules: the kernel of `Encoder.Dense_0` lies at `variables["params"]["Encoder"]["Dense_0"]["kernel"]`. A `Scope` is one place in these
trees, the same in all collections. All scopes of one call share a `Store`, which holds the trees and knows which may be written.

Random keys come from named streams. The n-th key that a module draws is the stream's key with a number folded in that is the
first four bytes of the SHA-1 hash of the module's path and n. So a module's keys depend on its place and on how many it has drawn
before, and on nothing that happens elsewhere; they are the keys that Flax draws.
"""

from __future__ import annotations

import hashlib
from typing import Any, Callable, Generic, Iterable, Mapping, NamedTuple, TypeVar

import numpy as np

from laminax_ir.pytrees.pytree import tree_leaves
from laminax_ir.tracing.trace import state

from laminax._src.linen import errors, metadata
from laminax._src.linen.filters import Filter, Names, names_of
from laminax._src.linen.frozen_dict import unfreeze
from laminax._src.numerics.floor import eval_shape
from laminax._src.numerics.random import keys as random_keys

T = TypeVar("T")


class Stream(NamedTuple):
    """A stream of keys: its key, and the path from there to the topmost scope, whose names are folded into each key that is drawn."""
    root: Any
    path: tuple[str | int, ...] = ()

    def key(self, *way: str | int) -> Any:
        """The key at a place: the stream's, with the hash of the path to there folded in."""
        digest = hashlib.sha1()
        for part in (*self.path, *way):
            digest.update(part.encode() if isinstance(part, str) else part.to_bytes((part.bit_length() + 7) // 8, "big"))
        return random_keys.fold_in(self.root, np.uint32(int.from_bytes(digest.digest()[:4], "big")))


class Counts:
    """How many keys were drawn of each stream, at a place and at the places below."""
    __slots__ = ("drawn", "below")

    def __init__(self) -> None:
        self.drawn: dict[str, int] = {}
        self.below: dict[str, Counts] = {}

    def next(self, stream: str) -> int:
        """The number of the next key."""
        self.drawn[stream] = number = self.drawn.get(stream, 0) + 1
        return number

    def at(self, name: str) -> Counts:
        """The counts of the place `name` below this one."""
        if (below := self.below.get(name)) is None:
            below = self.below[name] = Counts()
        return below

    def saved(self) -> tuple[Any, ...]:
        """All counts as one hashable value, for `restore`."""
        return tuple(self.drawn.items()), tuple((name, counts.saved()) for name, counts in self.below.items())

    def restore(self, saved: tuple[Any, ...]) -> None:
        """Sets all counts to what they were."""
        drawn, below = saved
        self.drawn = dict(drawn)
        for name, counts in below:
            self.at(name).restore(counts)
        for name in self.below.keys() - {name for name, _ in below}:
            self.below[name] = Counts()


class Store:
    """The variables and streams of keys of one call of `init`, `apply` or a lifted function, shared by its scopes."""
    __slots__ = ("variables", "streams", "mutable", "flags", "trace", "closed", "adopted")

    def __init__(self, variables: Mapping[str, Any], streams: dict[str, Stream], mutable: Filter, flags: Mapping[str, Any]) -> None:
        self.mutable: Names = names_of(mutable)
        # what may be written is copied: the caller's dicts stay as they are
        self.variables: dict[str, Any] = {name: unfreeze(tree) if name in self.mutable else tree for name, tree in variables.items()}
        self.streams: dict[str, Stream] = streams
        self.flags: dict[str, Any] = dict(flags)
        self.trace: Any = state.trace
        self.closed: bool = False
        self.adopted: dict[int, tuple[Any, Any]] = {}  # modules made elsewhere, by id, beside their clones of this call

    def close(self) -> None:
        """Ends the life of the scopes, and lets go of all arrays: modules and scopes refer to one another, and live on for a while."""
        self.closed = True
        self.variables, self.streams, self.adopted = {}, {}, {}


class Scope:
    """A place among the variables, and the streams of keys there.

    Args:
      variables: the collections, `{"params": {...}}`.
      rngs: keys by the name of their stream.
      name: the name of the place; None for the root.
      mutable: which collections may be written.
      parent: the scope above.
      path: the names from the root of all modules to this place.
      flags: what `get_flag` finds, such as `initializing`.
    """

    def __init__(
        self, variables: Mapping[str, Any], rngs: Mapping[str, Any] | None = None, name: str | None = None, mutable: Filter = False,
        parent: Scope | None = None, path: Iterable[str] = (), debug_path: Iterable[str] = (), flags: Mapping[str, Any] | None = None,
    ) -> None:
        streams = {key: rng if isinstance(rng, Stream) else Stream(rng) for key, rng in (rngs or {}).items()}
        self.store: Store = Store(variables, streams, mutable, flags or {}) if parent is None else parent.store
        self.name: str | None = name
        self.parent: Scope | None = parent
        self.path: tuple[str, ...] = tuple(path)
        self.debug_path: tuple[str, ...] = tuple(debug_path) or self.path
        self.within: tuple[str, ...] = () if parent is None else (*parent.within, str(name))  # the way from the store's root
        self.counts: Counts = Counts()
        self.reservations: dict[str, set[str | None]] = {}  # the collections that have a variable of this name; None: a submodule

    # The place.

    @property
    def path_text(self) -> str:
        """The path for messages, "/encoder/Dense_0"."""
        return "/" + "/".join(self.debug_path)

    @property
    def root(self) -> Scope:
        """The topmost scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def push(self, name: str, reuse: bool = False) -> Scope:
        """The scope of a submodule.

        Raises:
          ValueError: there is a variable or a submodule of this name, and not `reuse`.
        """
        self._check_usable()
        if not reuse or not self.name_reserved(name):
            self.reserve(name)
        return self.below(name)

    def below(self, name: str) -> Scope:
        """The scope one step down, without a claim to its name."""
        scope = Scope({}, {}, name, parent=self, path=(*self.path, name), debug_path=(*self.debug_path, name))
        scope.counts = self.counts.at(name)
        return scope

    def rewound(self) -> Scope:
        """This scope with its names free again, for another call of the same module."""
        scope = Scope({}, {}, self.name, parent=self.parent or self, path=self.path, debug_path=self.debug_path)
        scope.parent, scope.within, scope.counts = self.parent, self.within, self.counts
        return scope

    def name_reserved(self, name: str, collection: str | None = None) -> bool:
        """Whether a submodule has this name, or a variable: of the collection, if one is given, else of any."""
        taken = self.reservations.get(name, ())
        return bool(taken) and (collection is None or None in taken or collection in taken)

    def reserve(self, name: str, collection: str | None = None) -> None:
        """Claims the name for a variable of the collection, or for a submodule.

        Raises:
          TypeError: the name is no string.
          ValueError: it is taken.
        """
        if not isinstance(name, str):
            raise TypeError(f"names of variables and modules are strings, got {name!r}, a {type(name).__name__}, in \"{self.path_text}\".")
        if self.name_reserved(name, collection):
            raise ValueError(f'Duplicate use of name: "{name}" in "{self.path_text}"')
        self.reservations.setdefault(name, set()).add(collection)

    def get_flag(self, key: str, default: Any = None) -> Any:
        """The value of a flag of this call."""
        return self.store.flags.get(key, default)

    # Variables.

    def collection(self, name: str) -> Mapping[str, Any]:
        """This place's variables of a collection, and the places below it."""
        tree = self.store.variables.get(name)
        for step in self.within:
            if not tree:
                break
            tree = tree.get(step)
        return {} if tree is None else tree

    def _writable_collection(self, name: str) -> dict[str, Any]:
        tree = self.store.variables.setdefault(name, {})
        for step in self.within:
            tree = tree.setdefault(step, {})
        return tree

    def variables(self) -> dict[str, Mapping[str, Any]]:
        """This place's variables by collection; collections without any are left out."""
        return {name: here for name in self.store.variables if (here := self.collection(name))}

    def mutable_variables(self) -> dict[str, Any]:
        """The variables of the collections that may be written."""
        return {name: self.collection(name) for name in self.store.variables if name in self.store.mutable}

    def is_mutable_collection(self, name: str) -> bool:
        """Whether variables of the collection may be written."""
        return name in self.store.mutable

    def is_collection_empty(self, name: str) -> bool:
        """Whether the collection has no variables at this place or below."""
        return not self.collection(name)

    def has_variable(self, collection: str, name: str) -> bool:
        """Whether there is such a variable."""
        return name in self.collection(collection)

    def get_variable(self, collection: str, name: str, default: Any = None) -> Any:
        """The variable's value, in its box if it has one."""
        self._check_valid()
        return self.collection(collection).get(name, default)

    def put_variable(self, collection: str, name: str, value: Any) -> None:
        """Sets a variable. A dict is merged into that which is there.

        Raises:
          ModifyScopeVariableError: the collection must not be written.
        """
        self._check_usable()
        if not self.is_mutable_collection(collection):
            raise errors.ModifyScopeVariableError(collection, name, self.path_text)
        _merge(self._writable_collection(collection), name, value)

    def variable(
        self, collection: str, name: str, init_fn: Callable[..., T] | None = None, *init_args: Any, unbox: bool = True, **init_kwargs: Any
    ) -> Variable[T]:
        """The variable of this name, which is initialized if it is not there.

        Raises:
          ScopeCollectionNotFound: the collection is empty and may not be written.
          ScopeVariableNotFoundError: it has no such variable and may not be written, or there is no `init_fn`.
        """
        self.reserve(name, collection)
        if not self.has_variable(collection, name):
            if not self.is_mutable_collection(collection) or init_fn is None:
                if self.is_collection_empty(collection):
                    raise errors.ScopeCollectionNotFound(collection, name, self.path_text)
                raise errors.ScopeVariableNotFoundError(name, collection, self.path_text)
            self.put_variable(collection, name, init_fn(*init_args, **init_kwargs))
        return Variable(self, collection, name, unbox=unbox)

    def param(self, name: str, init_fn: Callable[..., T], *init_args: Any, unbox: bool = True, **init_kwargs: Any) -> T:
        """The parameter of this name. If it is not there it is initialized, by `init_fn(key, *init_args, **init_kwargs)`.

        Raises:
          ScopeCollectionNotFound, ScopeParamNotFoundError: it is not there and may not be written.
          ScopeParamShapeError: it has another shape than `init_fn` gives.
        """
        self.reserve(name, "params")
        if self.has_variable("params", name):
            value = self.get_variable("params", name)
            _check_shapes(name, self.path_text, metadata.unbox(value), init_fn, init_args, init_kwargs)
        else:
            if not self.is_mutable_collection("params"):
                if self.is_collection_empty("params"):
                    raise errors.ScopeCollectionNotFound("params", name, self.path_text)
                raise errors.ScopeParamNotFoundError(name, self.path_text)
            value = init_fn(self.make_rng("params"), *init_args, **init_kwargs)
            self.put_variable("params", name, value)
        return metadata.unbox(value) if unbox else value

    # Random keys.

    def has_rng(self, name: str) -> bool:
        """Whether there is a stream of this name."""
        return name in self.store.streams

    def make_rng(self, name: str = "params") -> Any:
        """The next key of a stream. Where there is none of this name, `params` stands in.

        Raises:
          InvalidRngError: there is no such stream, nor `params`.
        """
        self._check_usable()
        streams = self.store.streams
        if name not in streams:
            if "params" not in streams:
                raise errors.InvalidRngError(f'{self.name} needs PRNG for "{name}". Pass rngs={{"{name}": key}} to init or apply; '
                                             f"there are streams {sorted(streams)}.")
            name = "params"
        return streams[name].key(*self.within, self.counts.next(name))

    # Its time.

    def close(self) -> None:
        """Ends the life of all scopes of this call."""
        self.store.close()

    def _check_valid(self) -> None:
        if self.store.closed:
            raise errors.InvalidScopeError(self.name)

    def _check_usable(self) -> None:
        self._check_valid()
        if self.store.trace is not state.trace:
            raise errors.JaxTransformError


def _merge(tree: dict[str, Any], name: str, value: Any) -> None:
    """Sets an item; dicts are merged, since other scopes may hold on to those that are there."""
    old = tree.get(name)
    if isinstance(old, Mapping) and isinstance(value, Mapping):
        for key, item in value.items():
            _merge(old, key, item)  # type: ignore[arg-type]  # what may be written are dicts
    else:
        tree[name] = unfreeze(value)


class Variable(Generic[T]):
    """A variable of a module: a name in a collection. `value` reads and writes it.

    Example:
      >>> count = self.variable("counts", "calls", lambda: 0)  # doctest: +SKIP
      >>> count.value += 1                                     # doctest: +SKIP
    """
    __slots__ = ("scope", "collection", "name", "unbox")

    def __init__(self, scope: Scope, collection: str, name: str, unbox: bool = True) -> None:
        self.scope: Scope = scope
        self.collection: str = collection
        self.name: str = name
        self.unbox: bool = unbox

    @property
    def value(self) -> T:
        """The value, without the box around it unless the variable was made with unbox=False."""
        value = self.scope.get_variable(self.collection, self.name)
        return metadata.unbox(value) if self.unbox else value

    @value.setter
    def value(self, value: T) -> None:
        if self.unbox and self.scope.has_variable(self.collection, self.name):
            value = metadata.replace_boxed(self.scope.get_variable(self.collection, self.name), value)
        self.scope.put_variable(self.collection, self.name, value)

    def is_mutable(self) -> bool:
        """Whether the value may be set."""
        return self.scope.is_mutable_collection(self.collection)


def _check_shapes(
    name: str, path: str, value: Any, init_fn: Callable[..., Any], init_args: tuple[Any, ...], init_kwargs: Mapping[str, Any]
) -> None:
    """Raises where a parameter was given in another shape than it would be initialized in.

    Raises:
      errors.ScopeParamShapeError: with both shapes.
    """
    expected = eval_shape(lambda: init_fn(random_keys.key(0), *init_args, **init_kwargs))
    for given, wanted in zip(tree_leaves(value), tree_leaves(expected)):
        if np.shape(given) != np.shape(wanted):
            raise errors.ScopeParamShapeError(name, path, np.shape(given), np.shape(wanted))
