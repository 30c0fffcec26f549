# Written by tools/stubs.py.
"""Vector quantization, as in `scipy.cluster.vq`. A table of contents: names load on first use."""

from laminax.typing import ArrayLike
from typing import Any

__all__: list[str]

def vq(obs: ArrayLike, code_book: ArrayLike, check_finite: bool = True) -> tuple[Any, Any]:
    """The nearest code of each observation."""
