"""What the tests on drawn arrays share: all dtypes, values of every kind, a comparison of rounded numbers, and the record of
which operations a test evaluates.

Each test that `covers` operations runs the NumPy reference of each of them; each file of such tests ends with
`every_operation_is_covered`, so that an operation that joins a family needs a test there.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import math
from collections import defaultdict
from unittest import mock

import ml_dtypes
import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st

from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.staging import stage
from laminax_ir.reference import evaluate as reference
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval

BOOL = [np.dtype(bool)]
SIGNED, UNSIGNED = list(dtypes.signed_dtypes), list(dtypes.unsigned_dtypes)
INTEGERS = SIGNED + UNSIGNED
FLOATS = list(dtypes.float_dtypes)
REALS = INTEGERS + FLOATS
COMPLEX = list(dtypes.complex_dtypes)
NUMBERS = REALS + COMPLEX
EVERY = BOOL + NUMBERS

# Each example goes through all dtypes and ranks. There is nothing to shrink: the message names the dtype and the place.
few = settings(max_examples=3, phases=(Phase.explicit, Phase.generate))
more = settings(few, max_examples=12)
seeds = st.integers(0, 2**32 - 1)
shapes = st.lists(st.integers(0, 3), max_size=5).map(tuple)
# Five sizes, of which a case takes the first few as its shape: at most one axis is empty.
sizes = st.tuples(st.lists(st.integers(1, 3), min_size=5, max_size=5), st.integers(0, 9)).map(
    lambda drawn: tuple(0 if axis == drawn[1] else size for axis, size in enumerate(drawn[0])))


def cases(kinds, sizes, ranks=range(6)):
    """Each dtype with a shape of each rank."""
    return [(dtype, tuple(sizes[:rank])) for dtype in kinds for rank in ranks]


# Values


def drawn(rng, dtype, shape, only_finite: bool = False):
    """Values of very different sizes, a third of them special: NaN, infinities, signed zeros, extremes, subnormal numbers."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        parts = [drawn(rng, dtype.type(0).real.dtype, shape, only_finite) for _ in range(2)]
        result = np.empty(shape, dtype)
        result.real, result.imag = parts
        return result
    if dtype == bool:
        return np.asarray(rng.integers(0, 2, shape), bool)
    bits = dtypes.bit_width(dtype)
    if bits <= 8:  # all bit patterns
        x = np.asarray(rng.integers(0, 2**bits, shape), np.uint8).view(dtype)
        return np.where(np.isfinite(x.astype(np.float32)), x, np.ones((), dtype)) if only_finite else x
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        ordinary = rng.integers(info.min, info.max, shape, endpoint=True, dtype=dtype)
        special = [info.min, info.max, 0, 1, info.max - 1, info.min + 1]
    else:
        info = ml_dtypes.finfo(dtype)
        ordinary = (rng.normal(size=shape) * 10.0 ** rng.uniform(-3, 3, shape)).astype(dtype)
        special = [0.0, -0.0, 1, -1, info.max, info.min, info.smallest_subnormal, 0.5, -2.5]
        special += [] if only_finite else [np.inf, -np.inf, np.nan]
    special = np.array(special, dtype)
    chosen = special[rng.integers(0, len(special), shape)]
    return np.asarray(np.where(rng.random(shape) < 1 / 3, chosen, ordinary), dtype)


def distinct(rng, dtype, shape):
    """Values that say where they come from, as far as the dtype has enough of them."""
    values = np.asarray(rng.permutation(int(np.prod(shape))).reshape(shape))
    return np.asarray(values % 2 == 0 if np.dtype(dtype) == bool else values.astype(np.float32).astype(dtype))


def wide(x):
    """The array in a dtype of NumPy's own that holds every value: float64 or complex128 (of integers not beyond 2**53)."""
    x = np.asarray(x)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def stored(x) -> bytes:
    """The bits of an array, for dtypes that NumPy compares wrongly or not at all."""
    return np.ascontiguousarray(x).tobytes()


def in_python(function, dtype, *operands):
    """`function(bits, *operands)` on Python's unbounded integers, of which the low bits are kept."""
    bits = dtypes.bit_width(dtype)
    results = [wrapped(function(bits, *map(int, values)), dtype) for values in zip(*[x.ravel() for x in operands])]
    return np.array(results, dtype).reshape(operands[0].shape)


