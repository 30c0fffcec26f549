"""The errors of the runtime layer, each a subclass of the built-in one a caller would expect."""

from __future__ import annotations

from laminax_ir.types.errors import DocumentedError


class PlatformError(DocumentedError, RuntimeError):
    """A platform is unknown, is not installed, or does not start."""


class DeletedArrayError(DocumentedError, RuntimeError, ValueError):
    """An array was used after it had been deleted or donated.

    Also a ValueError, because that is what jaxlib 0.10.2 raises by itself where a call does not pass through Python.
    """


class UnsupportedValueError(DocumentedError, TypeError):
    """A value that is not an array, and that no device can hold."""


def is_out_of_memory(error: Exception) -> bool:
    """Whether XLA's error says that there is too little memory. jaxlib gives the status of its errors in their text only."""
    text = str(error)
    return "RESOURCE_EXHAUSTED" in text or "out of memory" in text.lower()


def is_unimplemented(error: Exception) -> bool:
    """Whether XLA's error says that a platform lacks what was asked for."""
    return str(error).startswith("UNIMPLEMENTED")


def __getattr__(name: str) -> type:
    if name in ("XlaRuntimeError", "JaxRuntimeError"):  # XLA's errors: jaxlib is loaded when one is asked for
        from laminax_runtime import _jaxlib

        return _jaxlib.XlaRuntimeError
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
