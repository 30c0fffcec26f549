"""Dot algorithms: how a product of floats is computed, where a `precision` names it exactly.

An algorithm rounds the operands to precision types, multiplies, and sums in an accumulation type. Some split each operand
into components, each the rounding of what those before it leave, and add up products of components: bfloat16 hardware
comes close to float32 that way. Source: StableHLO specification, `dot_general`; Henry, Tang and Heinecke, "Leveraging the
bfloat16 artificial intelligence datatype for higher-precision computations", ARITH 2019.
"""

from __future__ import annotations

import enum
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from laminax_ir.types import dtypes
from laminax_ir.types.errors import DTypeError

TF32 = "tf32"  # the precision type of 10 mantissa bits that no array has
ANY_F8 = "any_f8"  # whichever 8-bit float the operand has


class DotAlgorithm(NamedTuple):
    """How a dot product is computed: what its operands are rounded to, and what the products are summed in.

    Args:
      lhs_precision_type, rhs_precision_type: dtypes that the operands are rounded to.
      accumulation_type: the dtype of the sums.
      lhs_component_count, rhs_component_count: into how many components an operand is split before it is multiplied.
      num_primitive_operations: how many products of components are added up.
      allow_imprecise_accumulation: whether some steps may sum with lower precision.

    A platform supports few of them; lowering refuses the others. `DotAlgorithmPreset` names those that are known.

    Example:
      >>> DotAlgorithm(np.float16, np.float16, np.float32).accumulation_type
      <class 'numpy.float32'>
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Known dot algorithms, named by the operands' precision types and the accumulation type.

    DEFAULT leaves the choice to the compiler. ANY_F8 is any 8-bit float, ANY the result's dtype. FAST_ACCUM allows sums of
    lower precision. X3, X6 and X9 add up that many products of components, which are more accurate than one.

    Example:
      >>> dot(np.float32([1, 2]), np.float32([3, 4]), precision=DotAlgorithmPreset.F32_F32_F32)
      array(11., dtype=float32)
    """

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name


_BF16, _F16, _F32, _F64 = (np.dtype(d) for d in (ml_dtypes.bfloat16, np.float16, np.float32, np.float64))

_ALGORITHMS = {
    "ANY_F8_ANY_F8_F32": DotAlgorithm(ANY_F8, ANY_F8, _F32),
    "ANY_F8_ANY_F8_F32_FAST_ACCUM": DotAlgorithm(ANY_F8, ANY_F8, _F32, allow_imprecise_accumulation=True),
    "ANY_F8_ANY_F8_ANY": DotAlgorithm(ANY_F8, ANY_F8, None),
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM": DotAlgorithm(ANY_F8, ANY_F8, None, allow_imprecise_accumulation=True),
    "F16_F16_F16": DotAlgorithm(_F16, _F16, _F16),
    "F16_F16_F32": DotAlgorithm(_F16, _F16, _F32),
    "BF16_BF16_BF16": DotAlgorithm(_BF16, _BF16, _BF16),
    "BF16_BF16_F32": DotAlgorithm(_BF16, _BF16, _F32),
    **{f"BF16_BF16_F32_X{n}": DotAlgorithm(_BF16, _BF16, _F32, num_primitive_operations=n) for n in (3, 6, 9)},
    "TF32_TF32_F32": DotAlgorithm(TF32, TF32, _F32),
    "TF32_TF32_F32_X3": DotAlgorithm(TF32, TF32, _F32, num_primitive_operations=3),
    "F32_F32_F32": DotAlgorithm(_F32, _F32, _F32),
    "F64_F64_F64": DotAlgorithm(_F64, _F64, _F64),
}


def concrete_algorithm(algorithm: DotAlgorithm | DotAlgorithmPreset, lhs: Any, rhs: Any, out: Any) -> DotAlgorithm | None:
    """The algorithm for operands of these dtypes, with dtypes (or `TF32`) in all places; None leaves it to the compiler.

    Args:
      algorithm: the algorithm, or the name of one.
      lhs, rhs, out: the dtypes of the operands and the result.

    Raises:
      DTypeError: if the algorithm does not multiply such operands.
    """
    if algorithm is DotAlgorithmPreset.DEFAULT:
        return None
    chosen = _ALGORITHMS[algorithm.name] if isinstance(algorithm, DotAlgorithmPreset) else algorithm
    for side, dtype in (("lhs", lhs), ("rhs", rhs)):
        if dtypes.issubdtype(dtype, dtypes.complexfloating):
            raise DTypeError(f"dot_general: the algorithm {algorithm} multiplies real numbers, but {side} has the dtype "
                             f"{dtypes.dtype_name(dtype)}. Use a Precision instead.")
    return chosen._replace(lhs_precision_type=_operand_type(algorithm, "lhs", chosen.lhs_precision_type, lhs),
                           rhs_precision_type=_operand_type(algorithm, "rhs", chosen.rhs_precision_type, rhs),
                           accumulation_type=np.dtype(out if chosen.accumulation_type is None else chosen.accumulation_type))


def _operand_type(algorithm: DotAlgorithm | DotAlgorithmPreset, side: str, precision_type: Any, dtype: np.dtype) -> np.dtype | str:
    if precision_type is TF32:
        return TF32
    if precision_type is not ANY_F8:
        return np.dtype(precision_type)
    if not dtypes.dtype_name(dtype).startswith("float8_"):
        raise DTypeError(f"dot_general: the algorithm {algorithm} multiplies 8-bit floats, but {side} has the dtype "
                         f"{dtypes.dtype_name(dtype)}. Convert it first.")
    return dtype


def storage_dtype(algorithm: DotAlgorithm, precision_type: Any, dtype: Any) -> np.dtype:
    """The dtype in which an operand is handed to an algorithm, which rounds it to its precision type.

    It is the precision type, except that wider operands go in as they are where the hardware's instructions round them
    (TF32), or where they are split into components. Source: what XLA accepts for each algorithm.
    """
    if precision_type is TF32 or algorithm.num_primitive_operations > 1:
        return _F32
    if precision_type == _BF16 and dtype == algorithm.accumulation_type == _F32:
        return _F32
    return precision_type