def wrapped(value: int, dtype) -> int:
    """The integer of the dtype with the same low bits."""
    bits = dtypes.bit_width(dtype)
    low = value % 2**bits
    return low - 2**bits if dtype in SIGNED and low >= 2 ** (bits - 1) else low


def total_order_key(v):
    """Tuples in the order of IEEE 754 totalOrder, -NaN < -inf < ... < -0 < 0 < ... < inf < NaN: the sign, then the size."""
    if v.dtype not in FLOATS:
        return int(v)
    value = float(v)
    size = math.inf if math.isnan(value) else abs(value)
    negative = math.copysign(1, value) < 0
    return (-1 if negative else 1) * (1 + math.isnan(value)), -size if negative else size


def extreme(choose, dtype, reduces: bool = True):
    """`choose`, min or max, as a function of a list of numbers: NaN if there is one, complex numbers in lexicographic order.

    A reduction starts from the dtype's greatest or least value: where there is nothing that is the result, and of complex
    numbers (-inf, 0) is greater than (-inf, -1).
    """
    first = [np.asarray(bound(max if choose is min else min, dtype)).astype(dtype)[()]] if reduces else []

    def f(values):
        values = [*first, *values]
        nans = [v for v in values if np.isnan(wide(v))]
        return nans[0] if nans else choose(values, key=lambda v: (wide(v).real, wide(v).imag) if dtype not in INTEGERS else int(v))
    return f


def bound(choose, dtype):
    """The least or the greatest value of a dtype: infinite, where it has infinities."""
    if dtype == bool:
        return choose is max
    if dtype in INTEGERS:
        return choose(int(ml_dtypes.iinfo(dtype).min), int(ml_dtypes.iinfo(dtype).max))
    infinite = complex(choose(-math.inf, math.inf)) if dtype in COMPLEX else choose(-math.inf, math.inf)
    with np.errstate(all="ignore"):
        has_infinity = np.isinf(wide(np.asarray(math.inf).astype(np.float32).astype(dtype)))
    info = ml_dtypes.finfo(dtype)
    return infinite if has_infinity else choose(float(info.min), float(info.max))


# Comparisons


