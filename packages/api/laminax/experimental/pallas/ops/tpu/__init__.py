"""Pallas kernels for TPUs. A table of contents."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {}, ("splash_attention",))
