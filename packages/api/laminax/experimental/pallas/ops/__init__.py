"""Kernels that are ready to use, which are not supported, see `laminax.experimental.pallas`. A table of contents."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {}, ("tpu",))
