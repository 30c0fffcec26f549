"""Sparse arrays of any format: made, and made dense. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.sparse.creation": "empty eye", "numerics.sparse.transform": "todense"})
