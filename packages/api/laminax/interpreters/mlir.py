"""Lowering rules. A table of contents: names load on first use.

A rule gets laminax's writer of StableHLO text where JAX's gets objects of MLIR's Python bindings, so `mlir.ir` and what
makes or takes such objects is not here. Rules made by `lower_fun` from a Python function work as they are.
"""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(
    __name__, {"names.interpreters.mlir": "LoweringRule LoweringRuleContext emit_python_callback lower_fun register_lowering"})
