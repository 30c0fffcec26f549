"""Clients of platforms and default devices. A table of contents: names load on first use."""

from laminax._src.lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"extend.backend": "backends get_backend get_default_device"})
