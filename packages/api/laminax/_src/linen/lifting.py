"""Lifting: how a transformation of pure functions becomes one of modules.

`vmap`, `grad`, `scan` and the like take pure functions, arrays in and arrays out. A method of a module is no such function. Take

    class Dense(nn.Module):
        @nn.compact
        def __call__(self, x):
            kernel = self.param("kernel", init, (x.shape[-1], 8))   # reads a variable, or makes one with a random key
            return x @ kernel

It reads and writes variables and draws random keys behind the back of whoever calls it, through `self.scope`. But there is nothing else
that it does behind his back, and a scope is only data: trees of variables, keys by stream, and how many keys were drawn. So the method
*is* a pure function, of its arguments and of that data:

    (variables, keys, x)  ->  (variables, y)

Lifting writes it as one, has it transformed, and puts the variables back. `Border` is the line between the outside, where the
module lives, and the inside, which the transformation sees. Things cross it in four steps, and every lifted transformation is these four
around a plain one:

    border = Border(scopes, variables_in, variables_out, rngs)
    variables, keys = border.take()                     # 1. out of the scopes: what goes in, as pytrees of arrays

    def pure(variables, keys, *args):
        inner = border.open(variables, keys)            # 2. inside: new scopes that hold what arrived,
        y = call(inner, *args)                          #    the method, run on a clone of the module with these scopes,
        return y, border.close(inner)                   # 3. and out of them again: what it has written

    y, written = some_transformation(pure)(variables, keys, *args)
    border.put(written)                                 # 4. into the scopes outside

This whole text is `remat`, if the transformation is `checkpoint`. (How a module is cloned, and what becomes of modules among the
arguments, is in `module_calls.py`; the transformations are in `lifted_calls.py`, `lifted_loops.py` and `lifted_derivatives.py`.)

Which variables cross, and how, is the user's choice. A `vmap` may share the parameters and give each example statistics of its own;
so variables come in groups, one for each filter of collections in `variables_in`, and the transformation treats each group alike:
`in_axes=None` for one, 0 for the other. The same holds for random keys: a stream of a group that is to be split is replaced by as
many keys as there are examples. A collection that no filter names stays outside, and for the methods inside it does not exist; one that
is not in `variables_out` can be read inside and not written.

Scopes overlap. The scope of a submodule is a part of that of its parent, and were both taken, a variable would be taken twice, and one
of the two copies written back last. So only the outermost of the scopes are taken ("roots"); the others are found below them again.

Random keys are drawn by number, and the numbers are counted in Python, while a function is traced. Inside and outside share the counters
(`Scope.counts`), so that nothing is drawn twice: a key that was drawn inside is not drawn again outside.
"""

from __future__ import annotations

from typing import Any, Hashable, Mapping, NamedTuple, Sequence

from laminax_ir.pytrees.pytree import tree_map

from laminax._src.linen.filters import NO_NAMES, Filter, grouped, names_of
from laminax._src.linen.scope import Scope, Stream
from laminax._src.numerics.random import keys as random_keys

Collections = Mapping[str, Any]  # trees of variables by collection, at one root
Groups = tuple[tuple[Collections, ...], ...]  # for each filter, for each root
Keys = tuple[tuple[Mapping[str, Any], ...], ...]  # for each filter, for each root, keys by stream


class _Place(NamedTuple):
    """Where a scope is: the number of its root, and the names on the way down from there."""
    root: int
    way: tuple[str, ...]


