# Written by tools/stubs.py.
"""Programs made of functions, and thinned out. A table of contents: names load on first use."""

from collections.abc import Callable, Sequence
from laminax._src.names.interpreters.partial_eval import PartialVal as _PartialVal
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr
from laminax_ir.programs.primitive import RuleTable
from laminax_ir.types.avals import ShapedArray
from typing import Any
from laminax._src.names.interpreters.partial_eval import PartialVal as PartialVal
from laminax._src.names.interpreters.partial_eval import Val as Val
from laminax_ir.recording.staging_trace import StagedTracer as DynamicJaxprTracer
from laminax_ir.recording.staging_trace import StagingTrace as DynamicJaxprTrace

__all__: list[str]

def close_jaxpr(jaxpr: Jaxpr) -> ClosedJaxpr:
    """A program without constants as one with a list of them, which is empty."""
def convert_constvars_jaxpr(jaxpr: Jaxpr) -> Jaxpr:
    """The program whose constants are its first arguments."""
def dce_jaxpr(jaxpr: Jaxpr, used_outputs: Sequence[bool], instantiate: bool | Sequence[bool] = False) -> tuple[Jaxpr, list[bool]]:
    """The part of a program that some of its results need."""
def dce_jaxpr_consts(
    jaxpr: Jaxpr,
    used_outputs: Sequence[bool],
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Jaxpr, list[bool], list[bool]]:
    """The part of a program that some of its results need, without the constants that it does not need."""
dce_rules: RuleTable
def trace_to_jaxpr_dynamic(
    fun: Callable[..., Any],
    in_avals: Sequence[ShapedArray],
    *,
    keep_inputs: Sequence[bool] | None = None,
    lower: bool = False,
    auto_dce: bool = False,
) -> tuple[Jaxpr, list[ShapedArray], list[Any]]:
    """Traces a flat function to a program."""
def trace_to_jaxpr_nounits(
    fun: Callable[..., Any],
    pvals: Sequence[_PartialVal],
    instantiate: bool = False,
) -> tuple[Jaxpr, list[_PartialVal], list[Any]]:
    """Runs a flat function on partly known arguments: computes what needs known ones only, and traces the rest to a program."""
