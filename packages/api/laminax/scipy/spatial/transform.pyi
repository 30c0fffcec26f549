# Written by tools/stubs.py.
"""Rotations of space, as in `scipy.spatial.transform`. A table of contents: names load on first use."""

from laminax._src.numerics.scipy.rotations import Rotation as Rotation
from laminax._src.numerics.scipy.rotations import Slerp as Slerp

__all__: list[str]

