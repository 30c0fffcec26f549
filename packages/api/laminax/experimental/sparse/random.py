"""Random sparse arrays. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"numerics.sparse.creation": "random_bcoo"})
