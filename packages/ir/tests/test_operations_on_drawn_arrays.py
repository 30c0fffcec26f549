"""Every elementwise and linear-algebra operation on arrays that hypothesis draws: dtypes, shapes of rank 0 to 5 with empty
axes, infinities, NaN, signed zeros, the extremes of each type. The other families' files draw their own.

Oracles: NumPy in float64 (or complex128), rounded once to the operand's dtype; unbounded Python integers; for
factorizations NumPy's own and the identities that define them.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir import dtypes
from laminax_ir.config import enable_x64
from laminax_ir.ops import elementwise as op
from laminax_ir.ops import linalg


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


FLOATS = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16]
COMPLEX = [np.complex64, np.complex128]
INTEGERS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
few = settings(max_examples=12, derandomize=True, deadline=None)
shapes = st.lists(st.integers(0, 3), max_size=5).map(tuple)
seeds = st.integers(0, 2**32 - 1)


def drawn(rng, dtype, shape):
    """Ordinary values of very different sizes, a third of them special ones."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    if dtype == bool:
        return rng.integers(0, 2, shape).astype(bool)
    if dtypes.issubdtype(dtype, dtypes.integer):
        info = ml_dtypes.iinfo(dtype)
        ordinary = rng.integers(int(info.min), int(info.max), shape, endpoint=True, dtype=dtype)
        special = np.array([info.min, info.max, 0, 1, info.max - 1, info.min + 1], dtype)
    else:
        info = ml_dtypes.finfo(dtype)
        ordinary = (rng.normal(size=shape) * 10.0 ** rng.uniform(-3, 3, shape)).astype(dtype)
        special = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, info.max, info.min, 0.5, -2.5], dtype)
    return np.where(rng.random(shape) < 1 / 3, special[rng.integers(0, len(special), shape)], ordinary)


def finite(rng, dtype, shape):
    x = drawn(rng, dtype, shape)
    return np.where(np.isfinite(x.astype(np.complex128)), x, np.ones((), dtype)) if np.dtype(dtype).kind not in "iub" else x


def wide(x):
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def check(got, expected, dtype):
    """Equal but for a few units in the last place of the dtype."""
    dtype = np.dtype(dtype)
    got = np.asarray(got)
    assert got.dtype == dtype and got.shape == expected.shape
    info = ml_dtypes.finfo(dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(wide(got), wide(expected.astype(dtype)), rtol=8 * float(info.eps), atol=float(info.tiny) * 4)


UNARY = {
    "neg": np.negative, "sign": lambda x: np.where(np.isnan(x), x, np.sign(x)), "floor": np.floor, "ceil": np.ceil,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "abs": np.abs, "square": np.square, "copy": lambda x: x,
    "logistic": lambda x: np.where(x < 0, np.exp(np.minimum(x, 0)) / (1 + np.exp(np.minimum(x, 0))), 1 / (1 + np.exp(-x))),
}


@pytest.mark.parametrize("name", UNARY)
@few
@given(dtype=st.sampled_from(FLOATS), shape=shapes, seed=seeds)
def test_functions_of_real_numbers(name, dtype, shape, seed):
    x = drawn(np.random.default_rng(seed), dtype, shape)
    with np.errstate(all="ignore"):
        check(getattr(op, name)(x), UNARY[name](x.astype(np.float64)), dtype)


@pytest.mark.parametrize("name", ["neg", "exp", "log", "sqrt", "sin", "cos", "sinh", "cosh", "tanh", "atan", "asinh", "square"])
@few
@given(dtype=st.sampled_from(COMPLEX), shape=shapes, seed=seeds)
def test_functions_of_complex_numbers(name, dtype, shape, seed):
    rng = np.random.default_rng(seed)
    x = ((rng.normal(size=shape) + 1j * rng.normal(size=shape)) * 2).astype(dtype)
    got = np.asarray(getattr(op, name)(x))
    assert got.dtype == dtype and got.shape == shape
    expected = UNARY[name](x.astype(np.complex128))
    np.testing.assert_allclose(got, expected, rtol=50 * np.finfo(dtype).eps, atol=50 * np.finfo(dtype).eps)  # of the modulus
    np.testing.assert_array_equal(op.conj(x), np.conj(x))
    np.testing.assert_array_equal(op.complex(op.real(x), op.imag(x)), x)


@few
@given(dtype=st.sampled_from(FLOATS), shape=shapes, seed=seeds)
def test_tests_and_rounding(dtype, shape, seed):
    x = drawn(np.random.default_rng(seed), dtype, shape)
    np.testing.assert_array_equal(op.is_finite(x), np.isfinite(x.astype(np.float64)))
    check(op.round(x, op.RoundingMethod.TO_NEAREST_EVEN), np.round(x.astype(np.float64)), dtype)
    away = np.trunc(x.astype(np.float64) + np.copysign(0.5, x.astype(np.float64)))
    small = np.abs(x.astype(np.float64)) < 1e4
    check(np.where(small, op.round(x, op.RoundingMethod.AWAY_FROM_ZERO), x), np.where(small, away, x.astype(np.float64)), dtype)


BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "max": np.maximum, "min": np.minimum,
          "rem": np.fmod, "atan2": np.arctan2, "pow": np.power}


