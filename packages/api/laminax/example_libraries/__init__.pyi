# Written by tools/stubs.py.
"""Small libraries that older programs use: a table of contents; a module is imported when it is first used."""

from laminax.example_libraries import optimizers as optimizers
from laminax.example_libraries import stax as stax

__all__: list[str]

