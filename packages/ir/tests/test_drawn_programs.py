"""Loops, branches, calls, callbacks, collectives, cumulative and windowed operations on arrays that hypothesis draws: dtypes,
shapes of rank 0 to 5 with empty axes, NaN, infinities, the extremes of each type.

Oracles: Python loops over NumPy's own arithmetic, which rounds and wraps each step in the dtype; so most values are equal
to the last bit, and a tolerance stands only where two ways of summing are compared.
"""

from __future__ import annotations


import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.avals import ShapeDtypeStruct, get_aval
from laminax_ir.check import check_jaxpr
from laminax_ir.ops import collectives
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.callbacks import io_callback, pure_callback
from laminax_ir.ops.calls import CustomJVPCall, CustomVJPCall, bind_checkpoint, call_jaxpr, name_p
from laminax_ir.ops.control_flow import cond, fori_loop, scan, switch, while_loop
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.staging import stage
from laminax_ir.trace import extend_axis_env

FLOATS = ["float32", "float16", "bfloat16"]
INTEGERS = ["int8", "int32", "uint8"]
few = settings(max_examples=25, derandomize=True, deadline=None)
shapes = st.lists(st.integers(0, 3), max_size=5).map(tuple)
slices = st.lists(st.integers(0, 3), max_size=4).map(tuple)  # of an array with one axis more
real = st.sampled_from(FLOATS + INTEGERS)
every = st.sampled_from(FLOATS + INTEGERS + ["bool", "complex64"])
seeds = st.integers(0, 2**32 - 1)
kind = {dtype: "float" for dtype in FLOATS} | {dtype: "integer" for dtype in INTEGERS} | {"bool": "bool", "complex64": "complex"}


def drawn(rng, dtype, shape):
    """Ordinary values, a third of them special ones."""
    if kind[dtype] == "complex":
        return (drawn(rng, "float32", shape) + np.complex64(1j) * rng.normal(size=shape)).astype(dtype)
    if kind[dtype] == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    info = (ml_dtypes.iinfo if kind[dtype] == "integer" else ml_dtypes.finfo)(dtype)
    if kind[dtype] == "integer":
        ordinary = rng.integers(info.min, info.max, shape, endpoint=True, dtype=dtype)
        special_values = np.array([info.min, info.max, 0, 1], dtype)
    else:
        ordinary = (rng.normal(size=shape) * 10).astype(dtype)
        special_values = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, info.max, info.min], dtype)
    chosen = special_values[rng.integers(0, len(special_values), shape)]
    return np.asarray(np.where(rng.random(shape) < 1 / 3, chosen, ordinary), dtype)


