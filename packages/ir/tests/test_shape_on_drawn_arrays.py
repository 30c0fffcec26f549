"""Every shape operation on every dtype, on shapes of rank 0 to 5 with empty axes, NaN, infinities and the extremes of each type.

These operations move elements and compute nothing. So the oracle is NumPy (or a loop by the specification) on the places
0, 1, 2, ... of the operand's elements, and the result must have the bits of the elements from there.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from drawn_arrays import (
    BOOL,
    EVERY,
    FLOATS,
    INTEGERS,
    NUMBERS,
    cases,
    covers,
    drawn,
    every_operation_is_covered,
    few,
    same,
    seeds,
    sizes,
)
from hypothesis import given

from laminax_ir.ops import shape as op
from laminax_ir.ops.stacking import stack, unstack
from laminax_ir.options.config import enable_x64
from laminax_ir.types import dtypes


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


def places_of(x):
    return np.arange(x.size).reshape(x.shape)


def from_places(x, places):
    """The elements of x at the places."""
    return np.ravel(x)[places] if x.size else np.zeros(places.shape, x.dtype)


@covers("broadcast_in_dim")
@few
@given(sizes=sizes, seed=seeds)
def test_broadcast_in_dim(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, target in cases(EVERY, sizes):
        axes = tuple(i for i in range(len(target)) if rng.random() < 0.6)
        x = drawn(rng, dtype, tuple(1 if rng.random() < 0.3 else target[i] for i in axes))
        expected = np.empty(target, dtype)
        for index in np.ndindex(*target):
            expected[index] = x[tuple(0 if n == 1 else index[i] for i, n in zip(axes, x.shape))]
        same(op.broadcast_in_dim(x, target, axes), expected)


@covers("reshape", "transpose", "rev", "squeeze", "tile")
@few
@given(sizes=sizes, seed=seeds)
def test_rearrangements(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(EVERY, sizes):
        x, rank = drawn(rng, dtype, shape), len(shape)
        order = tuple(rng.permutation(rank).tolist())
        places = places_of(x)
        same(op.transpose(x, order), from_places(x, places.transpose(order)))
        same(op.reshape(x, shape[::-1]), from_places(x, places.reshape(shape[::-1])))
        same(op.reshape(x, (1, x.size), order), from_places(x, places.transpose(order).reshape(1, x.size)))
        same(op.rev(x, order[:2]), from_places(x, np.flip(places, order[:2])))
        ones = tuple(i for i, n in enumerate(shape) if n == 1)
        same(op.squeeze(x, ones), from_places(x, places.reshape([n for n in shape if n != 1])))
        counts = tuple(rng.integers(0, 3, rank).tolist())
        same(op.tile(x, counts), from_places(x, np.tile(places, counts)))


@covers("concatenate", "split", "stack", "unstack")
@few
@given(sizes=sizes, seed=seeds)
def test_joining_and_cutting(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(EVERY, sizes, range(1, 6)):
        axis = int(rng.integers(len(shape)))
        cuts = tuple(rng.integers(0, 3, rng.integers(1, 4)).tolist())
        whole = drawn(rng, dtype, (*shape[:axis], sum(cuts), *shape[axis + 1:]))
        bounds = list(itertools.pairwise([0, *itertools.accumulate(cuts)]))
        pieces = [np.take(whole, range(low, high), axis) for low, high in bounds]
        for got, expected in zip(op.split(whole, cuts, axis), pieces, strict=True):
            same(got, expected)
        same(op.concatenate(pieces, axis), whole)
        slices = [np.take(whole, i, axis) for i in range(sum(cuts))]
        for got, expected in zip(unstack(whole, axis), slices, strict=True):
            same(got, expected)
        if slices:
            same(stack(slices, axis), whole)


@covers("pad")
@few
@given(sizes=sizes, seed=seeds)
def test_pad_places_each_element(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype, shape in cases(EVERY, sizes):
        config = tuple(tuple(rng.integers([-1, -1, 0], [3, 3, 2]).tolist()) for _ in shape)
        x, fill = drawn(rng, dtype, shape), drawn(rng, dtype, ())
        target = [low + high + (n + (n - 1) * interior if n else 0) for n, (low, high, interior) in zip(shape, config)]
        if any(n < 0 for n in target):
            with pytest.raises(ValueError, match="pad: .* negative padding removes more than there is"):
                op.pad(x, fill, config)
            continue
        expected = np.full(target, fill, dtype)
        for index in np.ndindex(*shape):
            place = tuple(low + i * (interior + 1) for i, (low, _, interior) in zip(index, config))
            if all(0 <= i < n for i, n in zip(place, target)):
                expected[place] = x[index]
        same(op.pad(x, fill, config), expected)


@covers("iota")
@few
@given(sizes=sizes)
def test_iota_counts_along_its_axis(sizes):
    for dtype, shape in cases(NUMBERS, sizes, range(1, 6)):
        for axis in range(len(shape)):
            counted = np.indices(shape)[axis] if math.prod(shape) else np.zeros(shape)
            got = op.broadcasted_iota(dtype, shape, axis)
            if dtype in INTEGERS:  # the low bits
                counted = counted.astype(np.int32)
            same(got, counted.astype(np.float32).astype(dtype) if dtype in FLOATS else counted.astype(dtype))
    for dtype in BOOL:
        with pytest.raises(TypeError, match=f"iota: the dtype must be a number type, got {dtypes.short_name(dtype)}"):
            op.iota(dtype, 3)


def test_every_operation_of_the_families_is_drawn():
    every_operation_is_covered(__name__)
