"""Rough costs of operations, for plans, in one unit: the bytes that move to or from memory in the same time.

Measured on one core with 512-bit vectors, jaxlib 0.12, operations of float32 in one fused loop: 4 bytes written and read again take
0.6 ns and, in memory that is new to the process, twice that; a sum 0.1, a quotient or a root 0.3, exp, tanh, sin, log 0.2 to 0.35,
logistic and erf 0.5, what the compiler writes out at length or calls a function for (pow, atan2, rem, asin) 4 to 13. jaxlib 0.10 calls a
function for sin and cos too, 2 and 4.6; they have a price between.
"""

from __future__ import annotations

import functools
import math

from laminax_ir.key_arrays.extended_arrays import physical_aval
from laminax_ir.ops import elementwise as e
from laminax_ir.ops import reduction as r
from laminax_ir.ops import shape_primitives as s
from laminax_ir.ops.contraction import dot_general_p
from laminax_ir.ops.convolution import conv_general_dilated_p
from laminax_ir.ops.slicing import slice_p
from laminax_ir.ops.special import erf_p
from laminax_ir.programs.jaxpr import JaxprEqn
from laminax_ir.programs.primitive import Primitive
from laminax_ir.types.avals import ShapedArray

HEAVY = frozenset((dot_general_p, conv_general_dilated_p))
# Reductions by one operation on numbers or bits, which compilers fuse with what makes their operand.
REDUCTIONS = frozenset((r.reduce_sum_p, r.reduce_max_p, r.reduce_min_p, r.reduce_prod_p, r.reduce_and_p, r.reduce_or_p, r.reduce_xor_p))

# Bytes for each element of the result.
_VIEW, _SIMPLE, _DIVISION, _SERIES, _LONG_SERIES, _TRIGONOMETRIC = 0.0, 0.5, 1.2, 1.5, 2.2, 13.0
_BYTES_PER_ELEMENT: dict[Primitive, float] = {
    **dict.fromkeys((s.broadcast_in_dim_p, s.reshape_p, s.squeeze_p, s.iota_p, e.stop_gradient_p), _VIEW),
    **dict.fromkeys((
        e.neg_p, e.sign_p, e.floor_p, e.ceil_p, e.round_p, e.is_finite_p, e.abs_p, e.not_p, e.square_p, e.one_minus_square_p,
        e.add_p, e.sub_p, e.mul_p, e.max_p, e.min_p, e.and_p, e.or_p, e.xor_p, e.shift_left_p, e.shift_right_arithmetic_p,
        e.shift_right_logical_p, e.eq_p, e.ne_p, e.lt_p, e.le_p, e.gt_p, e.ge_p, e.select_n_p, e.clamp_p,
        e.convert_element_type_p, e.bitcast_convert_type_p, e.reduce_precision_p, e.copy_p, e.real_p, e.imag_p, e.conj_p,
        e.complex_p, slice_p, s.rev_p), _SIMPLE),
    **dict.fromkeys((e.div_p, e.sqrt_p, e.rsqrt_p, e.integer_pow_p), _DIVISION),
    **dict.fromkeys((e.exp_p, e.exp2_p, e.expm1_p, e.log_p, e.log1p_p, e.log2_p, e.tanh_p), _SERIES),
    **dict.fromkeys((e.logistic_p, erf_p), _LONG_SERIES),
    **dict.fromkeys((e.sin_p, e.cos_p, e.tan_p), _TRIGONOMETRIC),
    s.transpose_p: _DIVISION,  # as slow as a quotient, for how it walks through memory
}


def is_cheap(eqn: JaxprEqn) -> bool:
    """Whether an equation is elementwise or a view, fast and without effects: what compilers fuse, and can compute twice."""
    return eqn.primitive in _BYTES_PER_ELEMENT and not eqn.effects


def is_series(eqn: JaxprEqn) -> bool:
    """Whether a cheap equation costs enough that compilers do not compute it twice of their own accord."""
    return _BYTES_PER_ELEMENT[eqn.primitive] >= _DIVISION


def cost(eqn: JaxprEqn) -> float:
    """The cost of a cheap equation besides reading and writing, in bytes."""
    return _BYTES_PER_ELEMENT[eqn.primitive] * math.prod(eqn.outvars[0].aval.shape)


@functools.lru_cache(maxsize=4096)
def num_bytes(aval: ShapedArray) -> int:
    """The size of a value."""
    stored = physical_aval(aval)
    return math.prod(stored.shape) * stored.dtype.itemsize


def heavy_work(eqn: JaxprEqn) -> int:
    """The operations on numbers of a product or a convolution."""
    out = math.prod(eqn.outvars[0].aval.shape)
    if eqn.primitive is dot_general_p:
        (contracted, _), _ = eqn.params["dimension_numbers"]
        return 2 * out * math.prod(eqn.invars[0].aval.shape[d] for d in contracted)
    kernel = eqn.invars[1].aval.shape
    return 2 * out * math.prod(kernel) // max(kernel[eqn.params["dimension_numbers"].rhs_spec[0]], 1)
