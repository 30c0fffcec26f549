# Written by tools/stubs.py.
"""Pallas kernels for TPUs. A table of contents."""

from laminax.experimental.pallas.ops.tpu import splash_attention as splash_attention

__all__: list[str]

