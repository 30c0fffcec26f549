"""Control flow in NumPy: Python's own branches and loops around the evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from laminax_ir.key_arrays.extended_arrays import record_dtype
from laminax_ir.ops.control_flow import cond_p, platform_index_p, scan_p, while_p
from laminax_ir.reference.evaluate import evaluate, reference_rule, to_numpy
from laminax_ir.types import dtypes

if TYPE_CHECKING:
    from laminax_ir.programs.jaxpr import ClosedJaxpr
    from laminax_ir.types.annotations import ArrayLike


@reference_rule(cond_p)
def _cond(index: np.ndarray, *operands: np.ndarray, branches: tuple[ClosedJaxpr, ...], **_params: Any) -> list[ArrayLike]:
    return evaluate(branches[min(max(int(index), 0), len(branches) - 1)], *operands)


@reference_rule(while_p)
def _while(*operands: Any, cond_jaxpr: ClosedJaxpr, body_jaxpr: Any, cond_nconsts: Any, body_nconsts: Any) -> Sequence[np.ndarray]:
    cond_consts = operands[:cond_nconsts]
    body_consts = operands[cond_nconsts:cond_nconsts + body_nconsts]
    carry = operands[cond_nconsts + body_nconsts:]
    while evaluate(cond_jaxpr, *cond_consts, *carry)[0]:
        carry = tuple(evaluate(body_jaxpr, *body_consts, *carry))
    return carry


@reference_rule(scan_p)
def _scan(*operands: np.ndarray, jaxpr: Any, length: int, reverse: bool, num_consts: int, num_carry: Any,
          **_params: Any) -> list[np.ndarray]:
    consts, carry = operands[:num_consts], operands[num_consts:num_consts + num_carry]
    xs = operands[num_consts + num_carry:]
    y_avals = jaxpr.out_avals[num_carry:]
    ys = [np.empty((length, *aval.shape), record_dtype(aval.dtype) if dtypes.is_extended(aval.dtype) else aval.dtype)
          for aval in y_avals]
    for i in reversed(range(length)) if reverse else range(length):
        outs = evaluate(jaxpr, *consts, *carry, *[x[i] for x in xs])
        carry = tuple(outs[:num_carry])
        for stacked, y, aval in zip(ys, outs[num_carry:], y_avals):
            stacked[i] = to_numpy(y, aval)
    return [*carry, *ys]


@reference_rule(platform_index_p)
def _platform_index(*, platforms: tuple[tuple[str, ...] | None, ...]) -> ArrayLike:
    for i, platform in enumerate(platforms):
        if platform is None or "cpu" in platform:
            return np.int32(i)
    raise NotImplementedError(f"platform_dependent: no function for platform cpu, nor a default; there are {platforms}")
