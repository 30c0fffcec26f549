# Written by tools/stubs.py.
"""How the elements of arrays lie in memory. A table of contents: names load on first use."""

from typing import Any
from laminax_ir.types.array_layouts import Format as Format
from laminax_ir.types.array_layouts import Layout as Layout

__all__: list[str]

def with_layout_constraint(x: Any, layouts: Any) -> Any:
    """Constrains the layout of values, how their elements lie in memory; outside of jitted functions, gives them this layout."""
