"""Derivatives of every operation in every floating dtype it takes: those of double precision, to the dtype's own precision."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from drawn_cases import CASES, FIRST_ORDER, FORWARD_ONLY, REVERSE_ONLY, over_shapes

from laminax_transforms import jvp, vjp

EVERY = {**CASES, **FIRST_ORDER, **FORWARD_ONLY, **REVERSE_ONLY}
NARROWER = [pytest.param(name, dtype, id=f"{name} {dtype}") for name, case in EVERY.items() for dtype in case.dtypes
            if dtype not in (np.float64, np.complex128)]


def close(got, want, tolerance: float) -> None:
    """To the tolerance, measured by the greatest number: what cancels has the error of what it was made of."""
    scale = float(np.max(np.abs(want), initial=1.0))
    np.testing.assert_allclose(np.asarray(got, want.dtype), want, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("name, dtype", NARROWER)
def test_narrow_dtypes(name, dtype):
    case = EVERY[name]
    wide = np.complex128 if dtype.kind == "c" else np.float64
    tolerance = case.rtol * float(ml_dtypes.finfo(dtype).eps)

    def check(size):
        arguments = case.arguments(size, dtype)
        exact = [x.astype(wide) for x in arguments]
        if name not in REVERSE_ONLY:
            result, tangent = jvp(case.fun, tuple(arguments),
                                  tuple(arguments[::-1] if len({x.shape for x in arguments}) == 1 else arguments))
            want = jvp(case.fun, tuple(exact), tuple(exact[::-1] if len({x.shape for x in exact}) == 1 else exact))
            assert np.asarray(tangent).dtype == np.asarray(result).dtype
            close(result, np.asarray(want[0]), tolerance)
            close(tangent, np.asarray(want[1]), tolerance)
        if case.reverse:
            result, pullback = vjp(case.fun, *arguments)
            exact_result, exact_pullback = vjp(case.fun, *exact)
            cts = pullback(np.ones(np.shape(result), np.asarray(result).dtype))
            for ct, want in zip(cts, exact_pullback(np.ones(np.shape(result), np.asarray(exact_result).dtype))):
                assert np.asarray(ct).dtype == dtype
                close(ct, np.asarray(want), tolerance)

    over_shapes(check)
