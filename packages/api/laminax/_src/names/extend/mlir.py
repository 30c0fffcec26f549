"""MLIR's Python bindings, which jaxlib has, under JAX's public names."""

from __future__ import annotations

from typing import Any, Callable

from laminax_runtime import mlir_bindings, mlir_functions


def contents_of_bindings(name: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a module whose names are those of a module of the bindings, which is loaded on first use.

    Args:
      name: of the module below `jaxlib.mlir`, `dialects.stablehlo`.
    """
    def listed() -> list[str]:
        return [each for each in dir(mlir_bindings(name)) if not each.startswith("_")]

    def find(attribute: str) -> Any:
        if attribute == "__all__":  # what `from ... import *` takes
            return listed()
        if attribute.startswith("__"):  # such as what the import system asks for, which is no reason to load them
            raise AttributeError(attribute)
        return getattr(mlir_bindings(name), attribute)

    return find, listed


def lower_with_sharding_in_types(ctx: Any, op: Any, aval: Any) -> Any:
    """The value `op`, for rules that say how what they made is split over a mesh with explicit axes.

    It is `op` itself: laminax puts the sharding of the operation's type on its results after the rule has run.
    """
    return op


def __getattr__(name: str) -> Any:
    """jaxlib's functions of modules in serialized form."""
    if name in ("deserialize_portable_artifact", "hlo_to_stablehlo", "refine_polymorphic_shapes", "serialize_portable_artifact"):
        return getattr(mlir_functions(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
