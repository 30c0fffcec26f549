"""Every contraction on every dtype, with dimension numbers in any order and sizes from 0, ranks 0 to 6.

Oracle: NumPy's einsum, and for ragged products one product per group, in unbounded integers or in float64. The values are small
integers, of which float32 holds every partial sum, so that the order of summation does not matter; NaN and infinities among them.
"""

from __future__ import annotations

import numpy as np
import pytest
from drawn_arrays import (
    COMPLEX,
    EVERY,
    FLOATS,
    INTEGERS,
    NUMBERS,
    covers,
    drawn,
    every_operation_is_covered,
    more,
    rounded,
    same,
    seeds,
    wide,
    wrapped,
)
from hypothesis import given
from hypothesis import strategies as st

from laminax_ir.ops import contraction
from laminax_ir.ops.contraction import RaggedDotDimensionNumbers
from laminax_ir.ops.scaled_dot import scaled_dot
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


@st.composite
def dots(draw):
    """Operand shapes and dimension numbers, axes in any order, sizes 0 to 3."""
    sizes = st.integers(0, 3)
    batch, contracting, lhs_free, rhs_free = (draw(st.lists(sizes, max_size=2)) for _ in range(4))

    def place(*groups):
        labels = [(kind, i, size) for kind, group in groups for i, size in enumerate(group)]
        order = draw(st.permutations(labels))
        where = {(kind, i): axis for axis, (kind, i, _) in enumerate(order)}
        return tuple(size for *_, size in order), where

    lhs_shape, lhs = place(("b", batch), ("k", contracting), ("m", lhs_free))
    rhs_shape, rhs = place(("b", batch), ("k", contracting), ("n", rhs_free))
    axes = lambda where, kind, n: tuple(where[kind, i] for i in range(n))
    numbers = ((axes(lhs, "k", len(contracting)), axes(rhs, "k", len(contracting))),
               (axes(lhs, "b", len(batch)), axes(rhs, "b", len(batch))))
    return lhs_shape, rhs_shape, numbers


def einsum(lhs, rhs, numbers):
    """The same contraction in letters."""
    (lk, rk), (lb, rb) = numbers
    lhs_letters = list("abcdef"[:lhs.ndim])
    rhs_letters = list("uvwxyz"[:rhs.ndim])
    for i, j in (*zip(lk, rk), *zip(lb, rb)):
        rhs_letters[j] = lhs_letters[i]
    out = [lhs_letters[i] for i in lb]
    out += [c for i, c in enumerate(lhs_letters) if i not in (*lk, *lb)]
    out += [c for i, c in enumerate(rhs_letters) if i not in (*rk, *rb)]
    return np.einsum(f"{''.join(lhs_letters)},{''.join(rhs_letters)}->{''.join(out)}", lhs, rhs)


def operand(rng, dtype, shape):
    """All integers of an integer dtype, small ones in others; a few NaN and infinities in floats."""
    if dtype in INTEGERS or dtype == bool:
        return drawn(rng, dtype, shape)
    special = [np.inf, np.nan] if dtype in FLOATS and rng.random() < 0.2 else []
    return np.asarray(rng.choice([1, 2, -1, 0, *special, *([1j] if dtype in COMPLEX else [])], shape)).astype(dtype)


def agrees(got, contract, dtype, *operands):
    """The result is the contraction of the operands: its low bits, its truth, or its value rounded once."""
    if dtype == bool:
        same(got, np.asarray(contract(*[x.astype(np.int64) for x in operands]) > 0))
    elif dtype in INTEGERS:
        exact = np.asarray(contract(*[x.astype(object) for x in operands]))
        same(got, np.array([wrapped(int(v), dtype) for v in exact.ravel()], dtype).reshape(exact.shape))
    else:
        with np.errstate(all="ignore"):
            rounded(got, np.asarray(contract(*map(wide, operands))), dtype, ulps=0)


@covers("dot_general")
@more
@given(case=dots(), seed=seeds)
def test_dot_general_is_the_einsum(case, seed):
    lhs_shape, rhs_shape, numbers = case
    rng = np.random.default_rng(seed)
    for dtype in EVERY:
        lhs, rhs = operand(rng, dtype, lhs_shape), operand(rng, dtype, rhs_shape)
        agrees(contraction.dot_general(lhs, rhs, numbers), lambda x, y: einsum(x, y, numbers), dtype, lhs, rhs)


