"""Functions of every differentiable operation, for the tests over drawn shapes and dtypes; a module per family of operations."""

import importlib
import pathlib
import warnings
from collections.abc import Callable

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from laminax_ir.options.config import enable_x64

FAMILIES = sorted(path.stem for path in pathlib.Path(__file__).parent.glob("*.py") if path.stem not in ("__init__", "case"))


def collected(kind: str = "CASES") -> dict:
    """The cases of that kind of all families, by family and name."""
    modules = {family: importlib.import_module(f"{__name__}.{family}") for family in FAMILIES}
    return {f"{family}: {name}": case for family, module in modules.items() for name, case in getattr(module, kind, {}).items()}


CASES = collected()  # differentiable in both modes, to any order
FIRST_ORDER = collected("FIRST_ORDER")
FORWARD_ONLY = collected("FORWARD_ONLY")
REVERSE_ONLY = collected("REVERSE_ONLY")

shapes = st.lists(st.integers(1, 3), max_size=3).map(tuple).filter(lambda size: np.prod(size) <= 12)
EXAMPLES = settings(max_examples=3, suppress_health_check=list(HealthCheck))


def over_shapes(check: Callable[[tuple[int, ...]], None]) -> None:
    """Runs the check on drawn shapes. A warning of lost imaginary parts is an error."""
    @EXAMPLES
    @given(shapes)
    def run(size):
        with enable_x64(), warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            check(size)

    run()