@pytest.mark.parametrize("name", BINARY)
@few
@given(dtype=st.sampled_from(FLOATS), shape=shapes, seed=seeds)
def test_functions_of_two_real_numbers(name, dtype, shape, seed):
    rng = np.random.default_rng(seed)
    x, y = drawn(rng, dtype, shape), drawn(rng, dtype, shape)
    with np.errstate(all="ignore"):
        check(getattr(op, name)(x, y), BINARY[name](x.astype(np.float64), y.astype(np.float64)), dtype)


@few
@given(dtype=st.sampled_from([np.float32, np.float64]), shape=shapes, seed=seeds)
def test_nextafter(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    x, y = drawn(rng, dtype, shape), drawn(rng, dtype, shape)
    np.testing.assert_array_equal(op.nextafter(x, y), np.nextafter(x, y))


COMPARISONS = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}


@pytest.mark.parametrize("name", COMPARISONS)
@few
@given(dtype=st.sampled_from(FLOATS + INTEGERS + [bool]), shape=shapes, seed=seeds)
def test_comparisons(name, dtype, shape, seed):
    rng = np.random.default_rng(seed)
    x, y = drawn(rng, dtype, shape), drawn(rng, dtype, shape)
    got = getattr(op, name)(x, y)
    assert got.dtype == bool
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, COMPARISONS[name](x, y))


def in_python(function, dtype, *operands):
    """`function` on unbounded integers, wrapped around to the dtype."""
    bits = np.dtype(dtype).itemsize * 8
    results = [function(bits, *map(int, values)) % 2**bits for values in zip(*[x.ravel() for x in operands])]
    return np.array(results, np.uint64).astype(f"u{bits // 8}").view(dtype).reshape(operands[0].shape)


def truncated_quotient(x, y):
    return -1 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


INTEGER_FUNCTIONS = {
    "add": lambda bits, x, y: x + y,
    "sub": lambda bits, x, y: x - y,
    "mul": lambda bits, x, y: x * y,
    "div": lambda bits, x, y: truncated_quotient(x, y),
    "rem": lambda bits, x, y: x if y == 0 else x - y * truncated_quotient(x, y),
    "max": lambda bits, x, y: max(x, y),
    "min": lambda bits, x, y: min(x, y),
    "bitwise_and": lambda bits, x, y: x & y,
    "bitwise_or": lambda bits, x, y: x | y,
    "bitwise_xor": lambda bits, x, y: x ^ y,
    # a shift by a negative number, or by the width or more, shifts everything out
    "shift_left": lambda bits, x, y: x << y if 0 <= y < bits else 0,
    "shift_right_arithmetic": lambda bits, x, y: signed(bits, x) >> (y if 0 <= y < bits else bits),
    "shift_right_logical": lambda bits, x, y: x % 2**bits >> y if 0 <= y < bits else 0,
    "neg": lambda bits, x: -x,
    "bitwise_not": lambda bits, x: ~x,
    "abs": lambda bits, x: abs(x),
    "sign": lambda bits, x: (x > 0) - (x < 0),
    "square": lambda bits, x: x * x,
    "population_count": lambda bits, x: bin(x % 2**bits).count("1"),
    "clz": lambda bits, x: bits - (x % 2**bits).bit_length(),
}


