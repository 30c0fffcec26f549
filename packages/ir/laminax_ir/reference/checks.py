"""A check that fails raises; it has no results."""

from __future__ import annotations

from laminax_ir.ops.checks import check_now, check_p
from laminax_ir.reference.evaluate import reference_rule

reference_rule(check_p)(check_now)
