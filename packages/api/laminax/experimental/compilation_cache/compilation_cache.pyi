# Written by tools/stubs.py.
"""The cache of compiled programs on disk. A table of contents: names load on first use."""

import os

__all__: list[str]

def is_initialized() -> bool:
    """Whether the cache has been opened, and not reset since."""
def reset_cache() -> None:
    """Closes the cache, so that the next compilation opens it anew, by the settings at that time; the files stay where they are."""
def set_cache_dir(path: str | os.PathLike[str]) -> None:
    """Sets the folder of the cache: the setting `compilation_cache_dir`."""
