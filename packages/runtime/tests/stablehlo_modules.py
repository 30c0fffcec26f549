"""StableHLO modules, written out by hand, that the tests compile."""

from __future__ import annotations

import numpy as np

from laminax_ir.programs.calling_conventions import CallingConvention
from laminax_ir.types.avals import ShapedArray
from laminax_runtime import compile_module
from laminax_runtime.compiling.compile import Executable

_ELEMENT_TYPES = {
    "bool": "i1", "int2": "i2", "int4": "i4", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint2": "ui2", "uint4": "ui4", "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2",
    "complex64": "complex<f32>", "complex128": "complex<f64>",
}  # fmt: skip


def aval(shape, dtype="float32", weak_type=False) -> ShapedArray:
    return ShapedArray(tuple(shape), np.dtype(dtype), weak_type)


def tensor(a: ShapedArray) -> str:
    return "tensor<" + "".join(f"{size}x" for size in a.shape) + _ELEMENT_TYPES[a.dtype.name] + ">"


def module(in_avals, out_avals, body, attributes=None) -> str:
    """A module whose `main` has parameters %arg0, %arg1, ... and the operations and results of `body`."""
    attributes = attributes or {}
    parameters = ", ".join(f"%arg{i}: {tensor(a)} {attributes.get(i, '')}" for i, a in enumerate(in_avals))
    results = ", ".join(map(tensor, out_avals))
    *operations, returned = body
    returns = f'"func.return"({returned}) : ({results}) -> ()'
    text = "\n    ".join((*operations, returns))
    main = f"func.func public @main({parameters}) -> ({results}) {{\n    {text}\n  }}"
    return f"module @test {{\n  {main}\n}}"


def binary(op: str, a: ShapedArray, attributes=None) -> str:
    """`op(x, y)` for two arrays of one type."""
    t = tensor(a)
    return module([a, a], [a], [f'%0 = "stablehlo.{op}"(%arg0, %arg1) : ({t}, {t}) -> {t}', "%0"], attributes)


def unary(op: str, a: ShapedArray, attributes=None) -> str:
    t = tensor(a)
    return module([a], [a], [f'%0 = "stablehlo.{op}"(%arg0) : ({t}) -> {t}', "%0"], attributes)


def compile_text(text: str, *, in_avals, out_avals, kept=None, host_callbacks=(), keepalives=(), has_layouts=False,
                 call_targets=(), **options) -> Executable:
    """`compile_module` of a module whose arguments are all kept, unless it is said, and none donated as far as the convention says."""
    convention = CallingConvention(
        tuple(in_avals), tuple(out_avals), (True,) * len(in_avals) if kept is None else tuple(kept), (False,) * len(in_avals),
        has_layouts=has_layouts, host_callbacks=tuple(host_callbacks), keepalives=tuple(keepalives), call_targets=tuple(call_targets))
    return compile_module(text, convention, **options)
