"""Kernels in Pallas, which are not supported and say so: any name can be imported, also those not listed, and refuses to be called."""

from laminax._src.names.refused import names_of_module

__all__ = ["BlockSpec", "GridSpec", "cdiv", "debug_print", "dslice", "load", "num_programs", "pallas_call", "program_id", "store", "when"]

__getattr__ = names_of_module("experimental.pallas", "kernels are compiled by XLA alone. Write the function with laminax.numpy and "
                                                     "laminax.lax, or call a compiled kernel with laminax.ffi.ffi_call.")
