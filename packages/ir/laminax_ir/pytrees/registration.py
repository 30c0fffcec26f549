"""Making a type a pytree: the registration functions, and the containers registered from the start.

A container says how it comes apart into children and static data, and how it is made from them again.
The children may come with keys, which name them in paths; without, they are counted. Everything ends in
one of two calls of the registry, `register_node` and `register_dataclass_node`.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar, cast

from laminax_ir.pytrees.backend import backend

T = TypeVar("T")
Typ = TypeVar("Typ", bound=type)
KeyLeafPair = tuple[Any, Any]

registry = backend.registry
dispatch_registry = backend.dispatch_registry
DictKey = backend.DictKey


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: Callable[[T], tuple[Iterable[KeyLeafPair], Hashable]] | None = None,
) -> None:
    """Makes a type a pytree container.

    Args:
      nodetype: the type; its subclasses stay leaves.
      flatten_func: takes a value apart into (children, static data). Static data must compare with `==`
        and should be hashable.
      unflatten_func: makes a value from (static data, children). It may be called with children that are
        not arrays, for example tracers, None or other placeholders.
      flatten_with_keys_func: like `flatten_func`, with (key, child) pairs in place of the children.

    Raises:
      TypeError: `nodetype` is not a class.
      ValueError: the type is registered already.

    Example:
      >>> class Interval:
      ...     def __init__(self, low, high):
      ...         self.low, self.high = low, high
      >>> register_pytree_node(Interval, lambda i: ((i.low, i.high), None), lambda _, c: Interval(*c))
      >>> registry.flatten(Interval(1, 2))[0]
      [1, 2]
    """
    _check_new_type("register_pytree_node", nodetype)
    registry.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)
    if dispatch_registry is not None:
        dispatch_registry.register_node(nodetype, flatten_func, unflatten_func)


def _check_new_type(caller: str, nodetype: type[Any]) -> None:
    if not isinstance(nodetype, type):
        raise TypeError(f"{caller}: expected a class, got {nodetype!r} of type {type(nodetype).__name__}.")
    if _is_registered(nodetype):
        raise ValueError(
            f"{caller}: duplicate registration: {nodetype.__module__}.{nodetype.__qualname__} is a pytree "
            "container already.\nRegister a type once, where it is defined."
        )


def _is_registered(nodetype: type[Any]) -> bool:
    """A namedtuple is a container unregistered too; only a second registration of it is a duplicate."""
    if issubclass(nodetype, tuple) and hasattr(nodetype, "_fields"):
        return False  # the registry itself refuses the second one
    return registry.is_node(nodetype)


def register_pytree_node_class(cls: Typ) -> Typ:
    """Makes the decorated class a pytree container, by its methods `tree_flatten` and `tree_unflatten`.

    Args:
      cls: a class with a method `tree_flatten(self)` that returns (children, static data), and a
        classmethod `tree_unflatten(cls, static_data, children)`.

    Returns:
      The class.

    Raises:
      TypeError: a method is missing.
      ValueError: the class is registered already.

    Example:
      >>> @register_pytree_node_class
      ... class Pair:
      ...     def __init__(self, a, b):
      ...         self.a, self.b = a, b
      ...     def tree_flatten(self):
      ...         return (self.a, self.b), None
      ...     @classmethod
      ...     def tree_unflatten(cls, static, children):
      ...         return cls(*children)
      >>> registry.flatten(Pair(1, 2))[0]
      [1, 2]
    """
    _check_methods("register_pytree_node_class", cls, "tree_flatten", "tree_unflatten")
    register_pytree_node(cls, lambda tree: tree.tree_flatten(), cast(Any, cls).tree_unflatten)
    return cls


def _check_methods(caller: str, cls: type[Any], *names: str) -> None:
    missing = [name for name in names if not hasattr(cls, name)]
    if missing:
        raise TypeError(f"{caller}: {cls!r} has no {' and no '.join(missing)}; define it in the class.")


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Iterable[KeyLeafPair], Hashable]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_func: Callable[[T], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """Makes a type a pytree container whose children have keys.

    Args:
      nodetype: the type; its subclasses stay leaves.
      flatten_with_keys: takes a value apart into ((key, child) pairs, static data).
      unflatten_func: makes a value from (static data, children).
      flatten_func: the same without keys, if there is a faster way than dropping them.

    Raises:
      TypeError: `nodetype` is not a class.
      ValueError: the type is registered already.

    Example:
      >>> class Grid:
      ...     def __init__(self, x):
      ...         self.x = x
      >>> register_pytree_with_keys(
      ...     Grid, lambda g: (((backend.GetAttrKey("x"), g.x),), None), lambda _, children: Grid(*children))
      >>> [str(key) for key in registry.flatten_with_path(Grid(3))[0][0][0]]
      ['.x']
    """
    if flatten_func is None:

        def flatten_func(tree: T) -> tuple[Iterable[Any], Hashable]:
            pairs, static = flatten_with_keys(tree)
            return [child for _, child in pairs], static

    register_pytree_node(nodetype, flatten_func, unflatten_func, flatten_with_keys)


def register_pytree_with_keys_class(cls: Typ) -> Typ:
    """Makes the decorated class a pytree container with keys, by its own methods.

    Args:
      cls: a class with a method `tree_flatten_with_keys(self)` that returns ((key, child) pairs, static
        data), a classmethod `tree_unflatten(cls, static_data, children)`, and, if it likes, a faster
        `tree_flatten(self)`.

    Returns:
      The class.

    Raises:
      TypeError: a method is missing.
      ValueError: the class is registered already.

    Example:
      >>> @register_pytree_with_keys_class
      ... class Point:
      ...     def __init__(self, x):
      ...         self.x = x
      ...     def tree_flatten_with_keys(self):
      ...         return ((backend.GetAttrKey("x"), self.x),), None
      ...     @classmethod
      ...     def tree_unflatten(cls, static, children):
      ...         return cls(*children)
      >>> registry.flatten(Point(1))[0]
      [1]
    """
    _check_methods("register_pytree_with_keys_class", cls, "tree_flatten_with_keys", "tree_unflatten")
    flatten = (lambda tree: tree.tree_flatten()) if hasattr(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, lambda tree: tree.tree_flatten_with_keys(), cast(Any, cls).tree_unflatten, flatten)
    return cls


def register_dataclass(
    nodetype: Typ,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Typ:
    """Makes a dataclass, or a class like one, a pytree container whose children are attributes.

    For a dataclass the fields may be left out: those with `metadata={"static": True}` (see `static`) are
    static, the other ones children. Fields with `init=False`, which `__init__` computes, must be named in `drop_fields` then.

    Args:
      nodetype: a class that is made from its fields as keyword arguments.
      data_fields: the names of the children.
      meta_fields: the names of the static data, whose values must be hashable and compare with `==`.
      drop_fields: the fields of the dataclass that are in neither; they get their defaults when the
        value is made again. A string is the name of one field.

    Returns:
      The class, so that this is a decorator as well.

    Raises:
      TypeError: only one of `data_fields` and `meta_fields` is given, or neither for a class that is not a
        dataclass.
      ValueError: the fields overlap, do not fit the dataclass, or the class is registered already.

    Example:
      >>> import dataclasses
      >>> @register_dataclass
      ... @dataclasses.dataclass
      ... class Layer:
      ...     weight: object
      ...     name: str = static(default="layer")
      >>> registry.flatten(Layer(1.0))
      ([1.0], PyTreeDef(CustomNode(Layer[('layer',)], [*])))
    """
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields must both be specified when either is specified. "
            f"Got data_fields={data_fields} meta_fields={meta_fields}."
        )
    drop_fields = (drop_fields,) if isinstance(drop_fields, str) else drop_fields
    fields = _init_fields(nodetype)
    if data_fields is None or meta_fields is None:
        if fields is None:
            raise TypeError(
                "register_dataclass: data_fields and meta_fields are required when nodetype is not a dataclass. "
                f"Got nodetype={nodetype!r}."
            )
        _check_computed_fields(nodetype, drop_fields)
        kept = [field for field in fields if field.name not in drop_fields]
        data_fields = [field.name for field in kept if not field.metadata.get("static", False)]
        meta_fields = [field.name for field in kept if field.metadata.get("static", False)]
    _check_fields(nodetype, fields, tuple(data_fields), tuple(meta_fields), tuple(drop_fields))
    _check_new_type("register_dataclass", nodetype)
    registry.register_dataclass_node(nodetype, list(data_fields), list(meta_fields))
    if dispatch_registry is not None:
        dispatch_registry.register_dataclass_node(nodetype, list(data_fields), list(meta_fields))
    return nodetype


def _init_fields(nodetype: type[Any]) -> list[Any] | None:
    """Returns the dataclass fields that `__init__` takes, or None if this is no dataclass."""
    if "__dataclass_fields__" not in dir(nodetype):
        return None
    import dataclasses  # here, because it takes longer to import than this whole module

    return [field for field in dataclasses.fields(nodetype) if field.init]


def _check_computed_fields(nodetype: type[Any], drop: Sequence[str]) -> None:
    import dataclasses

    computed = sorted(field.name for field in dataclasses.fields(nodetype) if not field.init and field.name not in drop)
    if computed:
        raise ValueError(f"register_dataclass: {nodetype.__qualname__} has fields with init=False, {_as_set(computed)}, which would be "
                         "lost: a value that is made again gets what __init__ gives them. Add them to drop_fields to say so.")


def _check_fields(nodetype: type[Any], fields: list[Any] | None, data: tuple[str, ...], meta: tuple[str, ...], drop: tuple[str,
                  ...]) -> None:
    overlap = sorted(set(data) & set(meta))
    if overlap:
        raise ValueError("register_dataclass: data_fields and meta_fields must not overlap. Overlapping fields: "
                         f"{{{', '.join(map(repr, overlap))}}}.")
    if fields is None:
        return
    names = {field.name for field in fields}
    unexpected = sorted((set(data) | set(meta)) - names)
    if unexpected:
        raise ValueError(
            "register_dataclass: data_fields and meta_fields must include all dataclass fields with init=True and only those of "
            f"{nodetype.__qualname__}. Unexpected fields: {_as_set(unexpected)}. They are not fields that its __init__ takes."
        )
    missing = sorted(names - set(data) - set(meta) - set(drop))
    if missing:
        raise ValueError(
            "register_dataclass: data_fields and meta_fields must include all dataclass fields with init=True of "
            f"{nodetype.__qualname__}. Missing fields: {_as_set(missing)}. Add them to one of these, or to drop_fields to leave them out."
        )


def _as_set(names: list[str]) -> str:
    return f"{{{', '.join(map(repr, names))}}}"


def static(**kwargs: Any) -> Any:
    """Returns a dataclass field that `register_dataclass` takes as static data.

    Args:
      **kwargs: the arguments of `dataclasses.field`; `metadata` is kept beside `static`, and counts where it says that too.

    Returns:
      The field.

    Example:
      >>> static(default=3).metadata["static"]
      True
    """
    import dataclasses

    metadata = {"static": True, **(kwargs.pop("metadata", None) or {})}
    return dataclasses.field(metadata=metadata, **kwargs)


def register_static(cls: Typ) -> Typ:
    """Makes the decorated class a pytree without leaves: the whole value is static data.

    Args:
      cls: a class with `__hash__` and `__eq__`; two trees differ in structure if their values differ.

    Returns:
      The class.

    Raises:
      TypeError: `cls` is not a class.
      ValueError: the class is registered already.

    Example:
      >>> @register_static
      ... class Mode(str):
      ...     pass
      >>> registry.flatten((1, Mode("train")))[0]
      [1]
    """
    register_pytree_node(cls, lambda value: ((), value), lambda value, _: value, lambda value: ((), value))
    return cls


class Partial(functools.partial):
    """`functools.partial` as a pytree: the function is static, the arguments are children.

    So a function with arrays bound to it can be passed into transformed functions, returned from them and
    mapped over. If `func` is itself a partial function (this class or `functools.partial`), it is taken
    whole, as a static function: only the arguments given here are children.

    Args:
      func: the function; two partial functions have the same structure if these are equal.
      *args: the first positional arguments.
      **kw: keyword arguments.

    Example:
      >>> registry.flatten(Partial(pow, 2, 3))[0]
      [2, 3]
      >>> Partial(pow, 2)(5)
      32
    """

    def __new__(cls, func: Callable[..., Any], /, *args: int, **kw: Any) -> Partial:
        # functools.partial would merge the arguments of a partial function into its own.
        if isinstance(func, functools.partial):
            func = _StaticCallable(func)
        return super().__new__(cls, func, *args, **kw)


class _StaticCallable:
    """A partial function that `functools.partial` does not recognise as one."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func_ = func  # not `func`, which functools looks for

    def __call__(self, *args: Any, **kw: Any) -> int:
        return self.func_(*args, **kw)

    def __eq__(self, other: object) -> bool:
        return self.func_ == (other.func_ if isinstance(other, _StaticCallable) else other)

    def __hash__(self) -> int:
        return hash(self.func_)

    def __repr__(self) -> str:
        return repr(self.func_)


