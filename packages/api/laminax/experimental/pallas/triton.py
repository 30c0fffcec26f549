"""What kernels for GPUs are written with, interpreted. A table of contents: names load on first use.

Names of JAX's module that are not listed can be imported, and refuse to be called.
"""

from typing import Any

from laminax._lazy import contents
from laminax._src.names.refused import names_of_module

__all__, _find, __dir__ = contents(__name__, {
    "pallas.triton": """
        CompilerParams approx_tanh atomic_add atomic_and atomic_cas atomic_max atomic_min atomic_or atomic_xchg atomic_xor
        debug_barrier dot load max_contiguous store"""})

_refused = names_of_module("experimental.pallas.triton", "kernels are interpreted, and this is for the compiler of kernels for GPUs.")


def __getattr__(name: str) -> Any:
    return _find(name) if name in __all__ else _refused(name)
