"""What a function asks of a machine, counted from its program, as compilers of kernels are told."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from laminax_ir.options.records import Record
from laminax_ir.programs.jaxpr import Jaxpr, JaxprEqn, subjaxprs
from laminax_ir.types.avals import ShapedArray

from laminax._src.compiling.abstract_calls import make_jaxpr

_TRANSCENDENTAL = frozenset((
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "digamma", "erf", "erf_inv", "erfc", "exp", "exp2",
    "expm1", "lgamma", "log", "log1p", "log2", "logistic", "pow", "rsqrt", "sin", "sinh", "sqrt", "tan", "tanh"))
_ARITHMETIC = frozenset((
    "abs", "add", "add_any", "and", "ceil", "clamp", "div", "eq", "floor", "ge", "gt", "le", "lt", "max", "min", "mul", "ne", "neg",
    "nextafter", "not", "or", "rem", "round", "select_n", "shift_left", "shift_right_arithmetic", "shift_right_logical", "sign", "square",
    "sub", "xor"))


class CostEstimate(Record):
    """What a kernel asks for.

    Args:
      flops: arithmetic operations.
      transcendentals: evaluations of functions such as exp.
      bytes_accessed: bytes read and written in the device's memory.
      remote_bytes_transferred: bytes sent to other devices.
    """
    flops: int
    transcendentals: int
    bytes_accessed: int
    remote_bytes_transferred: int = 0

    def to_json(self) -> bytes:
        """The numbers as JSON."""
        return json.dumps({name: getattr(self, name) for name in self.record_fields}).encode()


def estimate_cost(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> CostEstimate:
    """Counts what a function asks for, for arguments of some types.

    Products of matrices have two operations for each pair of numbers, elementwise operations one for each element of the result; sums,
    and operations that only move numbers, are not counted. The bytes are those of the arguments and results. A loop counts as many times
    as it runs, a `while_loop` once, a `cond` as its dearest branch.

    Args:
      fun: the function.
      *args, **kwargs: its arguments, or `ShapeDtypeStruct`s.

    Returns:
      A `CostEstimate`.

    Example:
      >>> estimate_cost(lambda x: x + 1, ShapeDtypeStruct((4,), "float32"))
      CostEstimate(flops=4, transcendentals=0, bytes_accessed=32, remote_bytes_transferred=0)
    """
    closed = make_jaxpr(fun)(*args, **kwargs)
    flops, transcendentals = _of_program(closed.jaxpr)
    moved = sum(_bytes(aval) for aval in (*closed.in_avals, *closed.out_avals))
    return CostEstimate(flops, transcendentals, moved)


def _bytes(aval: ShapedArray) -> int:
    return math.prod(aval.shape) * aval.dtype.itemsize


def _of_program(jaxpr: Jaxpr) -> tuple[int, int]:
    counts = [_of_equation(eqn) for eqn in jaxpr.eqns]
    return sum(flops for flops, _ in counts), sum(transcendentals for _, transcendentals in counts)


def _of_equation(eqn: JaxprEqn) -> tuple[int, int]:
    """The arithmetic operations and the transcendental functions of an equation."""
    name = eqn.primitive.name
    inner = [_of_program(program) for program in subjaxprs(eqn)]
    if name == "cond":
        return max(inner, default=(0, 0))
    if inner:
        times = eqn.params["length"] if name == "scan" else 1
        return times * sum(flops for flops, _ in inner), times * sum(transcendentals for _, transcendentals in inner)
    size = math.prod(eqn.outvars[0].aval.shape) if eqn.outvars else 0
    if name == "dot_general":
        contracted = eqn.params["dimension_numbers"][0][0]
        shape = eqn.invars[0].aval.shape
        return 2 * size * math.prod(shape[axis] for axis in contracted), 0
    if name == "integer_pow":
        return size * _products_of_power(abs(eqn.params["y"])), 0
    return (size if name in _ARITHMETIC else 0), (size if name in _TRANSCENDENTAL else 0)


def _products_of_power(exponent: int) -> int:
    """The products of a power by repeated squaring: one for each bit, and one for each that is set."""
    return exponent.bit_length() - 1 + exponent.bit_count() if exponent > 1 else 0
