"""Lowering rules, and what they are written with. A table of contents: names load on first use.

Rules get values of MLIR's Python bindings, as JAX's do, which are values of the StableHLO text that laminax writes as well.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "names.interpreters.mlir": "LoweringRule LoweringRuleContext emit_python_callback lower_fun register_lowering",
    "laminax_ir.programs.effects": "lowerable_effects",
    "names.interpreters.mlir_objects": """
        TokenSet aval_to_ir_type aval_to_ir_types custom_call dense_int_array dense_int_elements dtype_to_ir_type flatten_ir_types
        flatten_ir_values i32_attr i64_attr ir_attribute ir_constant ir_constants make_ir_context module_to_bytecode module_to_string
        shape_tensor token_type ir"""})
