"""Prefixes: one tree that stops earlier than another, and where two trees part.

A prefix has a leaf where the full tree may have a whole subtree, and that leaf speaks for all of it:
`in_axes=(0, None)` for two arguments of any structure. The comparison that finds what does not fit
knows two kinds of sides, a tree and a bare treedef; a treedef has no keys of its own, so the other side names the
path where it can. It runs only when something is wrong already, so it is written to explain, not to be fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from laminax_ir.pytrees.backend import backend
from laminax_ir.pytrees.paths import KeyPath, flatten_one_level_with_keys, keystr, node_keys

registry = backend.registry
PyTreeDef = backend.PyTreeDef


def broadcast_prefix(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[Any]:
    """Repeats each leaf of a prefix for all leaves of the full tree that it speaks for.

    Args:
      prefix_tree: a tree prefix of `full_tree`.
      full_tree: the full tree.
      is_leaf: which nodes of `prefix_tree` to take as leaves, besides those that are; for example
        `lambda x: x is None`, to let None speak for a subtree.

    Returns:
      One value per leaf of `full_tree`, in its order.

    Raises:
      ValueError: it is not a prefix; the error names the path where the trees part.

    Example:
      >>> broadcast_prefix({"a": 0, "b": 1}, {"a": [10, 20], "b": 30})
      [0, 0, 1]
    """
    leaves, treedef = registry.flatten(prefix_tree, is_leaf)
    subtrees = flatten_up_to("broadcast_prefix", treedef, full_tree, "prefix_tree", "full_tree")
    result: list[Any] = []
    for leaf, subtree in zip(leaves, subtrees):
        result.extend([leaf] * registry.flatten(subtree)[1].num_leaves)
    return result


def tree_broadcast(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Gives a prefix the structure of the full tree, with each of its leaves repeated below it.

    Args:
      prefix_tree: a tree prefix of `full_tree`.
      full_tree: the full tree.
      is_leaf: which nodes of `prefix_tree` to take as leaves, besides those that are.

    Returns:
      A tree of the structure of `full_tree`.

    Raises:
      ValueError: it is not a prefix; the error names the path where the trees part.

    Example:
      >>> tree_broadcast({"a": 0, "b": 1}, {"a": [10, 20], "b": 30})
      {'a': [0, 0], 'b': 1}
    """
    leaves = broadcast_prefix(prefix_tree, full_tree, is_leaf)
    return registry.flatten(full_tree)[1].unflatten(leaves)


def flatten_axes(name: str, treedef: PyTreeDef, axis_tree: Any) -> list[Any]:
    """Spreads a tree of axes, or of any per-argument setting, over the leaves of a structure.

    None is a value here: it speaks for the subtree it stands for. No container is built, so
    constructors of registered types are not called.

    Args:
      name: what `axis_tree` is to the user, for errors: `"vmap in_axes"`.
      treedef: the full structure.
      axis_tree: a prefix of it.

    Returns:
      One value per leaf of `treedef`.

    Raises:
      ValueError: it is not a prefix; the error names the path where the two part.

    Example:
      >>> treedef = registry.flatten(({"w": 1.0, "b": 2.0}, 3.0))[1]
      >>> flatten_axes("in_axes", treedef, (0, None))
      [0, 0, None]
    """
    return broadcast_over(axis_tree, treedef, _is_none, name=name, prefix_name=None, full_name="argument tree")


def broadcast_over(
    prefix_tree: Any, treedef: PyTreeDef, is_leaf: Callable[[Any], bool] | None = None, *, name: str = "broadcast_prefix",
    prefix_name: str | None = "prefix_tree", full_name: str = "full_tree",
) -> list[Any]:
    """Does what `broadcast_prefix` does where only the structure of the full tree is known.

    No container is built: users' classes may refuse leaves that are not arrays.

    Args:
      prefix_tree: a tree prefix of every tree of this structure.
      treedef: the full structure.
      is_leaf: which nodes of `prefix_tree` to take as leaves, besides those that are.
      name, prefix_name, full_name: words for errors, as for `PrefixMismatch`.

    Returns:
      One value per leaf of `treedef`.

    Raises:
      ValueError: it is not a prefix; the error names the path where the two part.

    Example:
      >>> broadcast_over({"a": 0, "b": 1}, registry.flatten({"a": [10, 20], "b": 30})[1])
      [0, 0, 1]
    """
    result: list[Any] = []
    pending = [(_Side(tree=prefix_tree, is_leaf=is_leaf), _Side(treedef=treedef))]
    while pending:
        prefix, full = pending.pop()
        prefix_level, full_level = prefix.level(), full.level()
        if prefix_level is None:
            result.extend([prefix.tree] * cast(PyTreeDef, full.treedef).num_leaves)
        elif full_level is None or prefix_level.difference(full_level) is not None:
            mismatch = next(_mismatches(_Side(tree=prefix_tree, is_leaf=is_leaf), _Side(treedef=treedef)))
            raise mismatch(name, prefix_name, full_name)
        else:
            pending.extend(reversed(list(zip(prefix_level.children, full_level.children))))
    return result


