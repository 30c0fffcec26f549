"""Descriptions of Python objects: hashable values that say all that a program depends on, with arrays left out.

A description is a nested tuple that starts with a kind. Two objects with equal descriptions are alike in all but the values of their
arrays, which are numbered in the order in which they are met. Objects that can be met twice are numbered as well (`index` below), so
that a description says which parts of an object are one and the same.

    (LEAF, number)                        an array
    (AGAIN, index, ...)                   an object met before, or around this one
    (GIVEN, index)                        of a result: an object that came in the arguments
    (type, value)                         an int, str, None, a class, a function; floats apart that are equal and not alike
    (LIST | TUPLE | SET | FROZENSET, index, items)
    (DICT, index, ((key, value), ...))
    (NAMED, index, class, items)          a namedtuple
    (OBJECT, index, class, names, values) an object and its attributes, those in slots included
    (NODE, index, class, children, data)  an object of a registered pytree
    (CALL, index, class, names, values)   what is made again by a call of its class, such as a functools.partial
    (REDUCED, index, function, args, state, items, entries, setter)   what `__reduce_ex__` answers for other objects
    (BYTES, index, class, dtype, shape, order, bytes)   an array or, without a shape, a scalar of NumPy
    (SAME, index, end, object, content)   of an argument: an object without arrays, numbered like its parts up to `end`
    (OPAQUE, index, class, object)        an object that is known by hash and equality only
    (ITERATOR, index, items)              of a result: an iterator, by what was left in it
    (ONCE, index, object)                 of an argument: an iterator that cannot be copied; equal to nothing else
    (UNKNOWN, class)                      what has neither a hash nor a way to be copied
    (ARGUMENTS, function or None, args, names, values)   a call, with its keyword arguments
"""

from __future__ import annotations

from typing import Any, Iterator, Sequence

from laminax_ir.pytrees.pytree import keystr, tree_flatten_with_path

Description = tuple[Any, ...]

LEAF, AGAIN, GIVEN = "leaf", "again", "given"
LIST, TUPLE, SET, FROZENSET, DICT, NAMED = "list", "tuple", "set", "frozenset", "dict", "named"
OBJECT, NODE, CALL, REDUCED, BYTES = "object", "node", "call", "reduced", "bytes"
SAME, OPAQUE, ITERATOR, ONCE, UNKNOWN, ARGUMENTS = "same", "opaque", "iterator", "once", "unknown", "arguments"

_NUMBERED = frozenset((LIST, TUPLE, SET, FROZENSET, DICT, NAMED, OBJECT, NODE, CALL, REDUCED, BYTES, SAME, OPAQUE, ITERATOR))


def parts(description: Description, objects: Sequence[Any] | None) -> Iterator[tuple[str, Description]]:
    """The descriptions right below one, each with what it adds to the path: `[0]`, `.weight`, `['key']`.

    Args:
      description: what is looked into.
      objects: the objects that were described, by their numbers; without them the children of pytrees are counted, not named.
    """
    kind, *rest = description
    if kind == ARGUMENTS:
        function, args, names, values = rest
        if function is not None:
            yield "func", function
        yield from ((f"args[{i}]", part) for i, part in enumerate(args))
        yield from ((f"kwargs[{name!r}]", part) for name, part in zip(names, values))
    elif kind in (LIST, TUPLE, SET, FROZENSET, ITERATOR):
        yield from ((f"[{i}]", part) for i, part in enumerate(rest[1]))
    elif kind == DICT:
        yield from _entries(rest[1])
    elif kind == NAMED:
        yield from ((f".{name}", part) for name, part in zip(rest[1]._fields, rest[2]))
    elif kind in (OBJECT, CALL):
        yield from ((f".{name}", part) for name, part in zip(rest[2], rest[3]))
    elif kind == NODE:
        yield from zip(_child_names(objects, rest[0], len(rest[2])), rest[2])
        yield ".<static data>", rest[3]
    elif kind == REDUCED:
        yield from _reduced_parts(*rest[1:])
    elif kind == SAME:
        yield from parts(rest[3], objects)


def _entries(entries: Sequence[tuple[Description, Description]]) -> Iterator[tuple[str, Description]]:
    for key, value in entries:
        name = repr(key[1]) if isinstance(key[0], type) else f"<a {key[0]}>"
        yield f".<key {name}>", key
        yield f"[{name}]", value


def _child_names(objects: Sequence[Any] | None, index: int, count: int) -> list[str]:
    if objects is not None:
        node = objects[index]
        paths = [path for path, _ in tree_flatten_with_path(node, lambda child: child is not node)[0]]
        if len(paths) == count:
            return [keystr(path) for path in paths]
    return [f"[<flat index {i}>]" for i in range(count)]


def _reduced_parts(function: Description, args: Sequence[Description], state: Description | None, items: Sequence[Description] | None,
                   entries: Sequence[tuple[Description, Description]] | None, setter: Description | None) \
        -> Iterator[tuple[str, Description]]:
    yield ".__reduce__()[0]", function
    yield from ((f".__reduce__()[1][{i}]", part) for i, part in enumerate(args))
    if state is not None and state[0] == DICT:
        yield from ((f".{key[1]}", value) for key, value in state[2])
    elif state is not None:
        yield ".__getstate__()", state
    yield from ((f"[{i}]", part) for i, part in enumerate(items or ()))
    yield from _entries(entries or ())
    if setter is not None:
        yield ".__reduce__()[5]", setter


def unknown_parts(description: Description, objects: Sequence[Any], path: str = "") -> Iterator[tuple[str, type]]:
    """The path and class of each part that has neither a hash nor a way to be copied."""
    if description[0] == UNKNOWN:
        yield path, description[1]
    for name, part in parts(description, objects):
        yield from unknown_parts(part, objects, path + name)


def find(description: Description, index: int) -> Description | None:
    """The part that describes the object with a number."""
    if description[0] in _NUMBERED and description[1] == index:
        return description
    return next((found for _, part in parts(description, None) if (found := find(part, index)) is not None), None)


def differences(old: Description, new: Description, objects: Sequence[Any], path: str = "") \
        -> Iterator[tuple[str, Description, Description]]:
    """The smallest parts in which two descriptions differ, as (path, old, new); `objects` are those of the new one."""
    if old == new:
        return
    then, now = [*parts(old, None)], [*parts(new, None)]
    found = []
    if old[0] == new[0] and [name for name, _ in then] == [name for name, _ in now]:
        named = zip(then, parts(new, objects))
        found = [each for (_, part), (name, other) in named for each in differences(part, other, objects, path + name)]
    yield from found or [(path, old, new)]  # alike in all their parts, they differ as wholes: in class, or by their own equality
