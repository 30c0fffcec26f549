"""Estimates of what programs ask for, for roofline models. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "explaining.roofline": "roofline roofline_and_grad",
    "explaining.roofline_counts": "RooflineResult RooflineRuleContext RooflineShape register_roofline register_standard_roofline"})
