"""Python's operators on traced arrays: promotion, ranks, and NumPy's conventions for signs and zeros.

Oracles: NumPy for values and, where its dtypes agree with the documented lattice, for dtypes; Python's unbounded
integers for narrow ones; a table written from JAX's documentation of type promotion for the rest.
"""

from __future__ import annotations

import operator
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from laminax_ir.functions import operators, promoted_operands
from laminax_ir.options import config
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types import dtypes
from laminax_ir.types.avals import ShapedArray, get_aval


def staged(fun, *values):
    """The function through traced operators: its results, and its jaxpr."""
    closed = stage(lambda *xs: [*out] if isinstance(out := fun(*xs), tuple) else [out], [get_aval(v) for v in values])
    results = evaluate(closed, *values)
    assert [r.dtype for r in results] == [a.dtype for a in closed.out_avals]
    return (results[0] if len(results) == 1 else results), closed


def run(fun, *values):
    return staged(fun, *values)[0]


I8, I16, I32, I64 = map(np.dtype, (np.int8, np.int16, np.int32, np.int64))
U8, U16, U32, U64 = map(np.dtype, (np.uint8, np.uint16, np.uint32, np.uint64))
F16, F32, F64, C64 = map(np.dtype, (np.float16, np.float32, np.float64, np.complex64))
BF16, BOOL = np.dtype(ml_dtypes.bfloat16), np.dtype(bool)
INT4, UINT4 = np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.uint4)


# Rows of the table in JAX's documentation: array dtype, other operand, dtype of the sum.
LATTICE = [
    (I32, 2, I32), (I32, 2.5, F32), (I32, 2j, C64), (I32, True, I32), (U8, 2, U8), (U8, 2.0, F32), (BF16, 2, BF16),
    (BF16, 2.5, BF16), (BF16, 2j, C64), (F16, 2.0, F16), (F32, 2, F32), (F32, 2j, C64), (BOOL, 2, I32), (BOOL, 2.0, F32),
    (BOOL, True, BOOL), (C64, 2.0, C64),
    (I8, U8, I16), (I16, U16, I32), (I8, I32, I32), (U8, I32, I32), (U32, I8, I32), (I32, F16, F16), (I32, BF16, BF16),
    (F16, BF16, F32), (F16, F32, F32), (BF16, C64, C64), (BOOL, U8, U8), (I32, C64, C64),
]


@pytest.mark.parametrize("left, right, want", LATTICE, ids=str)
def test_addition_promotes_by_the_lattice(left, right, want):
    x = np.array([1, 0, 1]).astype(left)
    y = np.array([1, 1, 0]).astype(right) if isinstance(right, np.dtype) else right
    for fun in (operator.add, lambda a, b: operator.add(b, a)):
        if isinstance(right, np.dtype):
            got = run(fun, x, y)
        else:
            got = run(lambda a: fun(a, y), x)
        assert got.dtype == want
        number = (lambda v: v.astype(np.complex128)) if want.kind == "c" else (lambda v: v.astype(np.float64))
        plain = np.asarray(y) if want == BOOL else number(np.asarray(y))
        np.testing.assert_allclose(number(got), number((x | plain) if want == BOOL else number(x) + plain), rtol=1e-6)


def test_python_scalars_leave_weak_types_weak_and_strong_ones_strong():
    weak, strong = ShapedArray((), F32, True), ShapedArray((), F32)
    closed = stage(lambda w, s: [w + 1, s + 1.0, 2 * w, w + s, w / 2, -w, w // 2, w % 2, w ** 2], [weak, strong])
    assert [a.weak_type for a in closed.out_avals] == [True, False, True, False, True, True, True, True, True]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "eq"])
@pytest.mark.parametrize("left, right",
                         [((3,), (2, 3)), ((2, 3), (3,)), ((2, 1, 4), (3, 1)), ((), (2, 2)), ((0, 3), (3,)), ((1,), (2, 0, 1))], ids=str)
def test_ranks_broadcast_as_in_numpy(name, left, right):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(1, 3, left).astype(F32), rng.uniform(1, 3, right).astype(F32)
    fun = getattr(operator, name)
    np.testing.assert_allclose(run(fun, x, y), fun(x, y), rtol=1e-6)


def test_rank_promotion_can_be_refused():
    with (config.numpy_rank_promotion("raise"),
          pytest.raises(ValueError, match=r"add on shapes \(3,\) \(2, 3\).*numpy_rank_promotion='raise'")):
        run(operator.add, np.ones(3, F32), np.ones((2, 3), F32))
    with config.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="add on shapes"):
        run(operator.add, np.ones(3, F32), np.ones((2, 3), F32))


def test_strict_promotion_refuses_different_arrays():
    with config.numpy_dtype_promotion("strict"):
        assert run(lambda x: x + 1, np.ones(3, F32)).dtype == F32
        with pytest.raises(ValueError, match="Input dtypes float32 and int32 have no available implicit dtype promotion path"):
            run(operator.add, np.ones(3, F32), np.ones(3, I32))


# Signs and zeros

