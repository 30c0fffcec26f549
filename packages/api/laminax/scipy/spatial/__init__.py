"""Geometry, as in `scipy.spatial`. A table of contents: modules load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {}, ("transform",))
