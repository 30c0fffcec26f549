"""The version of laminax, and the version of JAX whose public API it follows."""

from laminax._version import __version__, __version_info__

__all__ = ["__version__", "__version_info__"]
