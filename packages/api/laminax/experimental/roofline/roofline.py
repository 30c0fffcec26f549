"""Estimates of what programs ask for, for roofline models. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "explaining.roofline": "roofline roofline_and_grad",
    "laminax_lowering.costs.roofline_counts": "RooflineResult RooflineRuleContext RooflineShape",
    "laminax_lowering.costs.roofline_rules": "register_roofline register_standard_roofline"})
