"""Calls, evaluated by running the called program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from laminax_ir.ops.calls import (
    checkpoint_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    custom_vjp_tangent_p,
    custom_vmap_call_p,
    forward_mode_error,
    jit_p,
    name_p,
)
from laminax_ir.reference.evaluate import evaluate, reference_rule

if TYPE_CHECKING:
    import numpy as np

    from laminax_ir.programs.jaxpr import ClosedJaxpr


@reference_rule(jit_p, checkpoint_p)
def _jit(*operands: np.ndarray, jaxpr: ClosedJaxpr, **_params: Any) -> list[np.ndarray]:
    return evaluate(jaxpr, *operands)


@reference_rule(custom_jvp_call_p, custom_vjp_call_p)
def _custom_call(*operands: np.ndarray, call_jaxpr: ClosedJaxpr, **_params: Any) -> list[np.ndarray]:
    return evaluate(call_jaxpr, *operands)


@reference_rule(custom_vjp_tangent_p)
def _custom_vjp_tangent(*operands: np.ndarray, name: str, **_params: Any) -> Any:
    raise forward_mode_error(name)


@reference_rule(name_p)
def _name(x: np.ndarray, *, name: str) -> np.ndarray:
    return x


@reference_rule(custom_vmap_call_p)
def _custom_vmap_call(*operands: np.ndarray, call: ClosedJaxpr, **_params: Any) -> list[np.ndarray]:
    return evaluate(call, *operands)
