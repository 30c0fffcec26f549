"""Operands of NumPy-style functions, brought to one dtype and one rank."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.scalar_operands import scalar_like
from laminax_ir.ops.shape import expand_dims
from laminax_ir.options import config
from laminax_ir.tracing.trace import Tracer
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval
from laminax_ir.types.errors import DTypeError
from laminax_ir.types.warning_counts import count_warning

if TYPE_CHECKING:
    from laminax_ir.types.annotations import ArrayLike

_SCALARS = frozenset((bool, int, float, complex))
_BOOL = np.dtype(bool)


def promote_dtypes(*operands: Any) -> list[Any]:
    """Converts operands to their common dtype under the promotion lattice; scalars become constants of it."""
    if len(operands) == 2 and isinstance(operands[0], Tracer) and isinstance(operands[1], Tracer) \
            and operands[0].aval.dtype is operands[1].aval.dtype:
        return list(operands)
    dtype, weak = dtypes.result_type(*operands, return_weak_type_flag=True)
    return [as_dtype(x, dtype, weak) for x in operands]


def as_dtype(x: Any, dtype: Any, weak: bool) -> Any:
    """One operand in the dtype that promotion chose."""
    if type(x) in _SCALARS:
        # a bool is a strong type: where it makes a strong number, a Python number, which is a weak one, will not do
        return _cast_scalar(x, dtype) if weak or type(x) is not bool else np.asarray(x).astype(dtype)[()]
    aval = get_aval(x)
    if isinstance(x, (int, float, complex)) and not hasattr(x, "shape"):  # of a class below these: a member of an IntEnum
        return as_dtype(int(x) if isinstance(x, int) else float(x) if isinstance(x, float) else complex(x), dtype, weak)
    if aval.dtype == dtype:
        return x
    return op.convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak)


def _cast_scalar(x: Any, dtype: np.dtype) -> ArrayLike:
    for kind in (float, complex):
        if dtypes.scalar_dtype(kind) == dtype:
            return kind(x)
    return scalar_like(int(x) if type(x) is bool and dtype != _BOOL else x, dtype)


def promote_shapes(name: str, *operands: Any) -> list[Any]:
    """Gives operands of rank above 0 the same rank by NumPy's broadcasting rule, adding axes of size 1 in front."""
    ranks = [len(np.shape(x)) if type(x) in _SCALARS else len(x.shape) for x in operands]
    highest = max(ranks)
    if all(rank in (0, highest) for rank in ranks):
        return list(operands)
    if config.numpy_rank_promotion.value != "allow":
        _report_rank_promotion(name, operands)
    return [x if rank in (0, highest) else expand_dims(x, tuple(range(highest - rank)))
            for x, rank in zip(operands, ranks)]


def _report_rank_promotion(name: str, operands: Sequence[Any]) -> None:
    shapes, advice = " ".join(str(np.shape(x)) for x in operands), "Give them the same rank with reshape or None indexing."
    if config.numpy_rank_promotion.value == "raise":
        raise ValueError(f"Operands could not be broadcast together for {name} on shapes {shapes} and with the config option "
                         f"jax_numpy_rank_promotion='raise'. {advice}")
    count_warning()
    warnings.warn(f"Following NumPy automatic rank promotion for {name} on shapes {shapes}, because of the config option "
                  f"numpy_rank_promotion='warn'. {advice}", stacklevel=4)


def promote(name: str, *operands: Any) -> list[Any]:
    """Promotes dtypes, then ranks: what every NumPy-style binary function does first."""
    try:
        return promote_shapes(name, *promote_dtypes(*operands))
    except dtypes.TypePromotionError as error:
        _refuse_extended(name, operands, error)
        raise


def _refuse_extended(name: str, operands: Sequence[Any], error: Exception) -> None:
    """Raises what functions raise for operands that are keys, also where the others are not."""
    avals = [get_aval(x) for x in operands]
    if any(dtypes.is_extended(aval.dtype) for aval in avals):
        raise DTypeError(f"{name} does not accept dtypes {', '.join(str(aval.dtype) for aval in avals)}. {error}") from None
