"""Sparse attention on TPUs, which is not supported and says so."""

from laminax._src.names.refused import names_of_module

__all__ = ["splash_attention_kernel", "splash_attention_mask"]

__getattr__ = names_of_module("experimental.pallas.ops.tpu.splash_attention",
                              "kernels in Pallas are not. Use laminax.nn.dot_product_attention.")
