"""Composition: the registrations, once per process, of this package's later rooms with the earlier ones, which do not import them.

Importing this module gives tracers their arithmetic, references the operations that read and write arrays, and programs their
printer, and has NumPy compute operations outside of transformations until a runtime does. `options/composition.py` has it run when one
of these is first needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import laminax_ir.functions.operators  # noqa: F401  (gives tracers their arithmetic)
from laminax_ir.programs.jaxpr import ProgramPrinter, set_printer
from laminax_ir.programs.primitive import Primitive
from laminax_ir.refs.ref_contents import ArrayOperations, set_array_operations
from laminax_ir.tracing.leaks import check_no_tracers
from laminax_ir.tracing.trace import set_evaluator


def evaluate_with_numpy(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """The evaluator of operations on values that this package has: the reference."""
    from laminax_ir.reference.evaluate import evaluate_primitive  # heavy, and not needed where a runtime computes
    check_no_tracers(operands)
    return evaluate_primitive(primitive, operands, params)


def _operations_of_references() -> ArrayOperations:
    from laminax_ir.functions import array_parts  # for programs with references only
    return array_parts


def _printer() -> ProgramPrinter:
    from laminax_ir.programs import printer  # for programs that are printed
    return printer


def _compose() -> None:
    set_printer(_printer)
    set_array_operations(_operations_of_references)
    set_evaluator(evaluate_with_numpy)


_compose()
