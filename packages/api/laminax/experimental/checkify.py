"""Checks in compiled functions. A table of contents: names load on first use."""

from laminax._lazy import contents

__all__, __getattr__, __dir__ = contents(__name__, {"debugging.checkify": """
    DivisionByZeroError Error ErrorCategory FailedCheckError JaxRuntimeError NaNError OOBError all_checks automatic_checks check
    check_error checkify debug_check div_checks float_checks index_checks init_error nan_checks user_checks"""})
