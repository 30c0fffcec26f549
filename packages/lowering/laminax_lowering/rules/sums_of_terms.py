"""Sums of a few arrays, as reductions make them: from zero, so that terms which are all -0 have the sum 0.

Without the zero their sum is -0, whose reciprocal is -inf, and whose angle with a negative number is -pi. The compiler drops an addition
of zero; a selection it keeps.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from laminax_ir.ops.elementwise import add, eq, select
from laminax_ir.ops.shape import full_like


def sum_from_zero(terms: Iterable[Any]) -> Any:
    """The sum in the order of the terms, of which there is one at least."""
    total = functools.reduce(add, terms)
    zero = full_like(total, 0)
    return select(eq(total, zero), zero, total)
