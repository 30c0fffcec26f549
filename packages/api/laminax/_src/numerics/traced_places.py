"""Where an array lies, asked of a traced value: the answer of the array behind it, or the error that says there is none yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from laminax_ir.types.errors import ConcretizationTypeError


class NoArrayYetError(ConcretizationTypeError, AttributeError):
    """What only an array has was asked of a traced value; `hasattr` answers no."""


def member_table() -> dict[str, Any]:
    """The members of traced values that tell of the devices and the memory of an array."""
    table: dict[str, Any] = {name: _method(name) for name in (
        "addressable_data", "delete", "devices", "is_deleted", "on_device_size_in_bytes", "unsafe_buffer_pointer")}
    table.update({name: property(_answer(name)) for name in (
        "addressable_shards", "committed", "device", "global_shards", "is_fully_addressable", "is_fully_replicated", "traceback")})
    table.update(memory_space=property(_memory_space), to_concrete_value=_to_concrete_value, full_lower=_itself, get_referent=_itself)
    return table


def _method(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(_array_behind(self, name), name)(*args, **kwargs)

    method.__name__, method.__qualname__ = name, f"Tracer.{name}"
    method.__doc__ = f"`Array.{name}` of the array behind this value, if there is one."
    return method


def _answer(name: str) -> Callable[[Any], Any]:
    def answer(self: Any) -> Any:
        return getattr(_array_behind(self, name), name)

    answer.__doc__ = f"`Array.{name}` of the array behind this value, if there is one."
    return answer


def _array_behind(tracer: Any, name: str) -> Any:
    hint = f"Ask for `{name}` outside of the transformation, of the array."
    return tracer._concretize(NoArrayYetError, f"Abstract tracer value encountered where concrete value is expected: `{name}` of", hint)


def _memory_space(tracer: Any) -> Any:
    raise NoArrayYetError(f"The 'memory_space' attribute is not available on {tracer._traced_array()} Use "
                          "`laminax.typeof(x).memory_space` instead.")


def _to_concrete_value(tracer: Any) -> Any:
    """The array behind this value, or None where there is none yet."""
    return tracer.demanded_value()


def _itself(tracer: Any) -> Any:
    """This value."""
    return tracer
