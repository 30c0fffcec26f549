# Written by tools/stubs.py.
"""Groups of operations to schedule together, which are not supported and say so. A table of contents: names load on first use."""

from typing import Any, NoReturn

__all__: list[str]

def scheduling_group(name: str) -> NoReturn:
    """Not supported: XLA schedules operations itself."""
def xla_metadata_call(f: Any = None, **meta: Any) -> NoReturn:
    """Not supported: calls carry no attributes of the user's."""
