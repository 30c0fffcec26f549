"""The exceptions of laminax; each subclasses the built-in exception a caller would expect."""

from __future__ import annotations

from laminax_ir.types.errors import (
    ConcretizationTypeError,
    DTypeError,
    ForbiddenCollectiveError,
    InconclusiveDimensionOperation,
    JAXIndexError,
    JaxprTypeError,
    JAXTypeError,
    KeyReuseError,
    LeakedTracerError,
    NonConcreteBooleanIndexError,
    ShapeError,
    ShardingTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
    UnboundAxisNameError,
    UnexpectedTracerError,
)
from laminax_runtime.base.errors import DeletedArrayError, PlatformError, UnsupportedValueError

_FROM_JAXLIB = ("JaxRuntimeError", "XlaRuntimeError")  # XLA's errors; jaxlib is loaded only when one of them is asked for

__all__ = [
    "ConcretizationTypeError", "DTypeError", "DeletedArrayError", "ForbiddenCollectiveError", "InconclusiveDimensionOperation",
    "JAXIndexError", "JAXTypeError", "JaxprTypeError", "KeyReuseError", "LeakedTracerError", "NonConcreteBooleanIndexError",
    "PlatformError", "ShapeError", "ShardingTypeError", "TracerArrayConversionError", "TracerBoolConversionError",
    "TracerIntegerConversionError", "UnboundAxisNameError", "UnexpectedTracerError", "UnsupportedValueError", *_FROM_JAXLIB,
]


def __getattr__(name: str) -> type:
    if name in _FROM_JAXLIB:
        from laminax_runtime.base import errors
        return getattr(errors, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
