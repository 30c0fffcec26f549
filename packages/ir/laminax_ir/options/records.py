"""Records: immutable values with named fields.

A record is used as a frozen dataclass is, and type checkers take it for one. But `dataclasses` writes and compiles five functions for each
class, which takes 0.5 ms whenever the class is imported; the methods of records are written once, below. Classes that are made when
laminax is first used are records.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar, dataclass_transform

_R = TypeVar("_R", bound="Record")


@dataclass_transform(frozen_default=True)
class Record:
    """The base class of records. The annotated names of the class body are the fields, in order; a value given there is the default.

    Records are equal if they are of one class and their fields are equal.

    Raises:
        TypeError: a record is made without a field that has no default, or with one that the class has not.
        AttributeError: a field is set or deleted afterwards.

    Example:
        >>> class Span(Record):
        ...     start: int
        ...     stop: int = 10
        >>> Span(3), Span(start=3) == Span(3, 10), Span(3).replace(stop=5)
        (Span(start=3, stop=10), True, Span(start=3, stop=5))
    """

    record_fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.record_fields = (*cls.record_fields, *[name for name in cls.__annotations__ if name not in cls.record_fields])

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = self.record_fields
        if kwargs or len(args) != len(names):
            args = self._completed(args, kwargs)
        self.__dict__.update(zip(names, args))

    def _completed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The values of all fields, those that are not given by default."""
        cls, names = type(self), self.record_fields
        if len(args) > len(names):
            raise TypeError(f"{cls.__name__}() takes the {len(names)} fields {', '.join(names)}, got {len(args)} values")
        by_name = names[len(args):]
        for name in kwargs:
            if name not in by_name:
                raise TypeError(f"{cls.__name__}() got {'two values for' if name in names else 'a value for the unknown field'} {name}; "
                                f"its fields are {', '.join(names)}")
        if missing := [name for name in by_name if name not in kwargs and not hasattr(cls, name)]:
            raise TypeError(f"{cls.__name__}() needs a value for {', '.join(missing)}; its fields are {', '.join(names)}")
        return (*args, *[kwargs[name] if name in kwargs else getattr(cls, name) for name in by_name])

    def replace(self: _R, **changes: Any) -> _R:
        """A record with other values for some fields."""
        if not changes.keys() <= set(names := self.record_fields):
            return type(self)(**changes)  # raises
        fields = self.__dict__
        return type(self)(*[changes[name] if name in changes else fields[name] for name in names])

    def _values(self) -> tuple[Any, ...]:
        return tuple(map(self.__dict__.__getitem__, self.record_fields))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join([f'{name}={self.__dict__[name]!r}' for name in self.record_fields])})"

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed: {name} is set when it is made, or by `replace`, in another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed: {name} cannot be deleted")
