"""Estimates of what programs ask for, for roofline models."""

# No table of contents: the function `roofline` has the name of the module that has it, and must be here before that.
from laminax.experimental.roofline.roofline import (
    RooflineResult,
    RooflineRuleContext,
    RooflineShape,
    register_roofline,
    register_standard_roofline,
    roofline,
    roofline_and_grad,
)

__all__ = [
    "RooflineResult", "RooflineRuleContext", "RooflineShape", "register_roofline", "register_standard_roofline", "roofline",
    "roofline_and_grad",
]
