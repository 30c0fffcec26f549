"""The version of this release."""

__version__ = "0.2.0"
__version_info__: tuple[int, int, int] = (0, 12, 0)  # of JAX, whose public API this release follows; libraries compare it
