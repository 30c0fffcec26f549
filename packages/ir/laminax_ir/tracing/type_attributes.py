"""Attributes that traced values have of their types: what a type of users' own marks for its values.

A value outside of traces is an object of the user's class, which has attributes anyway. While a function is traced, its type is
what there is of it: a marked method or property of the type is called with the traced value in place of the type.
"""

from __future__ import annotations

from types import MethodType
from typing import Any, Callable

from laminax_ir.tracing.trace import Tracer
from laminax_ir.types.hi_types import HiType, ValueAttribute


class _OfTypeOrArray:
    """A name that tracers have as arrays do, for values of users' types another attribute: the type's."""

    def __init__(self, name: str, of_arrays: Any) -> None:
        self.name = name
        self.of_arrays = of_arrays

    def __get__(self, value: Any, owner: type) -> Any:
        if value is not None and isinstance(value.aval, HiType):
            return value.__getattr__(self.name)
        bind = getattr(self.of_arrays, "__get__", None)
        return self.of_arrays if bind is None else bind(value, owner)


_ASKED_OF_TYPES = ("aval", "dtype", "mat", "ndim", "shape", "size", "weak_type")  # of every tracer, and often: plain attributes of types


class _Marked(ValueAttribute):
    """What a type marks; where tracers have the name already, they look at the type from now on."""

    def __set_name__(self, owner: type, name: str) -> None:
        of_arrays = vars(Tracer).get(name)
        if of_arrays is not None and name not in _ASKED_OF_TYPES and not isinstance(of_arrays, _OfTypeOrArray):
            setattr(Tracer, name, _OfTypeOrArray(name, of_arrays))


class aval_method(_Marked):  # noqa: N801  (a decorator)
    """Marks a method of a type as one that traced values of the type have: it gets the value in place of the type.

    Args:
      fun: the method.

    Example:
      >>> from laminax.experimental.hijax import HiType
      >>> class AngleType(HiType):
      ...     @aval_method
      ...     def turned(angle, by):
      ...         return turn(angle, by)
    """

    def __init__(self, fun: Callable) -> None:
        self.fun = fun

    def of(self, value: Any) -> Any:
        return MethodType(self.fun, value)


class aval_property(_Marked):  # noqa: N801  (a decorator)
    """Marks a property of a type as one that traced values of the type have: it gets the value in place of the type.

    Args:
      fget: what computes it.
    """

    def __init__(self, fget: Callable) -> None:
        self.fget = fget

    def of(self, value: Any) -> Any:
        return self.fget(value)