def same(got, expected):
    """Equal in dtype, shape and every value; NaN equals NaN, and -0 is not 0."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    if stored(got) == stored(expected):
        return
    if got.dtype in INTEGERS or got.dtype == bool:
        np.testing.assert_array_equal(got.astype(object), expected.astype(object))
        raise AssertionError("equal numbers of different bits")
    for part in ("real", "imag") if got.dtype.kind == "c" else ("real",):
        a, b = (getattr(wide(x), part) for x in (got, expected))
        np.testing.assert_array_equal(a, b, str(got.dtype))
        np.testing.assert_array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]), f"signs, {got.dtype}")


def rounded(got, exact, dtype, ulps: float = 4, absolute: float = 0.0):
    """The dtype and shape are right, and each value is the exact one, rounded after an error of a few ulps.

    Narrow types are computed in float32, so the error allowed before the rounding is one of float32: after it there is the
    nearest number, or at a tie either neighbour. `exact` is float64 or complex128; `absolute` is added to the error.
    """
    got, exact, dtype = np.asarray(got), np.asarray(exact), np.dtype(dtype)
    assert (got.dtype, got.shape) == (dtype, exact.shape)
    if dtype.kind == "c":
        part = dtype.type(0).real.dtype
        with np.errstate(all="ignore"):  # the error of a product of complex numbers is one of its modulus
            modulus = np.where(np.isfinite(np.abs(exact)), np.abs(exact), 0)
        absolute = absolute + ulps * float(np.finfo(dtype).eps) * modulus
        rounded(got.real, exact.real, part, ulps, absolute)
        rounded(got.imag, exact.imag, part, ulps, absolute)
        return
    info = ml_dtypes.finfo(dtype)
    computed = np.finfo(np.float64 if dtype == np.float64 else np.float32)
    with np.errstate(all="ignore"):
        error = ulps * float(computed.eps) * np.abs(exact) + ulps * float(computed.smallest_subnormal) + absolute
        low, middle, high = (wide((exact + e).astype(dtype)) for e in (-error, 0, error))
        value = wide(got)
        inside = (low <= value) & (value <= high)
        for candidate in (low, middle, high):  # where the dtype has no infinity, too large a number is NaN
            inside |= (value == candidate) | np.isnan(value) & np.isnan(candidate)
    if not np.all(inside):
        place = tuple(np.argwhere(~inside)[0])
        raise AssertionError(f"{dtype}: {value[place]!r}, expected {middle[place]!r} (before rounding {exact[place]!r}, "
                             f"eps {float(info.eps)})")


def evaluated(f, *args):
    """The results of a function of flat values, once it is a program that the type checker has seen."""
    closed = stage(f, [get_aval(x) for x in args])
    check_jaxpr(closed)
    results = reference.evaluate(closed, *args)
    assert [(x.dtype, x.shape) for x in map(np.asarray, results)] == [(a.dtype, a.shape) for a in closed.out_avals]
    return results


# What a test evaluates


# Which file draws operands for the operations of which modules of `laminax_ir.ops`.
FAMILIES = {
    "test_contraction_on_drawn_arrays": ["contraction", "scaled_dot"],
    "test_convolution_on_drawn_arrays": ["convolution"],
    "test_cumulative_on_drawn_arrays": ["cumulative"],
    "test_drawn_programs": ["backward_logs", "callbacks", "calls", "checks", "collectives", "composite", "control_flow",
                            "custom_partitioning", "hints", "linear_call", "open_sums", "shard_map", "sharding",
                            "user_operations"],
    "test_elementwise_on_drawn_arrays": ["elementwise", "polynomial"],
    "test_extended_dtypes_on_drawn_arrays": ["extended_dtypes"],
    "test_fft_on_drawn_arrays": ["fft"],
    "test_indexing_on_drawn_arrays": ["indexing", "slicing"],
    "test_linalg_on_drawn_arrays": ["linalg", "linear_solve", "orthogonal"],
    "test_random_bits_on_drawn_arrays": ["random_bits"],
    "test_reduction_on_drawn_arrays": ["reduction"],
    "test_shape_on_drawn_arrays": ["shape", "stacking"],
    "test_sorting_on_drawn_arrays": ["sorting"],
    "test_special_on_drawn_arrays": ["special"],
    "test_windows_on_drawn_arrays": ["windows"],
}
# Operations whose reference is not to evaluate.
NOT_EVALUATED = {"custom_vjp_tangent": "its reference is the error that forward mode through custom_vjp raises"}

_covered: dict[str, set[str]] = defaultdict(set)  # names of operations by file


def operations_of(family: str) -> set[str]:
    """The names of the family's primitives that have a reference."""
    module = importlib.import_module(f"laminax_ir.ops.{family}")
    found = {x for x in vars(module).values() if isinstance(x, Primitive) and x.family == family}
    return {p.name for p in found if reference.reference_rule.find(p)} - set(NOT_EVALUATED)


def covers(*names: str, by: str | None = None):
    """Decorator of a test: it evaluates the operations of these names, or with `by` the one that this parameter names."""
    def decorate(test):
        _covered[test.__module__.rpartition(".")[2]].update(names)

        @functools.wraps(test)
        def run(*args, **kwargs):
            seen = set()
            apply = reference.apply

            def recording(primitive, *rest):
                seen.add(primitive.name)
                return apply(primitive, *rest)

            with mock.patch.object(reference, "apply", recording):
                test(*args, **kwargs)
            missing = ({kwargs[by]} if by else set(names)) - seen
            assert not missing, f"{test.__name__} covers {missing} without evaluating it"
        return run
    return decorate


def every_operation_is_covered(file: str) -> None:
    """Fails unless the tests of the file cover each operation of its families, and nothing that does not exist."""
    file = file.rpartition(".")[2]
    expected = set(itertools.chain(*map(operations_of, FAMILIES[file])))
    covered = _covered[file]
    assert not expected - covered, f"add a test on drawn arrays that covers {sorted(expected - covered)} to {file}.py"
    assert not covered - expected, f"{file}.py covers {sorted(covered - expected)}, which no operation of its families is"
