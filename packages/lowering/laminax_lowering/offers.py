"""The names that other packages may import of this layer, by module: they keep their meaning through 0.2.x, all others may change.

`tools/offers.py` prints this in the README; `tools/tests/test_offers.py` holds other packages to it.
"""

from __future__ import annotations

# For each module below this package: the names, or `*` for every public name of a family of operations.
OFFERS: dict[str, str] = {
    "costs.equation_counts": "Count count_of counted_programs repetitions",
    "costs.roofline": "roofline_estimate",
    "costs.roofline_counts": "RooflineResult RooflineRuleContext RooflineShape",
    "costs.roofline_rules": "register_roofline register_standard_roofline",
    "planning.estimates": "HEAVY_OPERATIONS_PER_BYTE",
    "regions": "WholeProgram plan_regions",
    "rules.callbacks": "emit_callback",
    "rules.ffi": "build_ffi_lowering_function ffi_lowering",
    "writing.context": "FunctionWriter",
    "writing.registry": "lowering_rule lowering_rules platform_rules",
    "writing.ssa_values": "Value",
    "writing.tokens": "current_tokens set_tokens",
    "writing.types": "TOKEN dense element_type splat type_text",
}
