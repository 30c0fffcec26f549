# Written by tools/stubs.py.
"""The order in which operations run. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from typing import Any

__all__: list[str]

def program_order(
    f: Callable[..., Any] | None = None,
    *,
    enforce: bool,
    strict_in_out: bool | tuple[bool, bool] = False,
    exclude_argnames: str | Sequence[str] | None = None,
) -> Callable[..., Any]:
    """Makes a function one whose operations run in the order in which they are written, or a part that such a function runs at once."""
