"""How the elements of arrays lie in memory. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"placement.layouts": "Format Layout with_layout_constraint"})
