"""The version of laminax, as text and as numbers."""

from laminax import __version__

__all__ = ["__version__", "__version_info__"]

__version_info__ = tuple(int(part) for part in __version__.split("."))
