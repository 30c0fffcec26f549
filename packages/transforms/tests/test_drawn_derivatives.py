"""Derivatives of every operation over drawn shapes, in double precision: differences, adjoints, and both again of the derivative."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_cases import CASES, FIRST_ORDER, FORWARD_ONLY, REVERSE_ONLY, over_shapes
from numeric_checks import check_derivatives

from laminax_transforms import vjp

DOUBLE = [np.dtype(np.float64), np.dtype(np.complex128)]


def in_double_precision(cases):
    return [pytest.param(case, dtype, id=f"{name} {dtype}") for name, case in cases.items() for dtype in DOUBLE if dtype in case.dtypes]


@pytest.mark.parametrize("case, dtype", in_double_precision(CASES))
def test_to_second_order(case, dtype):
    over_shapes(lambda size: check_derivatives(case.fun, *case.arguments(size, dtype), atol=1e-5))


@pytest.mark.parametrize("case, dtype", in_double_precision(FIRST_ORDER))
def test_of_first_order(case, dtype):
    over_shapes(lambda size: check_derivatives(case.fun, *case.arguments(size, dtype), atol=1e-5, order=1))


@pytest.mark.parametrize("case, dtype", in_double_precision(FORWARD_ONLY))
def test_of_forward_mode_only(case, dtype):
    over_shapes(lambda size: check_derivatives(case.fun, *case.arguments(size, dtype), atol=1e-5, reverse=False))


@pytest.mark.parametrize("case, dtype", in_double_precision(REVERSE_ONLY))
def test_of_reverse_mode_only(case, dtype):
    """The pullback's pairing with a direction is the difference quotient's."""
    def check(size):
        check_derivatives(case.fun, *case.arguments(size, dtype), atol=1e-5, forward=False)
        arguments = case.arguments(size, dtype)
        ct = np.cos(np.asarray(case.fun(*arguments)))
        check_derivatives(lambda *xs: vjp(case.fun, *xs)[1](ct)[0], *arguments, atol=1e-5, forward=False, order=1)
    over_shapes(check)