REALS = [0.0, -0.0, 1.0, -1.0, 0.3, -0.3, 2.5, -2.5, 7.0, -7.0, 1e10, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", [F32, F64, F16], ids=str)
@pytest.mark.parametrize("fun", [operator.floordiv, operator.mod, divmod, operator.truediv, operator.pow], ids=lambda f: f.__name__)
def test_float_division_follows_numpy(fun, dtype):
    with enable_x64(), np.errstate(all="ignore"):
        values = np.array([v for v in REALS if dtype != F16 or abs(v) != 1e10], dtype)
        x, y = (v.ravel() for v in np.meshgrid(values, values))
        got, want = run(fun, x, y), fun(x, y)
        # rem and the products are exact; pow differs in the last place between float32 kernels
        np.testing.assert_allclose(got, want, rtol=0 if fun is not operator.pow else 4 * np.finfo(dtype).eps)
        scalar = [run(lambda a: fun(a, s), values) for s in (2.5, -3.0)]
        np.testing.assert_allclose(scalar, [fun(values, dtype.type(s)) for s in (2.5, -3.0)],
                                   rtol=0 if fun is not operator.pow else 4 * np.finfo(dtype).eps)


INTEGERS = [I8, I16, I32, I64, U8, U16, U32, U64, INT4, UINT4]


def wrap(value: int, dtype) -> int:
    bits = dtypes.bit_width(dtype)
    value &= (1 << bits) - 1
    return value - (1 << bits) if int(dtypes.iinfo(dtype).min) < 0 and value >> (bits - 1) else value


def integers(dtype):
    info = dtypes.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    return [v for v in (low, low + 1, -7, -3, -2, -1, 0, 1, 2, 3, 5, 7, high - 1, high) if low <= v <= high]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("fun", [operator.floordiv, operator.mod, operator.pow, operator.lshift, operator.rshift, operator.sub],
                         ids=lambda f: f.__name__)
def test_integer_operators_are_pythons_modulo_the_width(fun, dtype):
    values, bits = integers(dtype), dtypes.bit_width(dtype)
    pairs = [(a, b) for a in values for b in values]
    if fun is operator.floordiv:
        pairs = [(a, b) for a, b in pairs if b != 0]
    elif fun in (operator.lshift, operator.rshift):
        pairs = [(a, b) for a, b in pairs if 0 <= b < bits]
    elif fun is operator.pow:
        pairs = [(a, b) for a, b in pairs if b >= 0]
    python = {operator.mod: lambda a, b: 0 if b == 0 else a % b,  # NumPy's answer modulo 0
              operator.pow: lambda a, b: pow(a, b, 1 << bits)}.get(fun, fun)
    with enable_x64():
        x, y = (np.array([p[i] for p in pairs], object).astype(dtype) for i in range(2))
        got = run(fun, x, y)
    assert got.dtype == dtype
    assert [int(v) for v in got] == [wrap(python(a, b), dtype) for a, b in pairs]


def test_integer_operators_with_python_numbers():
    x = np.array([-7, -1, 0, 1, 7], I32)
    for fun in (operator.floordiv, operator.mod, operator.mul, operator.and_, operator.xor):
        np.testing.assert_array_equal(run(lambda a: fun(a, 3), x), fun(x, 3))
        np.testing.assert_array_equal(run(lambda a: fun(-3, a), x[x != 0]), fun(-3, x[x != 0]))
    np.testing.assert_array_equal(run(lambda a: a % 0, x), np.zeros(5))
    np.testing.assert_array_equal(run(lambda a: 2 ** a, np.array([0, 1, 5], I32)), [1, 2, 32])
    np.testing.assert_array_equal(run(lambda a: a ** 3, x), x ** 3)
    assert run(lambda a: a / 2, x).tolist() == (x / 2).tolist() and run(lambda a: a / 2, x).dtype == F32


def test_negative_exponents():
    with pytest.raises(TypeError, match=r"integers cannot be raised to a negative power; got i32\[3\] and y=-1"):
        run(lambda a: a ** -1, np.ones(3, I32))
    x, y = np.array([-1, -1, 1, 2, 0], I32), np.array([-1, -2, -3, -1, -1], I32)
    assert run(operator.pow, x, y).tolist() == [-1, 1, 1, 0, 0]
    np.testing.assert_allclose(run(lambda a: a ** -2, np.float32([1, 2, 4])), [1, 0.25, 0.0625])


def test_exponents_keep_their_kind_in_the_program():
    f32 = ShapedArray((3,), F32)
    text = lambda fun, *avals: str(stage(lambda *xs: [fun(*xs)], avals))  # noqa: E731
    assert "integer_pow[y=2] a" in text(lambda x: x ** 2, f32)
    assert "pow a 2.0:f32[]" in text(lambda x: x ** 2.0, f32)
    assert "c:f32[3] = pow a b" in text(operator.pow, f32, ShapedArray((3,), I32))


def test_bools():
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    for fun in (operator.add, operator.mul, operator.and_, operator.or_, operator.xor, operator.lt, operator.eq):
        got = run(fun, x, y)
        assert got.dtype == bool
        np.testing.assert_array_equal(got, fun(x, y))
    assert run(lambda a: a + True, x).tolist() == [True] * 4
    assert run(lambda a: a * 2, x).tolist() == [2, 2, 0, 0]
    assert run(lambda a: a ** 2, x).dtype == I32
    assert run(operator.invert, x).tolist() == [False, False, True, True]
    assert run(abs, x).dtype == bool
    assert run(operator.truediv, x, y[:1]).dtype == F32
    with pytest.raises(TypeError, match="sub does not accept dtype bool"):
        run(operator.sub, x, y)
    with pytest.raises(TypeError, match="neg does not accept dtype bool"):
        run(operator.neg, x)


def test_complex():
    z, w = np.array([1 + 2j, -3j], np.complex64), np.array([2 - 1j, 1 + 1j], np.complex64)
    for fun in (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow):
        np.testing.assert_allclose(run(fun, z, w), fun(z.astype(complex), w.astype(complex)), rtol=1e-5)
    np.testing.assert_allclose(run(abs, z), np.abs(z), rtol=1e-6)
    for fun in (operator.floordiv, operator.mod):
        with pytest.raises(TypeError, match="does not accept dtype complex64"):
            run(fun, z, w)


def test_integers_beside_narrow_arrays():
    x = np.array([1, 2, 250], U8)
    assert run(lambda a: a + 5, x).tolist() == [6, 7, 255]
    assert run(lambda a: a + (-1), x).tolist() == [0, 1, 249]  # -1 is 255 in a byte
    assert run(lambda a: a + 300, x).tolist() == [(v + 300) % 256 for v in (1, 2, 250)]
    assert run(lambda a: a & 0xFFFFFFFF, np.array([7], U32)).tolist() == [7]
    for dtype, value in ((I32, 2**40), (U8, 2**33), (U32, -2**40)):
        with pytest.raises(OverflowError, match=f"the integer {value} does not fit {dtype.name}"):
            run(lambda a: a + value, np.ones(2, dtype))
    assert run(lambda a: a + 2**40, np.ones(2, F32)).tolist() == [float(2**40)] * 2
    with enable_x64():
        assert run(lambda a: a + 2**40, np.ones(2, I64)).tolist() == [2**40 + 1] * 2


def test_floor_division_of_large_floats_is_exact():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=200) * 1e6, rng.normal(size=200)
    with enable_x64():
        quotient, rest = run(divmod, x, y)
    exact = [(Fraction(a) / Fraction(b)).__floor__() for a, b in zip(x, y)]
    np.testing.assert_array_equal(quotient, np.array(exact, float))
    assert all((r == 0 or (r < 0) == (b < 0)) and abs(r) <= abs(b) for r, b in zip(rest, y))