class Border:
    """The line between scopes and a pure function.

    Args:
      scopes: those that the function may use.
      variables_in: the collections that go in, a filter for each group.
      variables_out: those that come out, likewise.
      rngs: the streams of keys that go in, likewise.
      label: the transformation, for `Module.debug_path`.
    """

    def __init__(
        self, scopes: Sequence[Scope], variables_in: Sequence[Filter], variables_out: Sequence[Filter], rngs: Sequence[Filter],
        label: str = "",
    ) -> None:
        self.roots, self.places = _outermost(scopes)
        self.variables_in = [names_of(names) for names in variables_in]
        self.variables_out = [names_of(names) for names in variables_out]
        self.rngs = [names_of(names) for names in rngs]
        self.label = label
        self.written = NO_NAMES
        for names in self.variables_out:
            self.written = self.written | names
        # A stream is a key and a path to be folded into it. Keys go in, paths are Python and stay here.
        self.paths = [{name: (*stream.path, *root.within) for name, stream in root.store.streams.items()} for root in self.roots]

    def take(self) -> tuple[Groups, Keys]:
        """The variables and the keys that go in, in groups."""
        variables = [grouped(root.variables(), self.variables_in) for root in self.roots]
        keys = [grouped({name: stream.root for name, stream in root.store.streams.items()}, self.rngs) for root in self.roots]
        return _by_filter(variables, len(self.variables_in)), _by_filter(keys, len(self.rngs))

    def open(self, variables: Groups, keys: Keys, mutable: Filter = True) -> list[Scope]:
        """Scopes inside that hold these variables and keys, in the order of the scopes outside.

        Args:
          variables: the groups, as the transformation hands them over.
          keys: likewise.
          mutable: the collections that may be written, of those that come out and are mutable outside.
        """
        inner = []
        for i, root in enumerate(self.roots):
            here = {name: tree for group in variables for name, tree in group[i].items()}
            streams = {name: Stream(key, self.paths[i][name]) for group in keys for name, key in group[i].items()}
            names = root.store.mutable & self.written & names_of(mutable)
            scope = Scope(_rebuilt(here), streams, root.name, names, path=root.path, debug_path=self._labelled(root),
                          flags=root.store.flags)
            scope.counts = root.counts
            inner.append(scope)
        return [_below(inner[place.root], place.way) for place in self.places]

    def close(self, inner: Sequence[Scope]) -> Groups:
        """What was written inside, in groups; the scopes inside are not to be used any more."""
        roots = {place.root: scope.root for place, scope in zip(self.places, inner)}
        written = [grouped(roots[i].mutable_variables(), self.variables_out) for i in range(len(roots))]
        for root in roots.values():
            root.close()
        return _by_filter(written, len(self.variables_out))

    def put(self, written: Groups) -> None:
        """Writes what comes out into the scopes outside."""
        for group in written:
            for root, collections in zip(self.roots, group):
                for collection, tree in collections.items():
                    if root.is_mutable_collection(collection):
                        for name, value in tree.items():
                            root.put_variable(collection, name, value)

    def folded(self, keys: Keys) -> Keys:
        """The groups with a newly drawn key in place of each, which stands for its stream at whatever place that is.

        Then programs do not depend on the place where a module is used, and one serves all layers of a kind.
        """
        drawn = tuple(
            tuple({name: root.make_rng(name) for name in by_stream} for root, by_stream in zip(self.roots, group)) for group in keys)
        self.paths = [dict.fromkeys(root.store.streams, ()) for root in self.roots]
        return drawn

    def key(self) -> Hashable:
        """What the inside depends on beside variables and keys: a part of the key of compiled programs."""
        return (tuple(self.places), self.counts(),
                tuple((root.store.mutable & self.written, tuple(sorted(root.store.flags.items()))) for root in self.roots))

    def counts(self) -> Hashable:
        """How many keys were drawn."""
        return tuple(root.counts.saved() for root in self.roots)

    def set_counts(self, counts: Any) -> None:
        """Sets what `counts` gave."""
        for root, saved in zip(self.roots, counts):
            root.counts.restore(saved)

    def _labelled(self, root: Scope) -> tuple[str, ...]:
        if not self.label:
            return root.debug_path
        *above, name = root.debug_path or ("",)
        return (*above, f"{self.label}({name})")


def _outermost(scopes: Sequence[Scope]) -> tuple[list[Scope], list[_Place]]:
    """The scopes that lie in no other one, and where each scope is below them."""
    def contains(outer: Scope, scope: Scope) -> bool:
        return outer.store is scope.store and scope.within[:len(outer.within)] == outer.within

    roots: list[Scope] = []
    for scope in sorted(scopes, key=lambda scope: len(scope.within)):  # the shorter the way, the further out
        if not any(contains(root, scope) for root in roots):
            roots.append(scope)
    roots.sort(key=lambda root: next(i for i, scope in enumerate(scopes) if contains(root, scope)))  # as they were given
    places = []
    for scope in scopes:
        root = next(i for i, root in enumerate(roots) if contains(root, scope))
        places.append(_Place(root, scope.within[len(roots[root].within):]))
    return roots, places


def _below(scope: Scope, way: Sequence[str]) -> Scope:
    for name in way:
        scope = scope.push(name, reuse=True)
    return scope


def _by_filter(by_root: Sequence[Sequence[Any]], filters: int) -> tuple[tuple[Any, ...], ...]:
    """Groups by filter and then by root, of groups by root and then by filter."""
    return tuple(tuple(groups[i] for groups in by_root) for i in range(filters))


def _rebuilt(tree: Any) -> Any:
    """The tree in new containers: those of the outside are not for the inside to change."""
    return tree_map(lambda x: x, tree)


def split_keys(keys: Keys, splits: Sequence[bool], size: int) -> Keys:
    """The groups of keys, with `size` keys in place of each key of a group that is to be split."""
    return tuple(
        tree_map(lambda key: random_keys.split(key, size), group) if split else group for group, split in zip(keys, splits))


def keys_of_step(keys: Keys, splits: Sequence[bool], step: Any) -> Keys:
    """The groups of keys, with the number of a step folded into each key of a group that is to be split."""
    return tuple(tree_map(lambda key: random_keys.fold_in(key, step), group) if split else group for group, split in zip(keys, splits))


class In(NamedTuple):
    """An axis of variables that only go in: `variable_axes={"params": In(0)}`."""
    axis: Any


class Out(NamedTuple):
    """An axis of variables that only come out."""
    axis: Any


def axes_in_and_out(variable_axes: Mapping[Filter, Any]) -> tuple[dict[Filter, Any], dict[Filter, Any]]:
    """The axes of the groups that go in, and of those that come out."""
    going_in = {names: axis.axis if isinstance(axis, In) else axis for names, axis in variable_axes.items() if not isinstance(axis, Out)}
    coming_out = {names: axis.axis if isinstance(axis, Out) else axis for names, axis in variable_axes.items() if not isinstance(axis, In)}
    return going_in, coming_out
