# Written by tools/stubs.py.
"""Random sparse arrays. A table of contents: names load on first use."""

from laminax.experimental.sparse import random_bcoo as random_bcoo

__all__: list[str]