def test_bools_make_strong_numbers():
    """A bool is a strong type, so the quotient of two is no weak float, though a Python float is one."""
    assert not get_aval(promoted_operands.as_dtype(True, F32, False)).weak_type
    assert get_aval(promoted_operands.as_dtype(2, F32, True)).weak_type
    quotient, = stage(lambda: [operators.true_divide(True, True)], []).out_avals
    assert quotient is ShapedArray((), F32)


def test_operators_leave_other_types_alone():
    class Other:
        def __radd__(self, x):
            return "mine"

        def __eq__(self, x):
            return "equal"

    assert stage(lambda x: [x, 1.0 if x + Other() == "mine" and (Other() == x) == "equal" else 2.0], [ShapedArray((), F32)])
    with pytest.raises(TypeError, match="unsupported operand"):
        run(lambda x: x + "text", np.ones(2, F32))
    with pytest.raises(TypeError):
        run(lambda x: x * [1, 2], np.ones(2, F32))


def test_numpy_arrays_on_the_left_give_way_to_tracers():
    y = np.arange(3, dtype=F32)
    got, closed = staged(lambda x: y * x, np.ones(3, F32))
    np.testing.assert_array_equal(got, y)
    assert [eqn.primitive.name for eqn in closed.eqns] == ["mul"]
    assert [eqn.primitive.name for eqn in staged(lambda x: np.float32(2) - x, np.ones(3, F32))[1].eqns] == ["sub"]


def test_every_special_method_is_installed():
    table = operators.method_table()
    assert ({f"__{n}__" for n in ("add", "rsub", "pow", "rpow", "divmod", "rdivmod", "matmul", "lt", "eq", "neg", "pos", "abs", "invert")}
            <= set(table))
    assert run(operator.pos, np.ones(2, F32)).tolist() == [1, 1]


@pytest.mark.parametrize("operator_", [operator.pow, operator.floordiv, operator.mod])
def test_booleans_are_integers_where_they_are_divided_and_raised(operator_):
    """NumPy's values, in the default integer type: Python's operators had refused what the functions of numpy took."""
    x, y = np.array([True, False, True, False]), np.array([True, True, True, True])
    expected = operator_(x.astype(np.int32), y.astype(np.int32))
    for left, right in ((x, y), (x, True)):
        found, _ = staged(lambda a: operator_(a, right), left)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, expected)
