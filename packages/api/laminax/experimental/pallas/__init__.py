"""Kernels in Pallas, which are not supported and say so: every name can be imported, and refuses to be called."""

from laminax._src.refused import names_of_module

__getattr__ = names_of_module("experimental.pallas", "kernels are compiled by XLA alone. Write the function with laminax.numpy and laminax.lax, "
                              "or call a compiled kernel with laminax.ffi.ffi_call.")
