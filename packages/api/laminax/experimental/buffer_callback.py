"""Callbacks that get buffers, which are not supported and say so. A table of contents: names load on first use."""

from laminax._src.lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"refused": "buffer_callback"})
