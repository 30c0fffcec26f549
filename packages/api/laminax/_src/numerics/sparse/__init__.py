"""The implementation of `laminax.experimental.sparse`, a module for each subject. Importing it gives `sparsify` its rules."""

from laminax._src.numerics.sparse import rules as _rules  # noqa: F401
