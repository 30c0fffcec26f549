"""How a class of modules is made: a dataclass, whose methods are wrapped with what belongs to their calls."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable

from laminax._src.linen import errors
from laminax._src.linen.base import ModuleBase
from laminax._src.linen.calls import is_descriptor, wrap_method, wrapped_descriptor

_NOT_METHODS = frozenset("""
    __init__ __post_init__ __eq__ __repr__ __hash__ __init_subclass__ __class_getitem__ __new__ __getattr__ __setattr__ __getattribute__
    __delattr__ __dir__ __reduce__ __reduce_ex__ __getstate__ __setstate__ __copy__ __deepcopy__""".split())


def make_module_class(cls: Any, kw_only: bool) -> None:
    """Makes a dataclass of a new subclass of `Module`.

    Args:
      cls: the class.
      kw_only: whether its own fields are given by name.

    Raises:
      ReservedModuleAttributeError: it declares what every module has.
    """
    annotations = cls.__dict__.get("__annotations__", {})
    if reserved := {name: kind for name, kind in annotations.items() if name in ("parent", "name")}:
        raise errors.ReservedModuleAttributeError(reserved)
    dataclasses.dataclass(unsafe_hash="__hash__" not in cls.__dict__, repr=False, kw_only=kw_only)(cls)
    fields = cls.__dataclass_fields__  # the class's own before those that all modules have
    cls.__dataclass_fields__ = {**{name: field for name, field in fields.items() if name not in ("parent", "name")},
                                "parent": fields["parent"], "name": fields["name"]}
    cls.__hash__ = hash_of_unbound(cls.__hash__)
    _wrap_attributes(cls)
    cls._compact_name_scope_methods = tuple(
        name for base in cls.__mro__ for name, value in base.__dict__.items() if hasattr(value, "compact_name_scope"))


def hash_of_unbound(own_hash: Callable[[Any], int]) -> Callable[[Any], int]:
    """The class's hash, for modules without variables only: two that are bound may be equal and hold others."""
    if hasattr(own_hash, "of_unbound"):
        return own_hash

    def __hash__(self: Any) -> int:
        if self.scope is not None:
            raise TypeError("Can't call __hash__ on modules that hold variables.")
        return own_hash(self)

    __hash__.of_unbound = True  # type: ignore[attr-defined]  # functions take attributes
    return __hash__


def _wrap_attributes(cls: Any) -> None:
    """Wraps the methods and descriptors of a class, but not those that it inherits, which are wrapped."""
    fields = {field.name for field in dataclasses.fields(cls)}
    for name, value in list(cls.__dict__.items()):
        if name in _NOT_METHODS or name in fields or isinstance(value, (staticmethod, classmethod, type)):
            continue
        if callable(value) and not isinstance(value, ModuleBase) and hasattr(value, "__get__"):
            setattr(cls, name, wrap_method(value))
        elif is_descriptor(value) and not hasattr(value, "is_wrapped_descriptor") and not hasattr(value, "nowrap"):
            setattr(cls, name, wrapped_descriptor(value))
