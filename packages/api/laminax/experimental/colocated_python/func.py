"""Functions on the hosts of devices, by their parts. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"parallel.colocated_python": "FunctionInfo Specialization make_callable"})