def signed(bits, x):
    return (x + 2**(bits - 1)) % 2**bits - 2**(bits - 1)


@pytest.mark.parametrize("name", INTEGER_FUNCTIONS)
@few
@given(dtype=st.sampled_from(INTEGERS), shape=shapes, seed=seeds)
def test_functions_of_integers(name, dtype, shape, seed):
    rng = np.random.default_rng(seed)
    count = INTEGER_FUNCTIONS[name].__code__.co_argcount - 1
    operands = [drawn(rng, dtype, shape) for _ in range(count)]
    if name.startswith("shift"):
        operands[1] = np.where(rng.random(shape) < 0.7, rng.integers(0, 70, shape).astype(dtype), operands[1])
    got = np.asarray(getattr(op, name)(*operands))
    assert got.dtype == dtype and got.shape == shape
    np.testing.assert_array_equal(got, in_python(INTEGER_FUNCTIONS[name], dtype, *operands))


@few
@given(dtype=st.sampled_from(FLOATS + INTEGERS + COMPLEX + [bool]), shape=shapes, seed=seeds, count=st.integers(1, 4),
       scalar=st.booleans())
def test_select_n(dtype, shape, seed, count, scalar):
    rng = np.random.default_rng(seed)
    cases = [drawn(rng, dtype, shape) for _ in range(count)]
    which = rng.integers(0, count, () if scalar else shape).astype(np.int32)
    which = which.astype(bool) if count <= 2 else which
    chosen = np.broadcast_to(which, shape).astype(int)
    np.testing.assert_array_equal(op.select_n(which, *cases), np.choose(chosen, cases) if shape else cases[int(chosen)])


@few
@given(dtype=st.sampled_from(FLOATS + INTEGERS), shape=shapes, seed=seeds, scalar=st.booleans())
def test_clamp(dtype, shape, seed, scalar):
    rng = np.random.default_rng(seed)
    x = finite(rng, dtype, shape)
    low, high = (finite(rng, dtype, () if scalar else shape) for _ in range(2))
    low, high = np.minimum(low, high), np.maximum(low, high)
    np.testing.assert_array_equal(op.clamp(low, x, high), np.clip(x, low, high))


@few
@given(source=st.sampled_from(FLOATS + INTEGERS + [bool]), target=st.sampled_from(FLOATS + COMPLEX + INTEGERS + [bool]), shape=shapes,
       seed=seeds)
def test_convert_element_type(source, target, shape, seed):
    rng = np.random.default_rng(seed)
    x = drawn(rng, source, shape)
    if np.dtype(target).kind in "iu" and dtypes.issubdtype(np.dtype(source), dtypes.floating):
        x = rng.integers(0, 100, shape).astype(source)  # beyond its range an integer's value is not defined
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(op.convert_element_type(x, target), x.astype(target))


@few
@given(pair=st.sampled_from([(np.float32, np.int32), (np.uint64, np.float64), (np.int16, ml_dtypes.bfloat16), (np.int8, np.uint8)]),
       wider=st.booleans(), shape=shapes, seed=seeds)
def test_bitcast_convert_type(pair, wider, shape, seed):
    source, target = pair
    x = drawn(np.random.default_rng(seed), source, shape)
    got = op.bitcast_convert_type(x, target)
    assert got.dtype == target and got.tobytes() == x.tobytes()
    if wider and np.dtype(source).itemsize > 1:  # to a narrower type: one more axis
        parts = op.bitcast_convert_type(x, np.uint8)
        assert parts.shape == (*shape, np.dtype(source).itemsize) and parts.tobytes() == x.tobytes()
        np.testing.assert_array_equal(np.asarray(op.bitcast_convert_type(parts, source)).tobytes(), x.tobytes())


