"""JAX's own dispatch to several devices, which is not supported and says so. Libraries, orbax among them, import the module."""

from laminax._src.names.refused import names_of_module

__all__ = ["global_avals_to_results_handler"]

__getattr__ = names_of_module("interpreters.pxla", "values are brought to devices by device_put and by jit's in_shardings and "
                                                   "out_shardings. Use these.")
