"""Checks in compiled functions. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {
    "laminax_transforms.checking.checkify": "checkify",
    "laminax_transforms.checking.failures": """
        Error all_checks automatic_checks check_error div_checks float_checks index_checks init_error nan_checks user_checks""",
    "laminax_ir.ops.checks": """
        DivisionByZeroError ErrorCategory FailedCheckError JaxRuntimeError NaNError OOBError check debug_check""",
})
