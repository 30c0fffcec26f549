"""Functions with derivative rules of their own, and what their rules meet. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_ir.ops.calls": "custom_jvp_call_p custom_vjp_call_p",
    "laminax_transforms": """
        CustomVJPPrimal SymbolicZero closure_convert custom_gradient custom_jvp custom_vjp custom_vjp_primal_tree_values linear_call
        zero_from_primal""",
})