@few
@given(narrow=st.sampled_from([(5, 10, np.float16), (8, 7, ml_dtypes.bfloat16), (8, 23, np.float32)]), shape=shapes, seed=seeds)
def test_reduce_precision(narrow, shape, seed):
    exponent_bits, mantissa_bits, dtype = narrow
    x = drawn(np.random.default_rng(seed), np.float32, shape)
    normal = ~((np.abs(x) < float(ml_dtypes.finfo(dtype).tiny)) & (x != 0))  # subnormal numbers are flushed
    with np.errstate(all="ignore"):
        expected = x.astype(dtype).astype(np.float32)
    np.testing.assert_array_equal(np.asarray(op.reduce_precision(x, exponent_bits, mantissa_bits))[normal], expected[normal])


@few
@given(dtype=st.sampled_from([np.float32, np.float64]), shape=shapes, seed=seeds, exponent=st.integers(-4, 6))
def test_integer_pow(dtype, shape, seed, exponent):
    x = np.random.default_rng(seed).normal(size=shape).astype(dtype)
    check(op.integer_pow(x, exponent), x.astype(np.float64) ** exponent, dtype)


# Linear algebra

MATRIX_TYPES = [np.float32, np.float64, np.complex64, np.complex128]
batches = st.lists(st.integers(0, 2), max_size=2).map(tuple)
sizes = st.integers(0, 4)
matrix_cases = given(dtype=st.sampled_from(MATRIX_TYPES), batch=batches, m=sizes, n=sizes, seed=seeds)


def matrices(seed, dtype, *shape, count=1):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        x = rng.normal(size=shape)
        found.append((x + 1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype))
    return found[0] if count == 1 else found


def adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def close(got, expected, dtype):
    got = np.asarray(got)
    assert got.dtype == np.asarray(expected).dtype and got.shape == np.shape(expected)
    tolerance = 300 * np.finfo(dtype).eps
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def orthonormal_columns(q, dtype):
    close(adjoint(q) @ q, np.broadcast_to(np.eye(q.shape[-1], dtype=dtype), (*q.shape[:-2], q.shape[-1], q.shape[-1])), dtype)


@few
@matrix_cases
def test_cholesky_and_eigh(dtype, batch, m, n, seed):
    a = matrices(seed, dtype, *batch, n, n)
    positive = a @ adjoint(a) + np.eye(n, dtype=dtype) * (n + 1)
    positive = (positive + adjoint(positive)) / 2
    factor = linalg.cholesky(positive)
    close(factor, np.linalg.cholesky(positive).astype(dtype), dtype)
    vectors, values = linalg.eigh(positive)
    close(values, np.linalg.eigvalsh(positive), dtype)
    orthonormal_columns(np.asarray(vectors), dtype)
    close(vectors * np.asarray(values)[..., None, :] @ adjoint(np.asarray(vectors)), positive, dtype)


@few
@matrix_cases
def test_qr_and_its_parts(dtype, batch, m, n, seed):
    a = matrices(seed, dtype, *batch, m, n)
    q, r = map(np.asarray, linalg.qr(a, full_matrices=False))
    close(q @ r, a, dtype)
    orthonormal_columns(q, dtype)
    np.testing.assert_array_equal(np.tril(r, -1), 0)
    packed, taus = linalg.geqrf(a)
    if m >= n:
        product = np.asarray(linalg.householder_product(packed, taus))
        close(product @ np.triu(np.asarray(packed)[..., :n, :]), a, dtype)
        orthonormal_columns(product, dtype)


@few
@matrix_cases
def test_svd(dtype, batch, m, n, seed):
    a = matrices(seed, dtype, *batch, m, n)
    u, s, vh = map(np.asarray, linalg.svd(a, full_matrices=False))
    close(s, np.linalg.svd(a, compute_uv=False), dtype)
    close(u * s[..., None, :].astype(dtype) @ vh, a, dtype)
    close(linalg.svd(a, compute_uv=False), s, dtype)


