"""The cache of compiled programs on disk. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"names.compilation_cache": "is_initialized reset_cache set_cache_dir"})
