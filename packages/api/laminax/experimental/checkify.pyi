# Written by tools/stubs.py.
"""Checks in compiled functions. A table of contents: names load on first use."""

from collections.abc import Callable
from laminax_ir.ops.checks import ErrorCategory as _ErrorCategory
from laminax_transforms.checking.failures import Error as _Error
from typing import Any
from laminax_ir.ops.checks import DivisionByZeroError as DivisionByZeroError
from laminax_ir.ops.checks import ErrorCategory as ErrorCategory
from laminax_ir.ops.checks import FailedCheckError as FailedCheckError
from laminax_ir.ops.checks import JaxRuntimeError as JaxRuntimeError
from laminax_ir.ops.checks import NaNError as NaNError
from laminax_ir.ops.checks import OOBError as OOBError
from laminax_transforms.checking.failures import Error as Error

__all__: list[str]

all_checks: frozenset[Any]
automatic_checks: frozenset[Any]
def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """States that something must be true."""
def check_error(error: _Error) -> None:
    """Raises if a check failed that an `Error` tells of; within a traced function, states it as a check of that function."""
def checkify(f: Callable[..., Any], errors: frozenset[_ErrorCategory] = ...) -> Callable[..., Any]:
    """Makes a function return, beside its result, which check failed first."""
def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """As `check`, with an effect only where the function is wrapped in `checkify`."""
div_checks: frozenset[Any]
float_checks: frozenset[Any]
index_checks: frozenset[Any]
init_error: _Error
nan_checks: frozenset[Any]
user_checks: frozenset[Any]