@few
@matrix_cases
def test_lu(dtype, batch, m, n, seed):
    a = matrices(seed, dtype, *batch, m, n)
    packed, pivots, permutation = map(np.asarray, linalg.lu(a))
    k = min(m, n)
    lower, upper = np.tril(packed[..., :k], -1) + np.eye(m, k, dtype=dtype), np.triu(packed[..., :k, :])
    close(lower @ upper, np.take_along_axis(a, permutation[..., None], -2) if a.size else a, dtype)
    assert (np.abs(lower) <= 1 + 1e-6).all()  # partial pivoting
    np.testing.assert_array_equal(linalg.lu_pivots_to_permutation(pivots, m), permutation)


@few
@given(dtype=st.sampled_from(MATRIX_TYPES), batch=batches, m=sizes, n=sizes, seed=seeds, left=st.booleans(), lower=st.booleans(),
       transposed=st.booleans(), conjugated=st.booleans(), unit=st.booleans())
def test_triangular_solve(dtype, batch, m, n, seed, left, lower, transposed, conjugated, unit):
    a = matrices(seed, dtype, *batch, m, m) / 4 + 2 * np.eye(m, dtype=dtype)
    b = matrices(seed + 1, dtype, *batch, *((m, n) if left else (n, m)))
    x = np.asarray(linalg.triangular_solve(a, b, left_side=left, lower=lower, transpose_a=transposed, conjugate_a=conjugated,
                                           unit_diagonal=unit))
    assert x.dtype == dtype
    triangle = np.tril(a, -1) if lower else np.triu(a, 1)
    triangle = triangle + (np.eye(m) if unit else a * np.eye(m)).astype(dtype)
    triangle = np.swapaxes(triangle, -1, -2) if transposed else triangle
    triangle = np.conj(triangle) if conjugated else triangle
    close(triangle @ x if left else x @ triangle, b, dtype)


@few
@matrix_cases
def test_eig_hessenberg_and_schur(dtype, batch, m, n, seed):
    a = matrices(seed, dtype, *batch, n, n)
    values, left, right = map(np.asarray, linalg.eig(a))
    wide_dtype = values.dtype
    close(a.astype(wide_dtype) @ right, right * values[..., None, :], dtype)
    close(adjoint(left) @ a.astype(wide_dtype), values[..., :, None] * adjoint(left), dtype)
    reduced, _ = linalg.hessenberg(a)
    h = np.triu(np.asarray(reduced), -1)
    close(np.trace(h, axis1=-2, axis2=-1), np.trace(a, axis1=-2, axis2=-1), dtype)  # similar matrices
    close(np.trace(h @ h, axis1=-2, axis2=-1), np.trace(a @ a, axis1=-2, axis2=-1), dtype)
    t, q = map(np.asarray, linalg.schur(a))
    close(q @ t @ adjoint(q), a, dtype)
    orthonormal_columns(q, dtype)


@few
@matrix_cases
def test_tridiagonal_solve_and_symmetric_product(dtype, batch, m, n, seed):
    lower, middle, upper = matrices(seed, dtype, *batch, m, count=3)
    middle = middle + 4
    lower[..., :1], upper[..., m - 1:] = 0, 0
    b = matrices(seed + 1, dtype, *batch, m, n)
    dense = middle[..., None] * np.eye(m, dtype=dtype)
    for i in range(m - 1):
        dense[..., i + 1, i], dense[..., i, i + 1] = lower[..., i + 1], upper[..., i]
    close(dense @ np.asarray(linalg.tridiagonal_solve(lower, middle, upper, b)), b, dtype)
    if np.dtype(dtype).kind == "f":
        c = matrices(seed + 2, dtype, *batch, m, m)
        c = c + adjoint(c)
        got = linalg.symmetric_product(b, c, alpha=2.0, beta=0.5, symmetrize_output=True)
        close(got, (2 * b @ adjoint(b) + c / 2).astype(dtype), dtype)
