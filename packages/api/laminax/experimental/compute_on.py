"""Computations in another place than the device's main unit, such as its host. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"parallel.compute_types": "compute_on compute_on2"})
