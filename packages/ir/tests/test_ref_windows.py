"""Slices of known size at computed starts, in references, against slices of NumPy."""

import numpy as np
import pytest

from laminax_ir.ops.state import addupdate, get, new_ref, set, swap
from laminax_ir.recording.evaluation import eval_jaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.refs.dynamic_slices import ds
from laminax_ir.types.avals import ShapedArray

X = np.arange(24, dtype=np.float32).reshape(4, 6)
INDEX = ShapedArray((), np.dtype(np.int32))


def staged(fun, *values):
    """What a function of a reference to X and of integer scalars returns, and what is in the reference after it."""
    def flat(x, *values):
        ref = new_ref(x)
        return [fun(ref, *values), get(ref)]
    closed = stage(flat, [ShapedArray(X.shape, X.dtype)] + [INDEX] * len(values))
    return eval_jaxpr(closed.jaxpr, closed.consts, X, *map(np.int32, values))


COLUMNS = np.array([1, 4])


@pytest.mark.parametrize("index, part", [
    (lambda i, j: (ds(i, 2), ds(j, 3)), (slice(1, 3), slice(2, 5))),
    (lambda i, j: (i, ds(j, 2, 2)), (1, slice(2, 5, 2))),
    (lambda i, j: (ds(i, 2), slice(None, None, 2)), (slice(1, 3), slice(None, None, 2))),
    (lambda i, j: (ds(i, 2), COLUMNS), (slice(1, 3), COLUMNS)),
    (lambda i, j: (..., ds(j, 4)), (..., slice(2, 6))),
    (lambda i, j: (ds(1, 2), ds(j, 0)), (slice(1, 3), slice(2, 2))),
], ids=["windows", "index and stride", "slice", "array", "ellipsis", "empty"])
def test_parts_that_begin_at_computed_places(index, part):
    found, kept = staged(lambda ref, i, j: get(ref, index(i, j)), 1, 2)
    np.testing.assert_array_equal(found, X[part])
    np.testing.assert_array_equal(kept, X)

    new = -np.ones_like(X[part])
    written = X.copy()
    written[part] = new
    old, kept = staged(lambda ref, i, j: swap(ref, index(i, j), new), 1, 2)
    np.testing.assert_array_equal(old, X[part])
    np.testing.assert_array_equal(kept, written)

    def add(ref, i, j):
        addupdate(ref, index(i, j), new)
        return get(ref)
    added = X.copy()
    added[part] += new
    np.testing.assert_array_equal(staged(add, 1, 2)[1], added)


def test_a_start_beyond_the_end_is_moved_back():
    found, _ = staged(lambda ref, i: get(ref, ds(i, 3)), 3)
    np.testing.assert_array_equal(found, X[1:4])


def test_bounds_that_are_known_are_checked():
    ref = new_ref(X)
    with pytest.raises(ValueError, match="Out of bound slice: start=3, size=2, stride=1, dim=4"):
        get(ref, ds(3, 2))
    with pytest.raises(ValueError, match="Out of bound slice: size=5, stride=1, dim=4"):
        staged(lambda ref, i: get(ref, ds(i, 5)), 0)
    with pytest.raises(ValueError, match="Cannot store a Ref into another Ref"):
        set(ref, ..., new_ref(X))


def test_windows_print_as_slices():
    def read(x, i):
        return [new_ref(x)[ds(i, 2), ds(i, 2, 2)]]
    program = stage(read, [ShapedArray(X.shape, X.dtype), INDEX], keeps_refs=True)
    assert "[b:b+2,b:b+2:2]" in str(program)
