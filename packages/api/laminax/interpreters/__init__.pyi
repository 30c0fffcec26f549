# Written by tools/stubs.py.
"""How JAX's ecosystem registers rules for primitives of its own: by interpreter. Each module is a table of contents."""

from laminax.interpreters import ad as ad
from laminax.interpreters import batching as batching
from laminax.interpreters import mlir as mlir
from laminax.interpreters import partial_eval as partial_eval
from laminax.interpreters import pxla as pxla
from laminax.interpreters import xla as xla

__all__: list[str]

