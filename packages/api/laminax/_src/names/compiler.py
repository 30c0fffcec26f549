"""chex imports this module to replace functions of JAX's compiler in it; laminax has none of these to replace."""

from __future__ import annotations


def __getattr__(name: str) -> None:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}: laminax compiles in laminax_runtime.compiling.compile, which "
                         "cannot be restricted by replacing functions here. Choose a backend with jit(backend=...) or default_device.")
