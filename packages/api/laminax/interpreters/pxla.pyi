# Written by tools/stubs.py.
"""JAX's own dispatch to several devices, which is not supported and says so. Libraries, orbax among them, import the module."""

from laminax._src.names.refused import _Unsupported

__all__: list[str]

global_avals_to_results_handler: _Unsupported
