"""Loops on the CPU that are compiled as one kernel.

The CPU's compiler runs a loop by calling a kernel for each operation of the body, each time round. A loop whose body moves few bytes it
compiles as one kernel instead, provided that the body is without scatters, sorts, Fourier transforms, calls of other libraries and
communication between devices; of nested loops the outermost that qualifies, forward loops and their derivatives alike. Up to which
bytes is an option of XLA. Its default is a kilobyte until jaxlib 0.10, which leaves out nearly all gradients, and is far more in 0.12.

Of 117 loops (`benchmarks/cpu.py --table=loops`), each in three sizes, under jaxlib 0.10.2, processor time in all and that of compiling:

  limit in bytes     1 thousand     8 thousand     33 thousand     131 thousand     1 million     any
  steps              1              0.85           0.84            0.79             0.83          0.73
  compiling          1              0.92           0.88            0.82             0.82          0.71

Gradients of 10,000 steps of Lorenz's equations take 0.97 ms instead of 46, and compile in 0.24 s instead of 0.85. Loops over more than
some thousand numbers run alike, up to a third slower (sines, which the kernel has without vectors) or faster; those that move more
than a million bytes each time round gain nothing and may be worth several threads, which a kernel does not have. Bits may differ where
sums of products are contracted.
"""

from __future__ import annotations

import os
from typing import Any, Mapping

from laminax_runtime import _jaxlib

_LIBRARY, _FOR_PRODUCTS = "xla_cpu_experimental_ynn_fusion_type", "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"
_OPTION = b"xla_cpu_small_while_loop_byte_threshold"
_BACKEND_OPTIONS = 500  # the field of `DebugOptions`, a map: its entries have a key and a value
LIMIT = 1 << 20


def with_small_loops_as_kernels(compile_options: _jaxlib.CompileOptions) -> _jaxlib.CompileOptions:
    """The options for a program on one CPU device, with the limit above; what the user's XLA_FLAGS say of it prevails."""
    if _jaxlib.has_new_cpu_compiler or _OPTION in compile_options.SerializeAsString():
        return compile_options
    entry = _jaxlib.protobuf_field(1, _OPTION) + _jaxlib.protobuf_field(2, str(LIMIT).encode())
    return _jaxlib.with_debug_options(compile_options, _jaxlib.protobuf_field(_BACKEND_OPTIONS, entry))


def without_library_for_reductions(compiler_options: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Options by which the compiler calls its library for products only, so that reductions are a part of a loop's kernel (see
    `laminax_lowering.writing.reduction_counts`); what the user's options or XLA_FLAGS say of it prevails.

    For products one at a time, as by default: with `LIBRARY_FUSION_TYPE_DOT`, products with their neighbours, jaxlib 0.12.0.1 reads
    memory that nothing was written to, in conjugate gradients with the Hessian of a classifier, say.
    """
    given = compiler_options or {}
    if not _jaxlib.has_new_cpu_compiler or _LIBRARY in given or _LIBRARY in os.environ.get("XLA_FLAGS", ""):
        return compiler_options
    return {**given, _LIBRARY: _FOR_PRODUCTS}
