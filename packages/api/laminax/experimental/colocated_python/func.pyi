# Written by tools/stubs.py.
"""Functions on the hosts of devices, by their parts. A table of contents: names load on first use."""

import inspect
from collections.abc import Callable
from typing import Any
from laminax._src.parallel.colocated_python import FunctionInfo as FunctionInfo
from laminax._src.parallel.colocated_python import Specialization as Specialization

__all__: list[str]

def make_callable(fun: Callable[..., Any], fun_sourceinfo: str | None, fun_signature: inspect.Signature | None) -> Callable[..., Any]:
    """`colocated_python` for a function whose source position and signature the caller knows."""