# --- registered from the start -----------------------------------------------------------------------


def _ordered_dict_with_keys(tree: OrderedDict) -> tuple[list[KeyLeafPair], Hashable]:
    return [(DictKey(key), child) for key, child in tree.items()], tuple(tree)


def _sorted_items(tree: defaultdict) -> list[tuple[Any, Any]]:
    try:
        return [(key, tree[key]) for key in sorted(tree)]
    except TypeError as error:
        raise ValueError(
            f"The keys of a defaultdict in a pytree must be sortable, got {list(tree)}: {error}"
        ) from error


def _defaultdict(tree: defaultdict) -> tuple[list[Any], Hashable]:
    items = _sorted_items(tree)
    return [child for _, child in items], (tree.default_factory, tuple([key for key, _ in items]))


def _defaultdict_with_keys(tree: defaultdict) -> tuple[list[KeyLeafPair], Hashable]:
    items = _sorted_items(tree)
    return [(DictKey(key), child) for key, child in items], (tree.default_factory, tuple([key for key, _ in items]))


register_pytree_with_keys(
    OrderedDict,
    _ordered_dict_with_keys,
    lambda keys, children: OrderedDict(zip(keys, children)),
    lambda tree: (tuple(tree.values()), tuple(tree)),
)
register_pytree_with_keys(
    defaultdict,
    _defaultdict_with_keys,
    lambda static, children: defaultdict(static[0], zip(static[1], children)),
    _defaultdict,
)
register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