@covers("dot_general")
@more
@given(case=dots(), seed=seeds, preferred=st.sampled_from([d for d in NUMBERS if d.itemsize > 1]))
def test_sums_are_in_the_preferred_type(case, seed, preferred):
    """Products of narrow integers and floats that their own type does not hold."""
    lhs_shape, rhs_shape, numbers = case
    rng = np.random.default_rng(seed)
    narrow = [d for d in (INTEGERS if preferred in INTEGERS else FLOATS) if d.itemsize == 1 and d.name != "float8_e8m0fnu"]
    for dtype in narrow:
        lhs, rhs = (np.asarray(rng.integers(0, 3, s)).astype(np.float32).astype(dtype) for s in (lhs_shape, rhs_shape))
        got = contraction.dot_general(lhs, rhs, numbers, preferred_element_type=preferred)
        agrees(got, lambda x, y: einsum(x, y, numbers), preferred, lhs, rhs)


@more
@given(dots())
def test_staged_shape_is_the_computed_one(case):
    lhs_shape, rhs_shape, numbers = case
    avals = [ShapedArray(shape, np.float32) for shape in (lhs_shape, rhs_shape)]
    jaxpr = stage(lambda x, y: [contraction.dot_general(x, y, numbers)], avals)
    expected = einsum(np.zeros(lhs_shape), np.zeros(rhs_shape), numbers)
    assert jaxpr.out_avals == [ShapedArray(expected.shape, np.float32)]


@covers("ragged_dot_general")
@more
@given(sizes=st.lists(st.integers(0, 3), min_size=1, max_size=4), beyond=st.integers(0, 2), k=st.integers(0, 3),
       n=st.integers(0, 3), seed=seeds, index=st.sampled_from([d for d in INTEGERS if d.itemsize > 1]))
def test_ragged_products(sizes, beyond, k, n, seed, index):
    """Rows by groups; then contracted axes by groups. Rows beyond all groups give zeros, and terms there do not count."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum([0, *sizes])
    groups, group_sizes = list(zip(ends[:-1], ends[1:])), np.array(sizes, index)
    for dtype in EVERY:
        if dtype.name == "float8_e8m0fnu":  # has no zero
            continue
        lhs = operand(rng, dtype, (sum(sizes) + beyond, k))
        rhs, other = operand(rng, dtype, (len(sizes), k, n)), operand(rng, dtype, (sum(sizes) + beyond, n))
        if dtype in FLOATS:  # 0 times an infinity beyond the group would be NaN
            lhs, rhs, other = (np.asarray(np.where(np.isfinite(wide(x)), x, np.ones((), dtype)), dtype) for x in (lhs, rhs, other))

        def by_rows(lhs, rhs):
            parts = [lhs[low:high] @ rhs[g] for g, (low, high) in enumerate(groups)]
            return np.concatenate([*parts, np.zeros((beyond, n), lhs.dtype)])

        agrees(contraction.ragged_dot(lhs, rhs, group_sizes), by_rows, dtype, lhs, rhs)
        numbers = RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
        agrees(contraction.ragged_dot_general(lhs, other, group_sizes, numbers),
               lambda x, y: np.array([x[low:high].T @ y[low:high] for low, high in groups]).reshape(len(groups), k, n), dtype, lhs,
               other)


@covers("scaled_dot")
@more
@given(blocks=st.integers(1, 3), per_block=st.integers(1, 3), m=st.integers(0, 3), n=st.integers(0, 3),
       batch=st.lists(st.integers(0, 2), max_size=1), seed=seeds)
def test_block_scaled_products(blocks, per_block, m, n, batch, seed):
    rng = np.random.default_rng(seed)
    k = blocks * per_block
    for dtype in FLOATS:
        lhs, rhs = (np.asarray(rng.choice([1, 2, 1, 4], s)).astype(dtype) for s in ((*batch, m, k), (*batch, k, n)))
        scale_shapes = (*batch, m, blocks), (*batch, blocks, n)
        scales = [np.asarray(rng.choice([0.5, 1, 2], s)).astype("float8_e8m0fnu") for s in scale_shapes]
        got = scaled_dot(lhs, rhs, lhs_scale=scales[0], rhs_scale=scales[1], preferred_element_type=np.float32)
        spread = [np.repeat(wide(scale), per_block, axis) for scale, axis in zip(scales, (-1, -2))]
        rounded(got, (wide(lhs) * spread[0]) @ (wide(rhs) * spread[1]), np.float32, ulps=0)


def test_every_operation_of_the_family_is_drawn():
    every_operation_is_covered(__name__)
