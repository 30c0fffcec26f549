"""Pytrees: containers of arrays as trees with leaves."""

from laminax_ir.pytrees.pytree import *  # noqa: F401, F403
from laminax_ir.pytrees.pytree import __all__ as __all__
