"""Functions that the compiler is to make one kernel. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"parallel.fused_calls": "fused"})
