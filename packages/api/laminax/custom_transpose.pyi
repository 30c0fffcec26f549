# Written by tools/stubs.py.
"""Linear functions with a transpose of their own. A table of contents: names load on first use."""

from laminax_transforms.custom.custom_transposes import custom_transpose as custom_transpose

__all__: list[str]

