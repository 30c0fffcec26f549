# Written by tools/stubs.py.
"""Sparse attention on TPUs, which is not supported and says so."""

from laminax._src.names.refused import _Unsupported

__all__: list[str]

splash_attention_kernel: _Unsupported
splash_attention_mask: _Unsupported
