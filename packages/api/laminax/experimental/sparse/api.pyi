# Written by tools/stubs.py.
"""Sparse arrays of any format: made, and made dense. A table of contents: names load on first use."""

from laminax.experimental.sparse import empty as empty
from laminax.experimental.sparse import eye as eye
from laminax.experimental.sparse.transform import todense as todense

__all__: list[str]