def _is_none(value: Any) -> bool:
    return value is None


def flatten_up_to(caller: str, treedef: PyTreeDef, tree: Any, prefix_name: str, full_name: str) -> list[Any]:
    """Returns the subtrees of `tree` at the leaves of `treedef`.

    On a mismatch, raises the ValueError that names the path where the two part.
    """
    try:
        return treedef.flatten_up_to(tree)
    except ValueError:
        for mismatch in structure_errors(treedef, tree):
            raise mismatch(caller, prefix_name, full_name) from None
        raise


def prefix_errors(
    prefix_tree: Any, full_tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> list[PrefixMismatch]:
    """Finds all places where a tree is not a prefix of another.

    Args:
      prefix_tree: a tree.
      full_tree: a tree that it should be a prefix of.
      is_leaf: which nodes of `prefix_tree` to take as leaves, besides those that are.

    Returns:
      The mismatches, left to right; none if it is a prefix. Call one with a name for the prefix tree to
      get the ValueError to raise.

    Example:
      >>> [mismatch] = prefix_errors((0, [1, 2]), (5, [6]))
      >>> print(mismatch("in_axes"))
      in_axes: pytree structure error: different lengths of list at key path
          in_axes[1]
        in_axes[1] is a list of length 2
        full tree[1] is a list of length 1
      Give both the same number of children there, or end in_axes above it with a leaf.
    """
    return list(_mismatches(_Side(tree=prefix_tree, is_leaf=is_leaf), _Side(tree=full_tree)))


def mismatch_details(name: str, prefix_tree: Any, full: PyTreeDef, is_leaf: Callable[[Any], bool] | None = None) -> str:
    """All places where a tree is not a prefix of a structure, as the end of a message.

    Args:
      name: what the prefix is to the user, such as `"vmap in_axes"`.
      prefix_tree: a tree.
      full: the structure.
      is_leaf: which nodes of `prefix_tree` to take as leaves, besides those that are.

    Example:
      >>> print(mismatch_details("vmap in_axes", ([0],), registry.flatten((1,))[1]))
      Mismatch details (1 found):
      vmap in_axes: pytree structure error: different types at key path
          in_axes[0]
        in_axes[0] is a list of length 1
        full tree[0] is a leaf
      Give both the same container there, or end in_axes above it with a leaf.
    """
    found = list(_mismatches(_Side(tree=prefix_tree, is_leaf=is_leaf), _Side(treedef=full)))
    return "\n".join((f"Mismatch details ({len(found)} found):", *(str(mismatch(name)) for mismatch in found)))


def structure_errors(treedef: PyTreeDef, tree: Any, *, exact: bool = False) -> list[PrefixMismatch]:
    """Finds all places where a structure is not a prefix of a tree.

    Args:
      treedef: the structure.
      tree: the tree, or its structure.
      exact: whether the leaves of the structure must stand for leaves too.

    Returns:
      The mismatches, left to right; see `prefix_errors`.

    Example:
      >>> treedef = registry.flatten((0, 0))[1]
      >>> structure_errors(treedef, (1, [2]))
      []
      >>> [mismatch] = structure_errors(treedef, (1, [2]), exact=True)
      >>> keystr(mismatch.path), mismatch.full
      ('[1]', 'a list of length 1')
    """
    full = _Side(treedef=tree) if isinstance(tree, PyTreeDef) else _Side(tree=tree)
    return list(_mismatches(_Side(treedef=treedef), full, exact))


def structure_differences(treedef: PyTreeDef, other: PyTreeDef) -> Iterator[tuple[KeyPath, str, str, str]]:
    """Finds all places where two structures differ.

    Args:
      treedef, other: two structures of any containers.

    Returns:
      Of each place, left to right: the path from the root, what stands there in the first and in the second, in words with their
      article, and the reason they differ, as a clause.

    Example:
      >>> [(path, first, second, reason)] = structure_differences(registry.flatten((0, [1]))[1], registry.flatten((0, 1))[1])
      >>> keystr(path), first, second, reason
      ('[1]', "a <class 'list'>", 'a pytree leaf', 'their Python types differ')
    """
    pending: list[tuple[KeyPath, _Side, _Side]] = [((), _Side(treedef=treedef), _Side(treedef=other))]
    while pending:
        path, first, second = pending.pop()
        a, b = first.level(), second.level()
        if a is None or b is None or a.type is not b.type:
            if a is not b:
                yield path, *_both(lambda x: "a pytree leaf" if x is None else f"a {x.type}", a, b), "their Python types differ"
        elif len(a.children) != len(b.children):
            yield path, *_counts(a, b)
        elif _differ(a.data, b.data):
            yield path, *_both(lambda x: f"a {x.type} with pytree metadata {x.data!r}", a, b), "the pytree node metadata does not match"
        else:
            keys = node_keys(cast(PyTreeDef, second.treedef))
            children = [((*path, key), one, two) for key, one, two in zip(keys, a.children, b.children)]
            pending.extend(reversed(children))


def _both(describe: Callable[[Any], str], a: _Level | None, b: _Level | None) -> tuple[str, str]:
    return describe(a), describe(b)


def _counts(a: _Level, b: _Level) -> tuple[str, str, str]:
    if a.type in (tuple, list):
        return *_both(lambda x: f"a {a.type.__name__} of length {len(x.children)}", a, b), "the lengths do not match"
    reason = "the numbers of children do not match"
    if a.type is dict:
        keys = [key for key in (*a.data, *b.data) if key not in a.data or key not in b.data]
        reason += f", with the symmetric difference of key sets: {{{', '.join(map(repr, keys))}}}"
    return *_both(lambda x: f"a {a.type} with {len(x.children)} child{'' if len(x.children) == 1 else 'ren'}", a, b), reason


class PrefixMismatch:
    """One place where two trees part. Calling it makes the error.

    Attributes:
      path: from the root to the place.
      reason: what differs there, in words.
      prefix: what stands there in the prefix tree, in words.
      full: what stands there in the full tree, in words.
      advice: how to fix it, with `{prefix}` and `{full}` for the names of the trees.
    """

    __slots__ = ("path", "reason", "prefix", "full", "advice")

    def __init__(self, path: KeyPath, reason: str, prefix: str, full: str, advice: str) -> None:
        self.path: KeyPath = path
        self.reason: str = reason
        self.prefix: str = prefix
        self.full: str = full
        self.advice: str = advice

    def __repr__(self) -> str:
        return f"PrefixMismatch(at {keystr(self.path) or 'the root'}: {self.prefix}; {self.full})"

    def __call__(
        self, name: str, prefix_name: str | None = None, full_name: str = "full tree"
    ) -> ValueError:
        """Returns the error, said by `name` about trees of these names.

        Without a name of its own, the prefix has the last word of `name`: `in_axes` of `vmap in_axes`.
        """
        prefix_name = name.rpartition(" ")[2] if prefix_name is None else prefix_name
        where = keystr(self.path)
        return ValueError(
            f"{name}: pytree structure error: {self.reason} at key path\n    {prefix_name}{where}\n"
            f"  {prefix_name}{where} is {self.prefix}\n"
            f"  {full_name}{where} is {self.full}\n"
            + self.advice.replace("{prefix}", prefix_name).replace("{full}", full_name)
        )


# --- the comparison ----------------------------------------------------------------------------------


class _Side:
    """A tree or a treedef, looked at one level at a time."""

    __slots__ = ("tree", "treedef", "is_leaf")

    def __init__(self, *, tree: int | None = None, treedef: PyTreeDef | None = None, is_leaf: Callable[..., Any] | None = None) -> None:
        self.tree, self.treedef, self.is_leaf = tree, treedef, is_leaf

    def level(self) -> _Level | None:
        """Returns the root taken apart, or None for a leaf."""
        if self.treedef is not None:
            node_data = self.treedef.node_data()
            if node_data is None:
                return None
            children = [_Side(treedef=child) for child in self.treedef.children()]
            return _Level(node_data[0], _comparable(*node_data), None, children)
        if not registry.is_node(type(self.tree)) or (self.is_leaf is not None and self.is_leaf(self.tree)):
            return None
        pairs, data = flatten_one_level_with_keys(self.tree)
        children = [_Side(tree=child, is_leaf=self.is_leaf) for _, child in pairs]
        return _Level(type(self.tree), _comparable(type(self.tree), data), [key for key, _ in pairs], children)

    def describe(self, level: _Level | None) -> str:
        if level is not None:
            return level.describe()
        return "a leaf" if self.treedef is not None else f"a leaf of type {type(self.tree).__name__}"


def _comparable(nodetype: type[Any], data: Any) -> Any:
    """A level and a treedef spell the static data of two builtin kinds differently."""
    if nodetype is dict:
        return tuple(data)
    if data is nodetype:  # a namedtuple, whose treedef has None
        return None
    return data


class _Level:
    """A node, taken apart: type, static data, keys of the children if known, children."""

    __slots__ = ("type", "data", "keys", "children")

    def __init__(self, nodetype: type[Any], data: Any, keys: list[Any] | None, children: list[_Side]) -> None:
        self.type, self.data, self.keys, self.children = nodetype, data, keys, children

    def describe(self) -> str:
        if self.type is type(None):
            return "None"
        if self.type is dict:
            return f"a dict with keys {list(self.data)}"
        kind = _with_article(self.type)
        if self.type in (tuple, list):
            return f"{kind} of length {len(self.children)}"
        children = f"{len(self.children)} {'child' if len(self.children) == 1 else 'children'}"
        return f"{kind} with {children}" + ("" if self.data is None else f" and static data {self.data!r}")

    def difference(self, full: _Level) -> tuple[str, str] | None:
        """Returns how the two nodes differ, and advice; None if they are alike."""
        if self.type is not full.type:
            return _TYPES, _NONE_ADVICE if type(None) in (self.type, full.type) else _TYPE_ADVICE
        if self.type is dict and self.data != full.data:
            return _METADATA if len(self.data) == len(full.data) else _CHILDREN, _dict_advice(self.data, full.data)
        if len(self.children) != len(full.children):
            if self.type in (tuple, list):
                return f"different lengths of {self.type.__name__}", _LENGTH_ADVICE
            return _CHILDREN, _key_difference(self.keys, full.keys) + _LENGTH_ADVICE
        if _differ(self.data, full.data):
            return _METADATA, "Static data is part of the structure: give both equal static data there."
        return None


def _with_article(nodetype: type[Any]) -> str:
    return f"{'an' if nodetype.__name__[0] in 'AEIOUaeiou' else 'a'} {nodetype.__name__}"


def _dict_advice(prefix_keys: tuple[Any, ...], full_keys: tuple[Any, ...]) -> str:
    only_prefix = [key for key in prefix_keys if key not in full_keys]
    only_full = [key for key in full_keys if key not in prefix_keys]
    parts = []
    if only_prefix:
        parts.append("only {prefix} has the keys " + repr(only_prefix))
    if only_full:
        parts.append("only {full} has the keys " + repr(only_full))
    text = "; ".join(parts) or "the keys are in another order"
    difference = "".join(f"\n    [{key!r}]" for key in only_prefix + only_full)
    ends = f", so the symmetric difference on key sets is{difference}\n" if difference else ". "
    return f"{text[:1].upper()}{text[1:]}{ends}Give both the same keys there."


def _key_difference(prefix_keys: list[Any] | None, full_keys: list[Any] | None) -> str:
    """What a type with keys of its own has in one tree only; nothing where a side, being a bare treedef, has no keys."""
    names, full_names = ([keystr((key,)) for key in keys or ()] for keys in (prefix_keys, full_keys))
    different = [name for name in names if name not in full_names] + [name for name in full_names if name not in names]
    if prefix_keys is None or full_keys is None or not different:
        return ""
    return "There are keys in one tree only, so the symmetric difference on key sets is" + "".join(f"\n    {x}" for x in different) + "\n"


def _differ(a: Any, b: Any) -> bool:
    try:
        return bool(a != b)
    except Exception:  # arrays as static data; the registry refuses to compare them too
        return True


_TYPES, _CHILDREN, _METADATA = "different types", "different numbers of pytree children", "different pytree metadata"
_NONE_ADVICE = "None is a container without children; is_leaf=lambda x: x is None makes it a leaf."
_OR_PREFIX = ", or end {prefix} above it with a leaf"
_TYPE_ADVICE = f"Give both the same container there{_OR_PREFIX}."
_LENGTH_ADVICE = f"Give both the same number of children there{_OR_PREFIX}."
_LEAF_ADVICE = "{full} must have a leaf there."


def _mismatches(
    prefix: _Side, full: _Side, exact: bool = False, path: KeyPath = ()
) -> Iterator[PrefixMismatch]:
    prefix_level = prefix.level()
    if prefix_level is None and not exact:
        return
    full_level = full.level()
    if prefix_level is None and full_level is None:
        return
    difference: tuple[str, str] | None
    if prefix_level is None:
        difference = _TYPES, _LEAF_ADVICE
    elif full_level is None:
        difference = _TYPES, _NONE_ADVICE if prefix_level.type is type(None) else _TYPE_ADVICE
    else:
        difference = prefix_level.difference(full_level)
    if difference is not None:
        reason, advice = difference
        if exact:
            advice = advice.replace(_OR_PREFIX, "")
        yield PrefixMismatch(path, reason, prefix.describe(prefix_level), full.describe(full_level), advice)
        return
    if prefix_level is None or full_level is None:
        return  # then there was a difference
    keys = full_level.keys if prefix_level.keys is None else prefix_level.keys
    if keys is None:
        keys = node_keys(cast(PyTreeDef, full.treedef))
    for key, prefix_child, full_child in zip(keys, prefix_level.children, full_level.children):
        yield from _mismatches(prefix_child, full_child, exact, (*path, key))
