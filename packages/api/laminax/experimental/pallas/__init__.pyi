# Written by tools/stubs.py.
"""Kernels in Pallas, which are not supported and say so: any name can be imported, also those not listed, and refuses to be called."""

from laminax._src.names.refused import _Unsupported

__all__: list[str]

BlockSpec: _Unsupported
GridSpec: _Unsupported
cdiv: _Unsupported
debug_print: _Unsupported
dslice: _Unsupported
load: _Unsupported
num_programs: _Unsupported
pallas_call: _Unsupported
program_id: _Unsupported
store: _Unsupported
when: _Unsupported
