"""Arrays outside of transformations: operators beside NumPy and Python values, and what arrays refuse."""

import copy
import operator
import pickle

import numpy as np
import pytest

from laminax_ir.tracing.trace import eval_trace

import laminax
import laminax.numpy as jnp

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
BITWISE = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
VALUES = np.array([1.0, 2.0, 3.0], np.float32)
OTHERS = [np.full(3, 2, np.float32), np.float32(2), np.float64(2), np.int32(2), np.int8(2), 2, 2.0, np.bool_(True), True]


@pytest.mark.parametrize("op", ARITHMETIC + COMPARISONS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("other", OTHERS, ids=lambda x: type(x).__name__)
def test_operators_beside_numpy_and_python_values(op, other):
    x = jnp.array(VALUES)
    for left, right, expected in ((x, other, op(VALUES, other)), (other, x, op(other, VALUES))):
        result = op(left, right)
        assert isinstance(result, laminax.Array)
        assert result.dtype == (bool if op in COMPARISONS else np.float32)
        np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("op", [*ARITHMETIC, *BITWISE, divmod], ids=lambda op: op.__name__)
@pytest.mark.parametrize("other", [np.array([2, 1, 3], np.int32), np.int16(2), 2, 1], ids=repr)
def test_integer_operators(op, other):
    values = np.array([7, -7, 5], np.int32)
    x = jnp.array(values)
    np.testing.assert_allclose(op(x, other), op(values, other), rtol=1e-6)
    if op not in (operator.lshift, operator.rshift, operator.pow):  # negative counts and exponents
        np.testing.assert_allclose(op(other, x), op(other, values), rtol=1e-6)


@pytest.mark.parametrize("other", [np.arange(1, 7)[::2], np.float32(2), np.float64(0.5), np.array([True, True, True]), jnp.float32(2), 1.5],
                         ids=repr)
@pytest.mark.parametrize("op", [operator.add, operator.pow, divmod], ids=lambda op: op.__name__)
def test_an_operator_is_one_compiled_call_whatever_stands_beside_the_array(monkeypatch, op, other):
    values = np.array([1.5, 4, 2], np.float32)
    x = jnp.array(values)
    monkeypatch.setattr(eval_trace, "evaluate", None)  # what operations by themselves come to
    for result, expected in ((op(x, other), op(values, np.asarray(other))), (op(other, x), op(np.asarray(other), values))):
        assert type(result) is type(expected) or not isinstance(expected, tuple)
        np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_matrix_product_on_both_sides():
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
    for result in (jnp.array(a) @ jnp.array(b), a @ jnp.array(b), jnp.array(a) @ b):
        assert isinstance(result, laminax.Array)
        np.testing.assert_allclose(result, a @ b)


def test_unary_operators():
    x = jnp.array([-1.5, 2.0])
    np.testing.assert_array_equal(-x, [1.5, -2.0])
    np.testing.assert_array_equal(+x, [-1.5, 2.0])
    np.testing.assert_array_equal(abs(x), [1.5, 2.0])
    np.testing.assert_array_equal(~jnp.array([1, 2]), [-2, -3])
    np.testing.assert_array_equal(~jnp.array([True, False]), [False, True])


def test_weak_types_of_results():
    integers = jnp.arange(3)
    assert (integers + 2.5).weak_type and (integers + 2.5).dtype == np.float32
    assert not (integers + 2).weak_type
    assert not (integers * np.float32(2)).weak_type
    assert (jnp.float32(1) + 2.0).weak_type is False


def test_results_beside_numpy_arrays_are_32_bit_unless_enabled():
    assert (jnp.ones(3) + np.ones(3)).dtype == np.float32
    with laminax.enable_x64(True):
        assert (jnp.ones(3, np.float32) + np.ones(3)).dtype == np.float64


def test_augmented_assignment_rebinds():
    x = y = jnp.array([1.0, 2.0])
    y += 1
    y *= np.array([2.0, 2.0])
    y -= 1
    y /= 2
    y **= 2
    np.testing.assert_allclose(y, [2.25, 6.25])
    np.testing.assert_array_equal(x, [1, 2])
    z = before = np.ones(2, np.float32)
    z += x
    assert isinstance(z, laminax.Array)
    np.testing.assert_array_equal(before, [1, 1])


def test_numpy_functions_take_arrays():
    x = jnp.array(VALUES)
    for function in (np.sin, np.sum, np.exp):
        np.testing.assert_allclose(function(x), function(VALUES))
    np.testing.assert_allclose(np.maximum(x, 2), [2, 2, 3])
    np.testing.assert_allclose(np.stack([x, x]), np.stack([VALUES, VALUES]))
    assert not np.asarray(x).flags.writeable and np.array(x).flags.writeable


def test_objects_that_become_arrays():
    class Wrapped:
        def __jax_array__(self):
            return jnp.float32(2)

    np.testing.assert_array_equal(jnp.array([1.0, 2.0]) + Wrapped(), [3, 4])
    np.testing.assert_array_equal(laminax.jit(lambda x: x * Wrapped())(jnp.array([1.0, 2.0])), [2, 4])


def test_numpy_functions_take_objects_that_become_arrays():
    class Wrapped:
        def __init__(self, x):
            self.x = jnp.asarray(x)

        def __jax_array__(self):
            return self.x

    x, i = np.array([0.0, 1.0, 2.0, 0.0], np.float32), np.array([1])
    assert jnp.isscalar(Wrapped(1.0)) and not jnp.isscalar(Wrapped(x))
    np.testing.assert_array_equal(jnp.interp(Wrapped(x), Wrapped(x[:3]), Wrapped(2 * x[:3])), np.interp(x, x[:3], 2 * x[:3]))
    np.testing.assert_array_equal(jnp.roll(Wrapped(x), Wrapped(i)), np.roll(x, i))
    np.testing.assert_array_equal(jnp.block([Wrapped(x), Wrapped(x)]), np.block([x, x]))
    np.testing.assert_array_equal(jnp.trim_zeros(Wrapped(x)), np.trim_zeros(x))


def test_objects_with_operators_of_their_own_are_asked():
    class Other:
        def __radd__(self, left):
            return "radd"

        def __eq__(self, other):
            return "eq"

    assert jnp.ones(2) + Other() == "radd"
    assert (jnp.ones(2) == Other()) == "eq"


def test_none_is_never_equal():
    assert (jnp.ones(2) == None) is False  # noqa: E711
    assert (jnp.ones(2) != None) is True  # noqa: E711


@pytest.mark.parametrize("other", [[1, 2, 3], (1, 2, 3), {1, 2}, {"a": 1}])
@pytest.mark.parametrize("op", [operator.add, operator.eq, operator.matmul])
def test_lists_are_refused(op, other):
    with pytest.raises(TypeError, match="unsupported operand type.*Make the .* an array first"):
        op(jnp.array(VALUES), other)


@pytest.mark.parametrize("other", ["text", None, object()])
def test_other_types_are_refused(other):
    for operation in (lambda x: x + other, lambda x: other + x, lambda x: x < other):
        with pytest.raises(TypeError, match="not supported|unsupported|concatenate"):
            operation(jnp.array(VALUES))


def test_iteration_and_membership():
    x = jnp.array([[1.0, 2.0], [3.0, 4.0]])
    rows = list(x)
    assert all(isinstance(row, laminax.Array) for row in rows)
    np.testing.assert_array_equal(rows[1], [3, 4])
    assert 2.0 in x[0] and 5.0 not in x[0] and np.float32(1) in x[0]
    first, second = x
    np.testing.assert_array_equal(second, [3, 4])
    with pytest.raises(TypeError):
        iter(jnp.float32(1))
    assert len(x) == 2
    with pytest.raises(TypeError, match="unsized"):
        len(jnp.float32(1))


def test_conversions_to_python():
    assert (int(jnp.int32(3)), float(jnp.float32(2.5)), complex(jnp.float32(1)), bool(jnp.float32(0))) == (3, 2.5, 1, False)
    assert [10, 20, 30][jnp.int32(2)] == 30 and hex(jnp.int32(255)) == "0xff" and list(range(jnp.int32(2))) == [0, 1]
    assert f"{jnp.float32(1.5):.3f} {jnp.int32(7):03d}" == "1.500 007"
    with pytest.raises(ValueError, match="truth value"):
        bool(jnp.ones(2))
    with pytest.raises(TypeError, match="Only scalar arrays"):
        int(jnp.ones(2))
    with pytest.raises(TypeError, match="integer"):
        [1, 2][jnp.float32(1)]


def test_arrays_do_not_change_and_have_no_hash():
    x = jnp.ones(3)
    with pytest.raises(TypeError, match=r"immutable.*x\.at\[index\]\.set\(y\)"):
        x[0] = 2.0
    with pytest.raises(TypeError, match=r"immutable.*x\.at"):
        laminax.jit(lambda x: x.__setitem__(0, 1.0))(x)
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    with pytest.raises(AttributeError):
        x.shape = (1, 3)


def test_copies_and_pickles():
    x = jnp.array(VALUES)
    for same in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert isinstance(same, laminax.Array) and same is not x
        np.testing.assert_array_equal(same, VALUES)


def test_arrays_and_tracers_are_instances_of_array():
    def check(x):
        assert isinstance(x, laminax.Array)
        return x

    laminax.jit(check)(1.0)
    assert isinstance(laminax.random.key(0), laminax.Array)
    assert isinstance(jnp.ones(2), laminax.Array) and not isinstance(np.ones(2), laminax.Array)
    with pytest.raises(TypeError, match="laminax.numpy.array"):
        laminax.Array()


@pytest.mark.parametrize("op", [operator.add, operator.pow, operator.mod, operator.lt], ids=lambda op: op.__name__)
def test_operators_give_the_same_outside_of_jit_inside_and_under_disable_jit(op):
    x, y = jnp.array(VALUES), np.float32(2)
    expected = op(VALUES, y)
    np.testing.assert_allclose(laminax.jit(op)(x, y), expected, rtol=1e-6)
    with laminax.disable_jit():
        np.testing.assert_allclose(laminax.jit(op)(x, y), expected, rtol=1e-6)
    np.testing.assert_allclose(laminax.vmap(op, (0, None))(x, y), expected, rtol=1e-6)


def test_operators_follow_the_options_of_promotion():
    floats, integers, rows = jnp.ones(3), jnp.arange(3), jnp.ones((2, 3))
    assert (floats + integers).dtype == np.float32 and (floats + rows).shape == (2, 3)  # now these programs are compiled
    with laminax.numpy_dtype_promotion("strict"), pytest.raises(ValueError, match="no available implicit dtype promotion path"):
        floats + integers
    with laminax.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="could not be broadcast together"):
        floats + rows
