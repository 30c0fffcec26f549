# Written by tools/stubs.py.
"""Kernels that are ready to use, which are not supported, see `laminax.experimental.pallas`. A table of contents."""

from laminax.experimental.pallas.ops import tpu as tpu

__all__: list[str]

