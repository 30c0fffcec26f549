"""Control flow against Python's own branches and loops."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.control_flow import cond, platform_dependent, switch
from laminax_ir.ops.control_tracing import forget_traced_functions
from laminax_ir.ops.loops import fori_loop, scan, while_loop
from laminax_ir.ops.random_bits import random_bits, random_split
from laminax_ir.ops.slicing import index_in_dim
from laminax_ir.options import config
from laminax_ir.programs.check import check_jaxpr
from laminax_ir.programs.dce import dce_jaxpr
from laminax_ir.programs.effects import Effect, control_flow_allowed_effects
from laminax_ir.programs.primitive import Primitive, effects_rule, shape_rule
from laminax_ir.pytrees.pytree import tree_flatten
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray, get_aval
from laminax_ir.types.errors import ConcretizationTypeError, UnexpectedTracerError

f32 = np.float32
X = np.arange(3, dtype=f32)
N = np.arange(3, dtype=np.int32)


def traced(fun, *args):
    """The program of a pytree function, after the type checker has seen it."""
    closed = stage(lambda *xs: tree_flatten(fun(*xs))[0], [get_aval(x) for x in args])
    check_jaxpr(closed)
    return closed


# Values


def python_scan(f, init, xs, length, reverse):
    carry, ys = init, [None] * length
    for i in reversed(range(length)) if reverse else range(length):
        carry, ys[i] = f(carry, xs[i])
    return carry, np.stack(ys) if ys else np.zeros((0, *np.shape(xs)[1:]), f32)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.integers(0, 6), st.booleans(), st.one_of(st.booleans(), st.integers(0, 8)), st.booleans())
def test_scan_is_a_loop(length, reverse, unroll, under_trace):
    xs = np.random.default_rng(length).normal(size=(length, 2)).astype(f32)

    def step(carry, x):
        return carry * f32(0.5) + x, carry - x

    def f(xs):
        return scan(step, np.ones(2, f32), xs, reverse=reverse, unroll=unroll)

    carry, ys = laminax_ir_evaluate(f, xs) if under_trace else f(xs)
    expected_carry, expected_ys = python_scan(step, np.ones(2, f32), xs, length, reverse)
    np.testing.assert_allclose(carry, expected_carry, rtol=1e-6)
    np.testing.assert_allclose(ys, expected_ys, rtol=1e-6)


def laminax_ir_evaluate(f, *args):
    from laminax_ir.reference.evaluate import evaluate
    return evaluate(traced(f, *args), *args)


def test_scan_of_pytrees():
    def step(carry, x):
        return {"n": carry["n"] + 1, "total": carry["total"] + x[0] * x[1]}, (x[1], {"twice": x[0] * 2})

    carry, ys = scan(step, {"n": 0, "total": 0.0}, (X, N.astype(f32)))
    assert carry["n"] == 3 and carry["n"].dtype == np.int32
    assert carry["total"] == 5.0
    np.testing.assert_array_equal(ys[0], [0, 1, 2])
    np.testing.assert_array_equal(ys[1]["twice"], [0, 2, 4])


@pytest.mark.parametrize("init, xs, length", [(None, X, None), ((), X, 3), (1.0, None, 3), (None, None, 2), (1.0, (), 3)])
def test_scan_without_carry_or_slices(init, xs, length):
    carry, ys = scan(lambda c, x: (c, 1.0 if x is None or isinstance(x, tuple) else x + 1), init, xs, length)
    assert carry == init
    np.testing.assert_array_equal(ys, np.arange(1, 4) if xs is X else np.ones(length or 3))


def test_scan_may_return_nothing_to_stack():
    assert scan(lambda c, x: (c + x, None), 0.0, X) == (3.0, None)


def test_scan_over_keys():
    key = PRNGKeyArray("threefry2x32", np.array([0, 7], np.uint32))

    def step(key, _):
        pair = random_split(key, (2,))
        first, second = (index_in_dim(pair, i, keepdims=False) for i in (0, 1))
        return first, (second, random_bits(second, 32, ()))

    last, (keys, bits) = scan(step, key, None, length=3)
    for i in range(3):
        key, (expected_key, expected_bits) = step(key, None)
        np.testing.assert_array_equal(keys[i].base, expected_key.base)
        assert bits[i] == expected_bits
    np.testing.assert_array_equal(last.base, key.base)


@pytest.mark.parametrize("lower, upper", [(0, 5), (2, 5), (5, 2), (-2, 1), (3, 3)])
@pytest.mark.parametrize("bounds", ["static", "dynamic", "NumPy"])
def test_fori_loop(lower, upper, bounds):
    def body(i, val):
        return val * 2 + i

    expected = np.int32(1)
    for i in range(lower, upper):
        expected = body(i, expected)
    if bounds == "dynamic":
        closed = traced(lambda lo, hi: fori_loop(lo, hi, body, np.int32(1)), np.int32(lower), np.int32(upper))
        assert [eqn.primitive.name for eqn in closed.eqns] == ["while"]
        from laminax_ir.reference.evaluate import evaluate
        (result,) = evaluate(closed, lower, upper)
    else:
        kind = int if bounds == "static" else np.int32
        result = fori_loop(kind(lower), kind(upper), body, np.int32(1))
    assert result == expected


def test_fori_loop_with_known_bounds_is_a_scan():
    closed = traced(lambda x: fori_loop(0, 3, lambda i, c: c + i, x), 1.0)
    assert [eqn.primitive.name for eqn in closed.eqns] == ["scan"]


def test_fori_loop_with_floating_bounds():
    """Known ones are truncated; the others are counted from in steps of one, as `np.arange` does."""
    assert fori_loop(0.9, 3.9, lambda i, c: c + i, 0) == sum(range(0, 3))
    counted = laminax_ir_evaluate(lambda lo, hi: fori_loop(lo, hi, lambda i, c: c + i, f32(0)), f32(0.5), f32(3))
    assert counted == [np.arange(0.5, 3, 1).sum()]


def test_fori_loop_index_has_the_dtype_of_the_bounds():
    seen = []
    closed = traced(lambda n: fori_loop(0, n, lambda i, c: (seen.append(i.dtype), c)[1], 1.0), np.int8(3))
    assert set(seen) == {np.dtype(np.int8)} and closed.out_avals[0].dtype == f32


@pytest.mark.parametrize("lower, upper, weak", [(0, "bound", True), ("bound", 3, False), (np.int32(0), "bound", False)])
def test_fori_loop_index_is_weak_where_the_lower_bound_is_a_python_int(lower, upper, weak):
    """A sum in int8 of the indices up to a traced bound became one of int32, which no carry of int8 takes."""
    seen = []

    def total(bound):
        bounds = [bound if isinstance(x, str) else x for x in (lower, upper)]
        return fori_loop(*bounds, lambda i, c: (seen.append(i.weak_type), c + (i if weak else np.int8(1)))[1], np.int8(0))

    closed = traced(total, np.int32(2))
    assert set(seen) == {weak} and closed.out_avals[0].dtype == np.int8


@pytest.mark.parametrize("bounds", [(0, 3), (np.int8(0), np.int8(3)), (np.uint16(0), 3)])
def test_fori_loop_index_is_like_a_python_int_for_known_bounds(bounds):
    """As in the Python loop over `range`: it takes the dtype of what it meets."""
    seen = []
    fori_loop(*bounds, lambda i, c: (seen.append((i.dtype, i.weak_type)), c + i)[1], np.int8(0))
    assert set(seen) == {(np.dtype(np.int32), True)}


@pytest.mark.parametrize("loop, words", [
    (lambda keep: while_loop(lambda c: c < 2, lambda c: keep(c) + 1, 0), "<lambda> for while_body"),
    (lambda keep: while_loop(lambda c: keep(c) < 2, lambda c: c + 1, 0), "<lambda> for while_cond"),
    (lambda keep: scan(lambda c, x: (keep(c), x), 0, X), "<lambda> for scan"),
    (lambda keep: cond(True, keep, lambda c: c, 0), "keep for cond"),
])
def test_a_value_kept_from_inside_names_the_function_and_what_it_was_traced_for(loop, words):
    kept = []

    def keep(c):
        kept.append(c)
        return c

    loop(keep)
    with pytest.raises(UnexpectedTracerError, match=words):
        kept[0] + 1


def test_while_loop():
    assert while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 3, c[1] * 2), (0, 1)) == (12, 16)
    assert while_loop(lambda c: c < 0, lambda c: c + 1, 5) == 5  # the body never runs


@pytest.mark.parametrize("pred, chosen", [(True, 6.0), (False, -3.0), (2, 6.0), (0, -3.0), (0.5, 6.0), (np.float32(0), -3.0),
                                          (np.True_, 6.0), (np.uint8(3), 6.0)])
def test_cond(pred, chosen):
    assert cond(pred, lambda x: x * 2, lambda x: -x, 3.0) == chosen
    assert cond(pred, lambda x: x * 2, lambda x: -x, operand=3.0) == chosen
    assert cond(pred, 3.0, lambda x: x * 2, 3.0, lambda x: -x) == chosen  # JAX's older form


@pytest.mark.parametrize("index, chosen", [(0, 10), (1, 11), (2, 12), (-5, 10), (9, 12), (np.uint8(1), 11), (np.int16(-1), 10)])
def test_switch_clamps_its_index(index, chosen):
    assert switch(index, [lambda x, i=i: x + i for i in range(3)], np.int32(10)) == chosen


def test_switch_with_one_branch_is_a_call():
    assert not traced(lambda i: switch(i, [lambda: 1.0]), np.int32(3)).eqns


# Types


@pytest.mark.parametrize("init, step, dtype, weak", [
    (1, lambda c: c + f32(1), "float32", False),  # a Python int becomes what the body makes of it
    (1.0, lambda c: c + f32(1), "float32", False),
    (1.0, lambda c: c * 2, "float32", True),
    (1, lambda c: c + np.int8(1), "int8", False),
    (True, lambda c: op.bitwise_not(c), "bool", False),
    (1j, lambda c: c * np.complex64(1), "complex64", False),
])
def test_weakly_typed_initial_values_take_the_type_that_the_body_returns(init, step, dtype, weak):
    for loop in (lambda: scan(lambda c, _: (step(c), None), init, None, length=2)[0],
                 lambda: while_loop(lambda c: False, step, init), lambda: fori_loop(0, 2, lambda i, c: step(c), init)):
        (aval,) = traced(loop).out_avals
        assert (aval.dtype.name, aval.weak_type) == (dtype, weak)


@pytest.mark.parametrize("a, b, weak", [(1.0, 2.0, True), (1.0, f32(2), False), (f32(1), 2.0, False), (f32(1), f32(2), False)])
def test_the_result_of_branches_is_weak_only_if_all_are(a, b, weak):
    (aval,) = traced(lambda p: cond(p, lambda: a, lambda: b), True).out_avals
    assert aval is ShapedArray((), np.dtype(f32), weak)


# Programs


def test_printed_as_in_the_documentation_of_jax():
    text = str(traced(lambda xs, w: scan(lambda c, x: (c + x, c * w), np.float32(0), xs), X, f32(2)))
    # https://docs.jax.dev/en/latest/jaxpr.html, section "Scan": constants, then the carry, then xs
    assert text == """\
{ lambda ; a:f32[3] b:f32[]. let
    c:f32[] d:f32[3] = scan[
      jaxpr={ lambda ; e:f32[] f:f32[] g:f32[]. let
          h:f32[] = add f g
          i:f32[] = mul f e
        in (h, i) }
      length=3
      num_carry=1
      num_consts=1
      reverse=False
      unroll=1
    ] b 0.0:f32[] a
  in (c, d) }"""
    text = str(traced(lambda x: cond(x > 1, lambda y: y + 1, lambda y: y * 2, x), 1.0))
    assert text == """\
{ lambda ; a:f32[]. let
    b:bool[] = gt a 1.0:f32[]
    c:i32[] = convert_element_type[new_dtype=int32 weak_type=False] b
    d:f32[] = cond[
      branches=(
        { lambda ; e:f32[]. let f:f32[] = mul e 2.0:f32[] in (f,) }
        { lambda ; g:f32[]. let h:f32[] = add g 1.0:f32[] in (h,) }
      )
    ] c a
  in (d,) }"""
    text = str(traced(lambda n, x: while_loop(lambda c: c < n, lambda c: c + x, x), 9.0, 1.0))
    assert text == """\
{ lambda ; a:f32[] b:f32[]. let
    c:f32[] = while[
      body_jaxpr={ lambda ; d:f32[] e:f32[]. let f:f32[] = add e d in (f,) }
      body_nconsts=1
      cond_jaxpr={ lambda ; g:f32[] h:f32[]. let i:bool[] = lt h g in (i,) }
      cond_nconsts=1
    ] a b b
  in (c,) }"""


def test_what_branches_close_over_is_passed_once():
    big = np.ones(4, f32)
    closed = traced(lambda i, x: switch(i, [lambda: big * x, lambda: big - x, lambda: op.exp(big)]), np.int32(0), f32(2))
    cond_eqn = closed.eqns[-1]
    assert len(cond_eqn.invars) == 3  # the index, big, x
    assert all(not branch.consts for branch in cond_eqn.params["branches"])


def test_a_function_without_captured_tracers_is_traced_once():
    count = []

    def step(carry, x):
        count.append(1)
        return carry + x, None

    for _ in range(3):
        scan(step, 0.0, X)
    traced(lambda xs: scan(step, 0.0, xs), X)
    assert len(count) == 1
    scan(step, 0.0, N.astype(f32)[:2])  # a longer or shorter scan has the same body
    assert len(count) == 1
    scan(step, f32(0), X)
    with config.enable_x64(True):
        scan(step, f32(0), X)
    assert len(count) == 3


def test_branches_that_capture_arrays_are_the_same_every_time():
    branches = [lambda x: x + X, lambda x: x * N.astype(f32), lambda x: x]
    (first,), (second,) = [[eqn.params["branches"] for eqn in traced(lambda i, x: switch(i, branches, x), np.int32(0), X).eqns
                            if eqn.primitive.name == "cond"] for _ in range(2)]
    assert all(a is b for a, b in zip(first, second))
    forget_traced_functions()
    closed = traced(lambda i, x: switch(i, branches, x), np.int32(0), X)
    assert closed.eqns[-1].params["branches"][0] is not first[0]


def test_a_captured_tracer_is_never_remembered():
    closure = {}

    def step(carry, x):
        return carry + closure["w"] * x, None

    def f(w):
        closure["w"] = w
        return scan(step, f32(0), X)[0]

    from laminax_ir.reference.evaluate import evaluate
    assert evaluate(traced(f, f32(2)), f32(2)) == [6.0]
    assert evaluate(traced(f, f32(3)), f32(3)) == [9.0]


def test_effects_are_those_of_the_parts():
    class Noise(Effect):
        pass

    shout_p = Primitive("shout", multiple_results=True)
    shape_rule(shout_p)(lambda: [])
    effects_rule(shout_p)(lambda: {Noise()})

    def noisy(x):
        shout_p.bind()
        return x

    functions = {"cond": lambda x: cond(x > 0, noisy, lambda x: x, x), "while_loop": lambda x: while_loop(lambda c: c < 0, noisy, x),
                 "while_loop: the condition": lambda x: while_loop(lambda c: noisy(c) < 0, lambda c: c, x),
                 "scan": lambda x: scan(lambda c, _: (noisy(c), None), x, X)[0],
                 "scan: fori_loop": lambda x: fori_loop(0, 3, lambda i, c: noisy(c), x)}
    for name, f in functions.items():  # what they mean there, who made them has to say
        with pytest.raises(NotImplementedError, match=f"Effects not supported in {name.partition(':')[0]}: Noise. .*add_type"):
            traced(f, f32(1))
    control_flow_allowed_effects.add_type(Noise)
    for f in functions.values():
        assert traced(f, f32(1)).effects == {Noise()}


def test_dead_code_in_loops_and_branches():
    def f(x, y, z):
        (a, b, c), (p, q) = scan(lambda c, t: ((c[0] + c[1], c[1] * x, c[2] + z), (t + y, c[2])), (f32(1), f32(2), f32(3)), X)
        return a, b, c, p, q

    closed = traced(f, f32(1), f32(2), f32(3))
    jaxpr, used = dce_jaxpr(closed.jaxpr, [True, False, False, False, False])
    check_jaxpr(jaxpr)
    assert used == [True, False, False] and jaxpr.eqns[-1].params["num_carry"] == 2 and not jaxpr.eqns[-1].invars[3:]
    jaxpr, used = dce_jaxpr(closed.jaxpr, [False, False, False, True, False])
    check_jaxpr(jaxpr)
    assert used == [False, True, False] and jaxpr.eqns[-1].params["num_carry"] == 0

    closed = traced(lambda x, y: while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x, c[2] + c[1], c[3] + y),
                                            (0, x, x, y)), f32(1), f32(2))
    jaxpr, used = dce_jaxpr(closed.jaxpr, [False, True, False, False])
    check_jaxpr(jaxpr)
    assert used == [True, False] and len(jaxpr.eqns[-1].outvars) == 2

    closed = traced(lambda p, x, y: cond(p, lambda: (x, y), lambda: (x * 2, x)), True, f32(1), f32(2))
    jaxpr, used = dce_jaxpr(closed.jaxpr, [True, False])
    check_jaxpr(jaxpr)
    assert used == [True, True, False] and len(jaxpr.eqns[-1].outvars) == 1


# In Python


def test_disable_jit_runs_python():
    seen = []

    def step(carry, x):
        seen.append(float(x))
        return carry + x, carry

    with config.disable_jit(True):
        carry, ys = scan(step, f32(0), X, reverse=True)
        assert carry == 3.0 and seen == [2.0, 1.0, 0.0]
        np.testing.assert_array_equal(ys, [3, 2, 0])
        assert cond(True, lambda: seen.append("true") or 1, lambda: seen.append("false") or 2) == 1
        assert switch(7, [lambda: 1, lambda: seen.append("last") or 2]) == 2
        assert seen[3:] == ["true", "last"]
        assert while_loop(lambda c: c < 5, lambda c: c + 2, 0) == 6
        assert fori_loop(0, 3, lambda i, c: c + [i], []) == [0, 1, 2]  # any Python value
        with pytest.raises(ValueError, match="zero-length scan is not supported in disable_jit"):
            scan(step, f32(0), X[:0])


def test_platform_dependent():
    assert platform_dependent(2.0, cpu=lambda x: x, default=lambda x: x + 1) == 2.0
    assert platform_dependent(2.0, tpu=lambda x: x, default=lambda x: x + 1) == 3.0
    assert platform_dependent(2.0, default=lambda x: x + 1) == 3.0
    with pytest.raises(NotImplementedError, match="no function for platform cpu"):
        platform_dependent(2.0, tpu=lambda x: x, cuda=lambda x: x)
    with pytest.raises(ValueError, match="at least one platform"):
        platform_dependent(2.0)


# Errors

ERRORS = [
    (lambda: scan(3, 1.0, X), TypeError, "lax.scan: f argument should be a callable"),
    (lambda: scan(lambda c, x: c, 1.0, X), TypeError, "scan body output must be a pair, got float32[]"),
    (lambda: scan(lambda c, x: (c, x, x), 1.0, X), TypeError, "must be a pair"),
    (lambda: scan(lambda c, x: (op.convert_element_type(c, np.int32), None), f32(1), X), TypeError,
     "The input carry c has type float32[] but the corresponding output carry component has type int32[], so the dtypes do "
     "not match"),
    (lambda: scan(lambda c, x: ({"a": c["a"][None] if False else np.ones((1, 3), f32), "b": c["b"]}, None), {"a": X, "b": 1}, X),
     TypeError, "component c['a'] has type float32[3] but the corresponding output carry component has type float32[1,3], so the "
     "shapes do not match"),
    (lambda: scan(lambda c, x: ((c, c), None), 1.0, X), TypeError, "same pytree structure"),
    (lambda: scan(lambda c, x: ((c[0], c[0]), None), (1.0, None), X), TypeError, "component c[1] is a <class 'NoneType'>"),
    (lambda: scan(lambda c, x: (c, "a"), 1.0, X), TypeError, "is of type str at [1]"),
    (lambda: scan(lambda c, x: (c, x), "a", X), TypeError, "initial carry is of type str"),
    (lambda: scan(lambda c, x: (c, x), 1.0, {"a": "text"}), TypeError, "xs is of type str at ['a']"),
    (lambda: scan(lambda c, x: (c, x), 1.0, None), ValueError,
     "got no values to scan over and `length` not provided. For xs without arrays one must provide `length`"),
    (lambda: scan(lambda c, x: (c, x), 1.0, X, length=4), ValueError, "`length` argument of 4 which disagrees with"),
    (lambda: scan(lambda c, x: (c, x), 1.0, (X, np.arange(4))), ValueError, "different leading axis sizes: 3, 4"),
    (lambda: scan(lambda c, x: (c, x), 1.0, 2.0), ValueError, "no leading axis to scan over"),
    (lambda: scan(lambda c, x: (c, x), 1.0, X, unroll=-1), ValueError, "`unroll` must be a `bool` or a non-negative `int`"),
    (lambda: traced(lambda n: scan(lambda c, x: (c, x), 1.0, X, unroll=n), 3), ConcretizationTypeError,
     "The `unroll` argument to `scan` expects a concrete `int` or `bool` value"),
    (lambda: scan(lambda c, x: (c, x), 1.0, X, unroll="a"), TypeError, "`unroll` must be a `bool` or a non-negative `int`"),
    (lambda: scan(lambda c, x: (c, x), 1.0, None, length=-1), ValueError, "must not be negative"),
    (lambda: scan(lambda c, x: (c, x), 1.0, None, length=2.5), TypeError, "`length` must be an integer"),
    (lambda: traced(lambda n: scan(lambda c, x: (c, x), 1.0, None, length=n), 3), ConcretizationTypeError,
     "expects a concrete `int` value"),
    (lambda: while_loop(3, lambda c: c, 1.0), TypeError, "body_fun and cond_fun arguments should be callable"),
    (lambda: while_loop(lambda c: c, lambda c: c, 1.0), TypeError, "cond_fun must return a boolean scalar, but got output type(s) "
     "[ShapedArray(float32[])]"),
    (lambda: while_loop(lambda c: (c, c), lambda c: c, 1.0), TypeError, "must return a boolean scalar, but got pytree"),
    (lambda: while_loop(lambda c: c < X, lambda c: c, 1.0), TypeError, "[ShapedArray(bool[3])]"),
    (lambda: while_loop(lambda c: None, lambda c: c, 1.0), TypeError, "must return a boolean scalar, but got pytree"),
    (lambda: while_loop(lambda c: c < 3, lambda c: (c, c), 1.0), TypeError,
     "while_loop body function carry input and carry output must have the same pytree structure"),
    (lambda: while_loop(lambda c: c < 3, lambda c: c[None] if False else X, f32(1)), TypeError, "so the shapes do not match"),
    (lambda: fori_loop(0, 3, 2, 1.0), TypeError, "lax.fori_loop: body_fun argument should be callable"),
    (lambda: fori_loop(0, 3, lambda i, c: (c, c), 1.0), TypeError, "same pytree structure"),
    (lambda: fori_loop(0.0, 3, lambda i, c: c, 1.0), TypeError, "lower and upper arguments to fori_loop must have equal types"),
    (lambda: fori_loop(np.int8(0), np.int32(3), lambda i, c: c, 1.0), TypeError, "got int8 and int32"),
    (lambda: fori_loop(0, X, lambda i, c: c, 1.0), TypeError, "upper must be a scalar, got f32[3]"),
    (lambda: fori_loop(0, "3", lambda i, c: c, 1.0), TypeError, "upper must be a number, got '3'"),
    (lambda: traced(lambda n: fori_loop(0, n, lambda i, c: c, 1.0, unroll=2), 3), ValueError,
     "Can only use `unroll` in `fori_loop` if the loop bounds are statically known"),
    (lambda: cond(X, lambda: 1, lambda: 2), TypeError, "Pred must be a scalar, got [0. 1. 2.] of shape (3,)"),
    (lambda: cond(1j, lambda: 1, lambda: 2), TypeError, "Pred type must be either boolean or number, got complex64"),
    (lambda: cond("a", lambda: 1, lambda: 2), TypeError, "Pred must be a scalar"),
    (lambda: cond(None, lambda: 1, lambda: 2), TypeError, "cond predicate is None"),
    (lambda: cond(True, 1, 2), TypeError, "true_fun and false_fun arguments should be callable"),
    (lambda: cond(True, lambda x: x, lambda x: x, 2, operand=3), TypeError, "no positional operands can be passed"),
    (lambda: cond(True, lambda: 1, lambda: 2.0), TypeError,
     "The output of true_fun has type int32[] but the corresponding output of false_fun has type float32[], so the dtypes do not "
     "match"),
    (lambda: cond(True, lambda: (1, 2), lambda: 2), TypeError, "true_fun output is a <class 'tuple'> but false_fun output is a "
     "pytree leaf, so their Python types differ"),
    (lambda: cond(True, lambda: (1, 2), lambda: (1,)), TypeError, "a tuple of length 2 but false_fun output is a tuple of length 1, so "
     "the lengths do not match"),
    (lambda: cond(True, lambda: {"a": (1,)}, lambda: {"a": [1]}), TypeError, "true_fun output at path ['a'] is a <class 'tuple'>"),
    (lambda: switch(0, [lambda: {"a": 1}, lambda: {"A": 1}]), TypeError,
     "branch 0 output is a <class 'dict'> with pytree metadata ('a',) but branch 1 output is a <class 'dict'> with pytree metadata ('A',)"),
    (lambda: scan(lambda c, x: ({"a": 1}, x), {"a": 1, "b": 2}, X), TypeError,
     "a <class 'dict'> with 1 child, so the numbers of children do not match, with the symmetric difference of key sets: {'b'}"),
    (lambda: scan(lambda c, x: ((c[0], c[0]), x), (np.int32(0), f32(0), X), X), TypeError, "a tuple of length 3 but the corresponding "
     "component of the carry output is a tuple of length 2, so the lengths do not match"),
    (lambda: scan(lambda c, x: ((X, np.int32(0)), x), (np.int32(0), f32(0)), X), TypeError,
     "  * the input carry component c[0] has type int32[] but the corresponding output carry component has type float32[3], so the "
     "dtypes do not match, and the shapes do not match;\n  * the input carry component c[1] has type float32[] but"),
    (lambda: cond(lambda: True, lambda: 1, lambda: 2), TypeError, "Pred type must be either boolean or number, got <function"),
    (lambda: cond("foo", lambda: 1, lambda: 2), TypeError, "Pred must be a scalar, got foo of type <class 'str'>"),
    (lambda: switch("foo", [lambda: 1, lambda: 2]), TypeError, "Index type must be an integer, got foo"),
    (lambda: switch((1, 1), [lambda: 1, lambda: 2]), TypeError, "Branch index must be scalar, got (1, 1) of shape (2,)"),
    (lambda: scan(lambda c, x: X, 1.0, X), TypeError, "scan body output must be a pair, got float32[3]"),
    (lambda: cond(True, lambda: {"a": X, "b": 1}, lambda: {"a": 1.0, "b": 2}), TypeError, "at path ['a'] has type float32[3]"),
    (lambda: cond(True, lambda x: x, lambda x: x, "a"), TypeError, "operand is of type str at [0]"),
    (lambda: switch(1.0, [lambda: 1, lambda: 2]), TypeError, "Index type must be an integer, got 1.0 as float32"),
    (lambda: switch(X, [lambda: 1, lambda: 2]), TypeError, "Branch index must be scalar"),
    (lambda: switch(1, []), ValueError, "Empty branch sequence"),
    (lambda: switch(1, [lambda: 1, 2]), TypeError, "branches argument should be a sequence of callables"),
    (lambda: switch(1, [lambda: 1, lambda: 2, lambda: 2.0]), TypeError, "The output of branch 0 has type int32[] but the "
     "corresponding output of branch 2 has type float32[]"),
]


@pytest.mark.parametrize("call, error, message", ERRORS, ids=[m for _, _, m in ERRORS])
def test_malformed_calls(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()
