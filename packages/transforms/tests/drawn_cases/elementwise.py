"""Elementwise operations."""

from __future__ import annotations

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.types.avals import get_aval

from .case import COMPLEX, REAL, WIDE, Case, of_one, typed


def named(case, *functions, **options):
    return {f.__name__: case(f, **options) for f in functions}


def half(fun):
    """Of numbers between 0.3 and 0.95."""
    return lambda x: fun(op.mul(x, typed(0.5, x)))


def to_float32_and_back(x):
    dtype = get_aval(x).dtype
    return op.convert_element_type(op.convert_element_type(x, np.complex64 if dtype.kind == "c" else np.float32), dtype)


CASES = {
    **named(of_one, op.neg, op.exp, op.exp2, op.expm1, op.log, op.log1p, op.log2, op.logistic, op.sqrt, op.rsqrt, op.sin, op.cos, op.sinh,
            op.cosh, op.tanh, op.asinh, op.square, op.one_minus_square, op.abs, op.sign, op.copy),
    **named(of_one, op.cbrt, dtypes=REAL), **named(of_one, op.conj, dtypes=(*WIDE, *COMPLEX)),
    **named(of_one, op.real, op.imag, dtypes=COMPLEX),
    **{f.__name__: of_one(half(f)) for f in (op.asin, op.acos, op.atan, op.atanh, op.tan)},
    "acosh": of_one(lambda x: op.acosh(op.add(x, typed(1, x)))),
    **named(Case, op.add, op.sub, op.mul, op.div, op.pow, op.atan2), **named(Case, op.max, op.min, dtypes=REAL),
    "complex": Case(op.complex, dtypes=WIDE),
    "nextafter": Case(lambda x, y: op.nextafter(op.sin(x), y), dtypes=REAL),
    # The quotient jumps at whole numbers, from which that of the points by a half is far.
    "rem": Case(op.rem, lambda numbers, size: (numbers(*size), np.full(size, 0.5)), dtypes=REAL),
    "integer_pow": of_one(lambda x: op.integer_pow(x, 3)), "negative integer_pow": of_one(lambda x: op.integer_pow(x, -2)),
    "select_n": Case(lambda x, y: op.select_n(op.gt(op.real(x) if get_aval(x).dtype.kind == "c" else x, typed(1.2, x).real), op.sin(x),
                                              op.mul(x, y))),
    "clamp": Case(lambda x, y: op.clamp(typed(0.90234375, x), x, op.add(y, typed(0.25, x))), dtypes=REAL),
    "convert_element_type": of_one(lambda x: op.sin(to_float32_and_back(x)), dtypes=(*REAL[:3], COMPLEX[0])),
    "to a wider dtype": of_one(lambda x: op.convert_element_type(op.sin(x), np.complex128), dtypes=(WIDE[1],)),
    "reduce_precision": of_one(lambda x: op.sin(op.reduce_precision(op.mul(x, typed(2, x)), 11, 52)), dtypes=REAL),
    "optimization_barrier": Case(lambda x, y: op.mul(*op.optimization_barrier_flat(op.sin(x), y))),
    "stop_gradient and identity": of_one(lambda x: op.sub(op.mul(x, x), op.stop_gradient_one(typed(2, x)))),
    "scalar beside array": Case(lambda x, y: op.mul(op.sin(x), op.add(op.mul(y, y), typed(3, x)))),
}
