"""Fourier transforms of every kind, on every dtype, of 1 to 3 axes of shapes of rank 1 to 5 with empty axes and odd sizes.

Oracle: the matrix of the transform, applied along each axis in complex128.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from drawn_arrays import COMPLEX, EVERY, cases, covers, drawn, every_operation_is_covered, few, seeds
from hypothesis import given
from hypothesis import strategies as st

from laminax_ir.ops.fft import fft
from laminax_ir.options.config import enable_x64
from laminax_ir.types import dtypes


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


def transformed(x, axes, sign):
    """exp(sign 2πi jk/n) summed over k, along each axis."""
    x = x.astype(np.complex128)
    for axis in axes:
        n = x.shape[axis]
        matrix = np.exp(sign * 2j * np.pi * np.outer(np.arange(n), np.arange(n)) / max(n, 1))
        x = np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)
    return x


@covers("fft")
@few
@given(sizes=st.tuples(*[st.integers(1, 5)] * 5), empty=st.integers(0, 20), seed=seeds)
def test_is_the_defining_sum(sizes, empty, seed):
    rng = np.random.default_rng(seed)
    sizes = tuple(0 if i == empty else n for i, n in enumerate(sizes))
    for dtype, shape in cases(EVERY, sizes, range(1, 6)):
        rank = int(rng.integers(1, min(3, len(shape)) + 1))
        axes, lengths = range(len(shape) - rank, len(shape)), shape[-rank:]
        if 0 in lengths:
            continue
        with np.errstate(all="ignore"):
            x = drawn(rng, dtype, shape, only_finite=True).astype(np.complex128)
            x = np.where(np.abs(x) < 100, x, 1)
            x = x.astype(dtype) if dtype in COMPLEX else x.real.astype(dtype) if dtype != bool else x.real > 0
        result = dtypes.to_complex_dtype(dtype)
        part = result.type(0).real.dtype
        scale = 1 / max(math.prod(lengths), 1)
        values = x.astype(np.complex128)
        forward, back = transformed(values, axes, -1), transformed(values, axes, 1) * scale
        checks = [("FFT", x, forward, result), ("IFFT", x, back, result)]
        if dtype not in COMPLEX:
            half = forward[..., :lengths[-1] // 2 + 1]
            checks += [("RFFT", x, half, result), ("IRFFT", half.astype(result), values.real, part)]
        for kind, operand, expected, wanted in checks:
            got = np.asarray(fft(operand, kind, lengths))
            assert got.dtype == wanted and got.shape == expected.shape
            # up to 125 terms of size up to 100, each rounded once, in a few passes
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e4 * 4 * float(np.finfo(part).eps), err_msg=f"{kind}, {dtype}")


@covers("fft")
@few
@given(batch=st.lists(st.integers(0, 3), max_size=2), n=st.integers(1, 4))
def test_no_transforms_at_all(batch, n):
    shape = (*batch, 0, n)
    for kind in ("FFT", "IFFT"):
        got = fft(np.zeros(shape, np.complex64), kind, (n,))
        assert got.shape == shape and got.dtype == np.complex64
    assert fft(np.zeros(shape, np.float32), "RFFT", (n,)).shape == (*batch, 0, n // 2 + 1)


def test_every_operation_of_the_family_is_drawn():
    every_operation_is_covered(__name__)
