"""jaxlib's names as older programs look for them; `__version__` is jaxlib's. A table of contents: names load on first use."""

from __future__ import annotations

from typing import Any

from laminax._lazy import contents

__all__, _find, __dir__ = contents(__name__, {}, ("xla_bridge", "xla_client"))


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from laminax_runtime import jaxlib_version
        return jaxlib_version()
    return _find(name)