def same(got, expected):
    """Equal in dtype, shape and every value."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.dtype, got.shape) == (expected.dtype, expected.shape)
    for part in (np.real, np.imag) if got.dtype.kind == "c" else (lambda x: x,):
        np.testing.assert_array_equal(part(got).astype(np.float64), part(expected).astype(np.float64))


def evaluated(f, *args):
    """The results of a function of flat values, once it is a program that the type checker has seen."""
    closed = stage(f, [get_aval(x) for x in args])
    check_jaxpr(closed)
    results = evaluate(closed, *args)
    assert [(x.dtype, x.shape) for x in map(np.asarray, results)] == [(a.dtype, a.shape) for a in closed.out_avals]
    return results


def combine(x, y):
    return op.bitwise_xor(x, y) if x.dtype == bool else op.add(x, y)


def combined(x, y):
    """What `combine` computes, by NumPy; an array also at rank 0."""
    with np.errstate(all="ignore"):
        return np.asarray(x ^ y if x.dtype == bool else x + y, x.dtype)


# Loops and branches


@few
@given(length=st.integers(0, 5), shape=slices, dtype=every, reverse=st.booleans(),
       unroll=st.one_of(st.booleans(), st.integers(1, 7)), seed=seeds)
def test_scan(length, shape, dtype, reverse, unroll, seed):
    rng = np.random.default_rng(seed)
    init, captured, xs = (drawn(rng, dtype, s) for s in (shape, shape, (length, *shape)))

    def f(init, captured, xs):
        last, ys = scan(lambda c, x: (combine(c, x), (c, combine(x, captured))), init, xs, reverse=reverse, unroll=unroll)
        return [last, *ys]

    carry, before, sums = init, np.zeros_like(xs), np.zeros_like(xs)
    for i in reversed(range(length)) if reverse else range(length):
        before[i], sums[i] = carry, combined(xs[i], captured)
        carry = combined(carry, xs[i])
    for results in (f(init, captured, xs), evaluated(f, init, captured, xs)):
        for got, expected in zip(results, (carry, before, sums)):
            same(got, expected)


@few
@given(steps=st.integers(0, 5), counter=st.sampled_from(INTEGERS), shape=shapes, dtype=every, seed=seeds)
def test_while_loop_up_to_the_greatest_integer(steps, counter, shape, dtype, seed):
    rng = np.random.default_rng(seed)
    x, total = drawn(rng, dtype, shape), drawn(rng, dtype, shape)
    last = np.array(np.iinfo(counter).max, counter)
    first = np.array(int(last) - steps, counter)

    def f(first, last, x, total):
        one = np.ones((), counter)
        return list(while_loop(lambda c: op.lt(c[0], last), lambda c: (op.add(c[0], one), combine(c[1], x)), (first, total)))

    def counted(first, last, x, total):
        return [fori_loop(first, last, lambda i, c: combine(c, x), total)]

    args = first, last, x, total
    for _ in range(steps):
        total = combined(total, x)
    same(evaluated(f, *args)[0], last)
    same(evaluated(f, *args)[1], total)
    same(evaluated(counted, *args)[0], total)


@few
@given(index=st.sampled_from(INTEGERS), branches=st.integers(1, 4), shape=shapes, dtype=every, seed=seeds)
def test_switch(index, branches, shape, dtype, seed):
    rng = np.random.default_rng(seed)
    operands = [drawn(rng, dtype, shape) for _ in range(branches)]
    for i in (np.iinfo(index).min, np.iinfo(index).max, 0, 1, 2):
        chosen = operands[min(max(i, 0), branches - 1)]
        f = lambda i, *xs: [switch(i, [lambda *xs, k=k: combine(xs[k], xs[0]) for k in range(branches)], *xs)]
        same(evaluated(f, np.array(i, index), *operands)[0], combined(chosen, operands[0]))


@few
@given(pred=real, shape=shapes, dtype=every, seed=seeds)
def test_cond(pred, shape, dtype, seed):
    rng = np.random.default_rng(seed)
    p, x, y = drawn(rng, pred, ()), drawn(rng, dtype, shape), drawn(rng, dtype, shape)
    f = lambda p, x, y: list(cond(p, lambda x, y: (x, combine(x, y)), lambda x, y: (y, x), x, y))
    for got, expected in zip(evaluated(f, p, x, y), (x, combined(x, y)) if p != 0 else (y, x)):  # NaN is not zero
        same(got, expected)


# Calls and callbacks

CALLS = {
    "jit": lambda f, *xs: call_jaxpr(stage(f, [get_aval(x) for x in xs]), *xs, name="f"),
    "checkpoint": lambda f, *xs: bind_checkpoint(stage(f, [get_aval(x) for x in xs]), *xs, name="f", prevent_cse=True, policy=None),
    "custom_jvp_call": lambda f, *xs: CustomJVPCall(f, None, xs, "f").bind(),
    "custom_vjp_call": lambda f, *xs: CustomVJPCall(f, None, None, xs, "f").bind(),
    "name": lambda f, *xs: [name_p.bind(y, name="y") for y in f(*xs)],
}


@pytest.mark.parametrize("name", CALLS)
@few
@given(shape=shapes, dtype=every, seed=seeds)
def test_a_call_is_the_function(name, shape, dtype, seed):
    rng = np.random.default_rng(seed)
    x, y, constant = (drawn(rng, dtype, shape) for _ in range(3))
    call = lambda x, y: CALLS[name](lambda x, y: [combine(x, y), y, combine(y, constant)], x, y)
    assert name in [eqn.primitive.name for eqn in stage(call, [get_aval(x), get_aval(y)]).eqns]
    for results in (call(x, y), evaluated(call, x, y)):
        for got, expected in zip(results, (combined(x, y), y, combined(y, constant))):
            same(got, expected)


@pytest.mark.parametrize("bind", [pure_callback, io_callback], ids=lambda f: f.__name__)
@few
@given(shape=shapes, dtype=every, other=every, seed=seeds)
def test_callbacks(bind, shape, dtype, other, seed):
    rng = np.random.default_rng(seed)
    x, y = drawn(rng, dtype, shape), drawn(rng, other, shape[::-1])
    seen = []

    def callback(x, y):
        seen.append((x, y))
        return np.transpose(y), combined(x, x)

    results = evaluated(lambda x, y: list(bind(callback, (ShapeDtypeStruct(shape, y.dtype), ShapeDtypeStruct(shape, x.dtype)),
                                               x, y)), x, y)
    ((got_x, got_y),) = seen
    for got, expected in ((got_x, x), (got_y, y), (results[0], y.T), (results[1], combined(x, x))):
        same(got, expected)


# Collectives


@few
@given(shape=slices, dtype=every, seed=seeds)
def test_collectives_of_one_participant(shape, dtype, seed):
    x = drawn(np.random.default_rng(seed), dtype, (1, *shape))
    alone = {
        "all_gather": (lambda x: collectives.all_gather(x, "i"), x[None]),
        "all_gather tiled": (lambda x: collectives.all_gather(x, "i", axis=x.ndim - 1, tiled=True), x),
        "all_to_all": (lambda x: collectives.all_to_all(x, "i", 0, x.ndim - 1), np.moveaxis(x, 0, -1)),
        "ppermute": (lambda x: collectives.ppermute(x, "i", [(0, 0)]), x),
        "nobody sends": (lambda x: collectives.ppermute(x, "i", []), np.zeros_like(x)),
        "pmax": (lambda x: collectives.pmax(x, "i"), x),
        "pmin": (lambda x: collectives.pmin(x, "i"), x),
    }
    if dtype != "bool":  # whose sum is an int32
        alone["psum"] = lambda x: collectives.psum(x, "i"), x
        alone["psum_scatter"] = lambda x: collectives.psum_scatter(x, "i"), x[0]
    if dtype == "complex64":  # which has no order
        del alone["pmax"], alone["pmin"]
    with extend_axis_env(("i", 1)):
        for f, expected in alone.values():
            same(*evaluated(lambda x: [f(x)], x), expected)  # noqa: B023  (called at once)
