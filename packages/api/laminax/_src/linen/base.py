"""What the parts of the module system know of a module: its internal state, and how modules in attributes are found.

`Module` itself is in `module.py`; the files below it see modules through `ModuleBase`.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import threading
from typing import Any, Callable, Iterator, NamedTuple, dataclass_transform

from laminax_ir.pytrees.pytree import keystr, tree_flatten_with_path, tree_unflatten

from laminax._src.linen.frozen_dict import FrozenDict


class Unspecified:
    """The type of `UNSPECIFIED`: there is one, also of copies and pickles."""

    def __repr__(self) -> str:
        return "UNSPECIFIED"

    def __reduce__(self) -> str:
        return "UNSPECIFIED"

    def __copy__(self) -> Unspecified:
        return self

    def __deepcopy__(self, memo: dict) -> Unspecified:
        return self


UNSPECIFIED = Unspecified()  # the parent that is to be found: the module whose method is running


class SetupStage(enum.Enum):
    """Whether `setup` was called: not yet, by the module that this one is a clone of, or by itself."""
    NEW = 0
    TRANSFORMED = 1
    DONE = 2


@dataclasses.dataclass
class ModuleState:
    """What changes of a module while its methods run."""
    in_compact_method: bool = False
    in_setup: bool = False
    is_initialized: bool = False
    setup_called: SetupStage = SetupStage.NEW
    fields_registered: bool = False
    autoname_cursor: dict[str, int] = dataclasses.field(default_factory=dict)  # how many submodules of a class have got a name
    children: dict[str, Any] = dataclasses.field(default_factory=dict)  # submodules, and the collections of variables, by name
    name_scopes: dict[str, Any] = dataclasses.field(default_factory=dict)  # for each method with a name scope what is in it, by name

    def reset(self) -> None:
        """Prepares for another call of a compact method."""
        self.in_compact_method = self.in_setup = False
        self.autoname_cursor = {}

    def exported(self) -> ModuleState:
        """The state for a clone within a lifted transformation."""
        stage = SetupStage.NEW if self.setup_called is SetupStage.NEW else SetupStage.TRANSFORMED
        return ModuleState(self.in_compact_method, self.in_setup, self.is_initialized, stage, autoname_cursor=dict(self.autoname_cursor))

    def reimport(self, other: ModuleState) -> None:
        """Takes over what the clone has changed."""
        self.in_compact_method, self.in_setup = other.in_compact_method, other.in_setup
        self.autoname_cursor = dict(other.autoname_cursor)


@dataclass_transform(field_specifiers=(dataclasses.field,))
class ModuleBase:
    """The base of `Module`, by which its parts know one another."""
    scope: Any
    parent: Any
    name: Any
    _state: ModuleState
    _compact_name_scope_methods: tuple[str, ...]


class Transplant(NamedTuple):
    """The parent of a clone within a lifted transformation: the scope that it gets, and the state that it takes over."""
    scope: Any
    state: ModuleState


class Context(threading.local):
    """What is going on in this thread."""

    def __init__(self) -> None:
        self.module_stack: list[ModuleBase | None] = [None]  # the modules whose methods are running
        self.capture_stack: list[Any] = []  # for each apply, which methods' results are sown
        self.interceptors: list[Callable[..., Any]] = []
        self.recorders: list[Callable[..., Any]] = []  # told of each call when it begins; return what is told of its result


context = Context()


def own_fields(module: ModuleBase) -> Iterator[str]:
    """The names of the fields that are arguments of the constructor, but for `name` and `parent`."""
    return (field.name for field in dataclasses.fields(module)  # type: ignore[arg-type]  # every module is a dataclass
            if field.init and field.name not in ("name", "parent"))


def map_modules(function: Callable[[str, ModuleBase], Any], value: Any, suffix: str = "") -> Any:
    """The value with function's results in place of the modules in it, given their place in it, such as `_0_key`.

    Containers are dicts, lists, tuples and registered pytrees.
    """
    if isinstance(value, ModuleBase):
        return function(suffix, value)
    if isinstance(value, (list, tuple)) and type(value).__hash__ is not object.__hash__:
        items = [map_modules(function, item, f"{suffix}_{i}") for i, item in enumerate(value)]
        if all(new is old for new, old in zip(items, value)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, (dict, FrozenDict)):
        changed = {key: map_modules(function, value[key], f"{suffix}_{key}") for key in sorted(value, key=str)}  # the first one gives names
        changed = {key: changed[key] for key in value}
        if all(changed[key] is item for key, item in value.items()):
            return value
        if isinstance(value, FrozenDict):
            return FrozenDict(changed)
        other = copy.copy(value)
        other.update(changed)
        return other
    return value if _is_plain(value) else _map_in_pytree(function, value, suffix)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, bytes, int, float, complex, type)) or hasattr(value, "dtype") or callable(value)


def _map_in_pytree(function: Callable[[str, ModuleBase], Any], value: Any, suffix: str) -> Any:
    leaves, treedef = tree_flatten_with_path(value, is_leaf=lambda x: isinstance(x, ModuleBase))
    if not any(isinstance(leaf, ModuleBase) for _, leaf in leaves):
        return value
    return tree_unflatten(treedef, [
        function(suffix + "_" + keystr(path, simple=True, separator="_"), leaf) if isinstance(leaf, ModuleBase) else leaf
        for path, leaf in leaves])


def frozen(value: Any) -> Any:
    """The value with tuples for lists and FrozenDicts for dicts: attributes of modules do not change."""
    if isinstance(value, (dict, FrozenDict)):
        return FrozenDict({key: frozen(item) for key, item in value.items()})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return value
    if type(value) in (list, tuple):
        return tuple(frozen(item) for item in value)
    return value
