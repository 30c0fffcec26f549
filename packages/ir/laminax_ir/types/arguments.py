"""Errors about arguments: no integer, no function, no position for a name; and the operation that was called with a value.

The operation is looked up on the stack when there is an error to report, so that calls spend nothing on it.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from types import FrameType
from typing import Any

import numpy as np

from laminax_ir.types.sizes import is_expression

GREATEST_SIZE = 2**63 - 1  # of an axis: what compilers count with
GREATEST_RANK = 1024  # some compilers' time grows as the square of the number of axes


def check_size(name: str, what: str, size: int) -> int:
    """The size of an axis, or the number of elements, if it is not negative and compilers can count so far.

    Args:
      name: the operation, for the message.
      what: its argument, for the message.
      size: an int, or a symbolic dimension.

    Raises:
      ValueError: if it is out of range.
    """
    if isinstance(size, int) and not 0 <= size <= GREATEST_SIZE:  # symbolic sizes are taken to be small enough
        raise ValueError(f"{name}: {what} must be from 0 to 2**63 - 1, as it is the size of an axis; got {size}")
    return size


def check_rank(name: str, rank: int) -> int:
    """A number of axes, if it is not too great.

    Raises:
      ValueError: if it is.
    """
    if rank > GREATEST_RANK:
        raise ValueError(f"{name}: arrays have at most {GREATEST_RANK} axes, got {rank}. Merge axes by a reshape.")
    return rank


def as_int(name: str, what: str, value: Any) -> int:
    """The value as an int; a symbolic dimension stays one.

    Args:
      name: the operation, for the message.
      what: its argument, for the message.
      value: an integer of any kind.

    Raises:
      TypeError: if it is none.
    """
    try:
        return operator.index(value)
    except TypeError as error:
        if is_expression(value):
            return value
        if type(error) is not TypeError:  # a traced value's, which says what to do
            raise
        raise TypeError(f"{name}: {what} must be an integer, got {value!r} of type {type(value).__name__}, "
                        "which cannot be interpreted as an integer") from None


def check_callable(transform: str, fun: Any) -> None:
    """Refuses objects that cannot be transformed, before one is called.

    Raises:
      TypeError: if `fun` is no function, a `staticmethod` object, or a generator function.
    """
    if isinstance(fun, staticmethod):
        raise TypeError(f"{transform}: staticmethod arguments are not supported, got {fun!r}. Apply {transform} first and staticmethod "
                        "to its result: write @staticmethod above it.")
    if not callable(fun):
        raise TypeError(f"{transform}: Expected a callable value, got {fun!r} of type {type(fun).__name__}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"{transform}: Expected a function, got a generator function: {fun!r}. Return a list or a tuple instead of "
                        "yielding values.")


def check_hashable(name: str, what: str, *values: Any) -> None:
    """Refuses values that cannot be part of a key, before they get into one.

    Args:
      name: the function, for the message.
      what: its argument, for the message.
      *values: what the argument holds.

    Raises:
      TypeError: if one of the values has no hash.
    """
    for value in values:
        try:
            hash(value)
        except TypeError as error:
            raise TypeError(f"{name}: {what} must be hashable, got {value!r} of type {type(value).__name__} ({error})") from None


def by_position(decorator: str, fun: Any, args: tuple, kwargs: dict[str, Any]) -> tuple:
    """All arguments of a call by position, defaults filled in: the form in which rules that the user gave to a function get them.

    Args:
      decorator: the decorator that gave the function a rule, for the message.
      fun: the function.
      args: the arguments given by position.
      kwargs: those given by name.

    Raises:
      TypeError: if they do not fit the function, or some that are given can only be given by name; such parameters keep their defaults.
    """
    if isinstance(fun, functools.partial):  # its rule is one for a function of the arguments that are left
        signature = inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                                       inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)])
    else:
        try:
            signature = inspect.signature(fun)
        except (TypeError, ValueError):
            if not kwargs:
                return args
            raise TypeError(f"{function_name(fun)} has no signature to resolve the keyword arguments {sorted(kwargs)} with; pass them by "
                            "position") from None
    try:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        if given := [name for name in bound.kwargs if name in kwargs]:
            raise TypeError(f"The following keyword arguments could not be resolved to positions: {', '.join(given)}")
    except TypeError as error:
        raise TypeError(f"The input arguments to the {decorator}-decorated function {function_name(fun)}{signature} cannot be brought into "
                        f"positions, which its rules take.\n{error}") from None
    return bound.args


def function_name(fun: Any) -> str:
    """The name of a function in messages."""
    return getattr(fun, "__name__", None) or type(fun).__name__


def called_with(value: Any) -> str:
    """`"reduce_sum: operand: "` for the operation at work and its argument that is the value, or has this dtype; empty where there is none.

    It is the function of `laminax_ir.ops` nearest to the user's code.
    """
    found: FrameType | None = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (module := frame.f_globals.get("__name__", "")).partition(".")[0].startswith("laminax"):
        if found is not None and not module.startswith("laminax_ir."):  # a function of another layer that has called the operation
            break
        if module.startswith("laminax_ir.ops.") and not frame.f_code.co_name.startswith(("_", "<")):
            found = frame
        frame = frame.f_back
    if found is None:
        return ""
    code, values = found.f_code, found.f_locals
    parameters = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    names = [name for name in parameters if values.get(name) is value]
    if not names and isinstance(value, np.dtype):
        names = [name for name in parameters if getattr(values.get(name), "dtype", None) is value]
    return f"{code.co_name}: {names[0]}: " if names else f"{code.co_name}: "


def with_name(function: Any, name: str) -> Any:
    """The function under another name, also on the stack; for functions that are made by functions."""
    function.__name__ = function.__qualname__ = name
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name)
    return function
