"""The persistent compilation cache, by the names that JAX's module for it has. Its options, such as its size, are settings."""

from __future__ import annotations

import os

from laminax_runtime.compiling import compilation_cache as _cache

from laminax._settings import config


def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Sets the folder of the cache: the setting `compilation_cache_dir`.

    Args:
      path: the folder; it is made when the first program is kept.

    Raises:
      TypeError: if it is no path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"compilation_cache.set_cache_dir: path must be a string or a path, got {path!r} of type {type(path).__name__}")
    config.update("compilation_cache_dir", os.fspath(path))


def reset_cache() -> None:
    """Closes the cache, so that the next compilation opens it anew, by the settings at that time; the files stay where they are."""
    _cache._cache_in.cache_clear()


def is_initialized() -> bool:
    """Whether the cache has been opened, and not reset since."""
    return _cache._cache_in.cache_info().currsize > 0
