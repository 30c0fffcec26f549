# Written by tools/stubs.py.
"""Linear equations given by functions, as in `scipy.sparse`. A table of contents: modules load on first use."""

from laminax.scipy.sparse import linalg as linalg

__all__: list[str]

