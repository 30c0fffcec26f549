"""Conversions to and from extended dtypes, whose elements are records here that hold what stores them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from laminax_ir.key_arrays.extended_arrays import from_edtype_p, records_of, stored_in, to_edtype_p
from laminax_ir.reference.evaluate import reference_rule

if TYPE_CHECKING:
    from laminax_ir.types.extended_dtypes import ExtendedDType


@reference_rule(to_edtype_p)
def _to_edtype(stored: np.ndarray, *, edtype: ExtendedDType) -> np.ndarray:
    return records_of(edtype, stored)


@reference_rule(from_edtype_p)
def _from_edtype(records: np.ndarray, *, dtype: np.dtype) -> np.ndarray:
    return stored_in(records)
