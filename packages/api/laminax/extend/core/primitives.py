"""The primitives of programs, `sin_p` and so on: those of `laminax.lax`, and of random numbers, calls and factorizations."""

from __future__ import annotations

import importlib

from laminax_ir.programs.primitive import Primitive
from laminax_ir.refs.ref_primitives import get_p, swap_p

from laminax._src.names.extend.call_primitives import call_p, closed_call_p

_MODULES = ("calls", "collectives", "contraction", "control_flow", "convolution", "cumulative", "derived", "elementwise", "fft", "hints",
            "indexing", "linalg", "linear_solve", "orthogonal", "polynomial", "random_bits", "reduction", "shape", "sharding", "slicing",
            "sorting", "special", "stacking", "windows")
_ALIASES = {"add_jaxvals_p": "add_p", "remat_p": "checkpoint_p"}


def _all() -> dict[str, Primitive]:
    found = {}
    for module in _MODULES:
        for name, value in vars(importlib.import_module(f"laminax_ir.ops.{module}")).items():
            if isinstance(value, Primitive) and name.endswith("_p") and not name.startswith("_"):
                found[name] = value
    found |= {"call_p": call_p, "closed_call_p": closed_call_p, "get_p": get_p, "swap_p": swap_p}
    return found | {name: found[other] for name, other in _ALIASES.items()}


globals().update(_found := _all())
__all__ = sorted(_found)  # pyright: ignore[reportUnsupportedDunderAll]
