"""The version of this release."""

__version__ = "0.1.0"
__version_info__ = (0, 10, 2)  # of JAX, whose public API this release follows: what libraries compare to choose a spelling
