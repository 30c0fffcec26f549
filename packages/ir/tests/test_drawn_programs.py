"""Loops, branches, calls, callbacks, collectives and hints on every dtype, on shapes of rank 0 to 5 with empty axes, NaN,
infinities and the extremes of each type. Each program is seen by the type checker before it runs.

Oracles: Python loops over the sum of two arrays, which wraps or rounds each step in the dtype; so values are equal to the last
bit.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from drawn_arrays import (
    BOOL,
    COMPLEX,
    EVERY,
    INTEGERS,
    NUMBERS,
    REALS,
    cases,
    covers,
    drawn,
    evaluated,
    every_operation_is_covered,
    few,
    in_python,
    more,
    same,
    seeds,
    sizes,
    wide,
    wrapped,
)
from hypothesis import given
from hypothesis import strategies as st

from laminax_ir.key_arrays.keys import PRNGKeyArray
from laminax_ir.ops import backward_logs, checks, collectives, hints, sharding
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.callbacks import debug_callback, inspect_sharding, io_callback, pure_callback
from laminax_ir.ops.calls import (
    CustomJVPCall,
    CustomVJPCall,
    bind_checkpoint,
    call_jaxpr,
    close_over_constants,
    custom_vmap_call_p,
    name_p,
)
from laminax_ir.ops.composite import composite
from laminax_ir.ops.control_flow import cond, platform_dependent, switch
from laminax_ir.ops.custom_partitioning import bind_custom_partitioning
from laminax_ir.ops.linear_call import bind_linear_call
from laminax_ir.ops.loops import fori_loop, scan, while_loop
from laminax_ir.ops.shard_map import bind_shard_map
from laminax_ir.ops.user_operations import UserOperation, bind_user_operation
from laminax_ir.options.config import enable_x64
from laminax_ir.programs.effects import debug_effect
from laminax_ir.programs.jaxpr import called_program
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.tracing.manual_axes import running_along
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.types.abstract_meshes import AbstractMesh, AxisType
from laminax_ir.types.array_layouts import Layout
from laminax_ir.types.avals import get_aval
from laminax_ir.types.partition_specs import P
from laminax_ir.types.shape_dtype_structs import ShapeDtypeStruct


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


def combine(x, y):
    return op.bitwise_xor(x, y) if x.dtype == bool else op.add(x, y)


def combined(x, y):
    """What `combine` computes: the low bits, or the sum in float64 rounded once."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype == bool:
        return np.asarray(x ^ y)
    if x.dtype in INTEGERS:
        return in_python(lambda bits, a, b: a + b, x.dtype, x, y)
    with np.errstate(all="ignore"):
        return np.asarray((wide(x) + wide(y)).astype(x.dtype))


def of_rank(dtype, sizes, seed):
    """One shape for the dtype; over all dtypes every rank comes."""
    return tuple(sizes[:(EVERY.index(dtype) + seed) % 6])


# Loops and branches


@covers("scan")
@few
@given(sizes=sizes, length=st.integers(0, 4), reverse=st.booleans(), unroll=st.one_of(st.booleans(), st.integers(1, 7)), seed=seeds)
def test_scan(sizes, length, reverse, unroll, seed):
    rng = np.random.default_rng(seed)

    def f(init, captured, xs):
        last, ys = scan(lambda c, x: (combine(c, x), (c, combine(x, captured))), init, xs, reverse=reverse, unroll=unroll)
        return [last, *ys]

    for dtype in EVERY:
        shape = of_rank(dtype, sizes, seed)[:4]
        init, captured, xs = (drawn(rng, dtype, s) for s in (shape, shape, (length, *shape)))
        carry, before, sums = init, np.zeros_like(xs), np.zeros_like(xs)
        for i in reversed(range(length)) if reverse else range(length):
            before[i], sums[i] = carry, combined(xs[i], captured)
            carry = combined(carry, xs[i])
        for results in (f(init, captured, xs), evaluated(f, init, captured, xs)):
            for got, expected in zip(results, (carry, before, sums)):
                same(got, expected)


@covers("while")
@few
@given(sizes=sizes, steps=st.integers(0, 5), seed=seeds)
def test_while_loop_up_to_the_greatest_integer(sizes, steps, seed):
    rng = np.random.default_rng(seed)
    for i, dtype in enumerate(EVERY):
        counter = INTEGERS[i % len(INTEGERS)]
        shape = of_rank(dtype, sizes, seed)
        x, total = drawn(rng, dtype, shape), drawn(rng, dtype, shape)
        info = ml_dtypes.iinfo(counter)
        count = min(steps, int(info.max) - int(info.min))
        first, last = np.array(int(info.max) - count, counter), np.array(int(info.max), counter)

        def f(first, last, x, total, one=np.ones((), counter)):
            return list(while_loop(lambda c: op.lt(c[0], last), lambda c: (op.add(c[0], one), combine(c[1], x)), (first, total)))

        def counted(first, last, x, total):
            return [fori_loop(first, last, lambda i, c: combine(c, x), total)]

        args = first, last, x, total
        for _ in range(count):
            total = combined(total, x)
        same(evaluated(f, *args)[0], last)
        same(evaluated(f, *args)[1], total)
        if counter.itemsize > 1:
            same(evaluated(counted, *args)[0], total)


@covers("cond")
@few
@given(sizes=sizes, branches=st.integers(1, 4), seed=seeds)
def test_switch(sizes, branches, seed):
    rng = np.random.default_rng(seed)
    for k, dtype in enumerate(EVERY):
        index, shape = [d for d in INTEGERS if d.itemsize > 1 or d.name.endswith("int8")][k % 8], of_rank(dtype, sizes, seed)
        operands = [drawn(rng, dtype, shape) for _ in range(branches)]
        f = lambda i, *xs: [switch(i, [lambda *xs, k=k: combine(xs[k], xs[0]) for k in range(branches)], *xs)]
        for i in (np.iinfo(index).min, np.iinfo(index).max, 0, 2):
            chosen = operands[min(max(wrapped(int(i), np.dtype(np.int32)), 0), branches - 1)]  # as in JAX, an int32 first
            same(evaluated(f, np.array(i, index), *operands)[0], combined(chosen, operands[0]))


@covers("cond")
@few
@given(sizes=sizes, seed=seeds)
def test_cond_on_a_number_of_any_kind(sizes, seed):
    rng = np.random.default_rng(seed)
    f = lambda p, x, y: list(cond(p, lambda x, y: (x, combine(x, y)), lambda x, y: (y, x), x, y))
    for i, dtype in enumerate(EVERY):
        shape = of_rank(dtype, sizes, seed)
        x, y = drawn(rng, dtype, shape), drawn(rng, dtype, shape)
        for pred in (BOOL + REALS)[i % 4::4]:
            p = drawn(rng, pred, ())
            for got, expected in zip(evaluated(f, p, x, y), (x, combined(x, y)) if wide(p) != 0 else (y, x)):  # NaN is not zero
                same(got, expected)


@covers("platform_index", "cond")
@few
@given(sizes=sizes, seed=seeds)
def test_the_reference_is_a_cpu(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype in EVERY:
        x, y = (drawn(rng, dtype, of_rank(dtype, sizes, seed)) for _ in range(2))
        f = lambda x, y: [platform_dependent(x, y, cuda=lambda x, y: x, cpu=combine, default=lambda x, y: y),
                          platform_dependent(x, y, cuda=lambda x, y: x, default=lambda x, y: y)]
        got, other = evaluated(f, x, y)
        same(got, combined(x, y))
        same(other, y)


# Calls and callbacks


def custom_vmap_call(f, *xs):
    program, consts = close_over_constants(stage(f, [get_aval(x) for x in xs]))
    return custom_vmap_call_p.bind(*consts, *xs, call=program, rule=None, name="f")


def linear_call(f, *xs):
    program = stage(f, [get_aval(x) for x in xs])
    return bind_linear_call(program, None, xs[:1], xs[1:], "f")


class Expanded(UserOperation):
    def __init__(self, f):
        super().__init__("f")
        self.f = f

    def run(self, *xs):
        return self.f(*xs)


def partitioned(f, *xs):
    program, consts = close_over_constants(stage(f, [get_aval(x) for x in xs]))
    return bind_custom_partitioning(program, *consts, *xs, partitioner=None, sharding_rule="", name="f")


def shard_map(f, *xs):
    mesh, program = AbstractMesh((1,), ("i",), AxisType.Auto), stage(f, [get_aval(x) for x in xs])
    return bind_shard_map(program, *xs, mesh=mesh, in_specs=[P()] * len(xs), out_specs=[P()] * len(program.out_avals),
                          manual_axes=("i",))


CALLS = {
    "composite": lambda f, *xs: composite(f, "test.f")(*xs),
    "jit": lambda f, *xs: call_jaxpr(stage(f, [get_aval(x) for x in xs]), *xs, name="f"),
    "checkpoint": lambda f, *xs: bind_checkpoint(stage(f, [get_aval(x) for x in xs]), *xs, name="f", prevent_cse=True, policy=None),
    "custom_jvp_call": lambda f, *xs: CustomJVPCall(f, None, xs, "f").bind(),
    "custom_vjp_call": lambda f, *xs: CustomVJPCall(f, None, None, xs, "f").bind(),
    "custom_vmap_call": custom_vmap_call,
    "linear_call": linear_call,
    "call_hi_primitive": lambda f, *xs: bind_user_operation(Expanded(f), xs),
    "custom_partitioning": partitioned,
    "shard_map": shard_map,
    "name": lambda f, *xs: [name_p.bind(y, name="y") for y in f(*xs)],
}


@pytest.mark.parametrize("name", CALLS)
def test_the_program_of_a_call(name):
    x, y = np.float32([1, 2]), np.float32([3, -4])
    program = stage(lambda x, y: CALLS[name](lambda x, y: [combine(x, y), y], x, y), [get_aval(x), get_aval(y)])
    (eqn,) = [eqn for eqn in program.eqns if eqn.primitive.name == name][:1]
    called = called_program(eqn)
    if name in ("name", "shard_map"):  # no call, and one whose program has parts of the operands
        assert called is None
    else:
        assert [v.aval for v in eqn.invars] == called.in_avals
        for got, expected in zip(evaluate(called, x, y), (combined(x, y), y)):
            same(got, expected)


@pytest.mark.parametrize("name", CALLS)
@covers(*CALLS, by="name")
@few
@given(sizes=sizes, seed=seeds)
def test_a_call_is_the_function(name, sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype in EVERY:
        x, y, constant = (drawn(rng, dtype, of_rank(dtype, sizes, seed)) for _ in range(3))
        call = lambda x, y: CALLS[name](lambda x, y: [combine(x, y), y, combine(y, constant)], x, y)  # noqa: B023
        assert name in [eqn.primitive.name for eqn in stage(call, [get_aval(x), get_aval(y)]).eqns]
        for results in (call(x, y), evaluated(call, x, y)):
            for got, expected in zip(results, (combined(x, y), y, combined(y, constant))):
                same(got, expected)


CALLBACKS = {"pure_callback": pure_callback, "io_callback": io_callback}


@pytest.mark.parametrize("name", CALLBACKS)
@covers(*CALLBACKS, by="name")
@few
@given(sizes=sizes, seed=seeds)
def test_callbacks(name, sizes, seed):
    rng = np.random.default_rng(seed)
    for i, dtype in enumerate(EVERY):
        shape = of_rank(dtype, sizes, seed)
        x, y = drawn(rng, dtype, shape), drawn(rng, EVERY[(i * 5) % len(EVERY)], shape[::-1])
        seen = []

        def callback(x, y, seen=seen):
            seen.append((x, y))
            return np.transpose(y), combined(x, x)

        announced = ShapeDtypeStruct(shape, y.dtype), ShapeDtypeStruct(shape, x.dtype)
        results = evaluated(lambda x, y: list(CALLBACKS[name](callback, announced, x, y)), x, y)  # noqa: B023
        ((got_x, got_y),) = seen
        for got, expected in ((got_x, x), (got_y, y), (results[0], y.T), (results[1], combined(x, x))):
            same(got, expected)


@covers("debug_callback")
@few
@given(sizes=sizes, seed=seeds, ordered=st.booleans())
def test_debug_callbacks_see_each_value_once(sizes, seed, ordered):
    rng = np.random.default_rng(seed)
    for dtype in EVERY:
        x, y = (drawn(rng, dtype, of_rank(dtype, sizes, seed)) for _ in range(2))
        seen = []

        def f(x, y, seen=seen):
            total = combine(x, y)
            debug_callback(lambda label, *, x, total: seen.append((label, x, total)), "sum", x=x, total=total, ordered=ordered)
            return [total]

        same(evaluated(f, x, y)[0], combined(x, y))
        ((label, got, total),) = seen
        assert label == "sum"
        same(got, x)
        same(total, combined(x, y))


@covers("inspect_sharding")
@few
@given(sizes=sizes, seed=seeds)
def test_inspection_of_a_sharding_changes_nothing(sizes, seed):
    """It stays in the program, as an effect; NumPy's arrays, on which the reference computes, have no sharding to look at."""
    rng = np.random.default_rng(seed)
    for dtype in EVERY:
        x, y = (drawn(rng, dtype, of_rank(dtype, sizes, seed)) for _ in range(2))
        seen = []

        def f(x, y, seen=seen):
            total = combine(x, y)
            inspect_sharding(total, seen.append)
            return [x, total]

        program = stage(f, [get_aval(x), get_aval(y)])
        assert "inspect_sharding" in [eqn.primitive.name for eqn in program.eqns]
        assert program.effects == {debug_effect}
        for results in (f(x, y), evaluated(f, x, y)):
            for got, expected in zip(results, (x, combined(x, y)), strict=True):
                same(got, expected)
        assert not seen


# Collectives and placement


@covers("all_gather", "all_to_all", "ppermute", "pmax", "pmin", "psum", "psum_shared", "reduce_scatter", "axis_index", "pvary")
@few
@given(sizes=sizes, seed=seeds)
def test_collectives_of_one_participant(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype in EVERY:
        x = drawn(rng, dtype, (1, *of_rank(dtype, sizes, seed)))
        last = x.ndim - 1
        alone = {
            "all_gather": (lambda x: collectives.all_gather(x, "i"), x[None]),
            "all_gather tiled": (lambda x: collectives.all_gather(x, "i", axis=last, tiled=True), x),  # noqa: B023
            "all_to_all": (lambda x: collectives.all_to_all(x, "i", 0, last), np.moveaxis(x, 0, -1)),  # noqa: B023
            "ppermute": (lambda x: collectives.ppermute(x, "i", [(0, 0)]), x),
            "pvary": (lambda x: collectives.pvary_p.bind(x, axes=("i",)), x),
            "nobody sends": (lambda x: collectives.ppermute(x, "i", []), np.zeros_like(x)),
        }
        if dtype not in COMPLEX:  # which have no order
            alone["pmax"], alone["pmin"] = (lambda x: collectives.pmax(x, "i"), x), (lambda x: collectives.pmin(x, "i"), x)
        if dtype in NUMBERS:
            alone["psum"] = lambda x: collectives.psum(x, "i"), x
            alone["psum_scatter"] = lambda x: collectives.psum_scatter(x, "i"), x[0]
            alone["psum_shared"] = lambda x: collectives.psum_shared(x, x, ("i",)), x
        else:
            alone["psum"] = lambda x: collectives.psum(x, "i"), x.astype(np.int64)  # the sum of bools is their number
        with extend_axis_env(("i", 1)):
            for f, expected in alone.values():
                same(*evaluated(lambda x: [f(x)], x), expected)  # noqa: B023
            same(*evaluated(lambda: [collectives.axis_index("i")]), np.int32(0))


@covers("preduced", "vary_unreduced_cast", "reduced_vary_cast", "unreduced_psum", "unreduced_reduce_scatter", "all_gather_reduced")
@few
@given(sizes=sizes, seed=seeds)
def test_open_sums_of_one_device(sizes, seed):
    rng = np.random.default_rng(seed)
    for dtype in NUMBERS:
        x = drawn(rng, dtype, (1, *of_rank(dtype, sizes, seed)))
        opened = lambda x: collectives.pcast(collectives.pcast(x, "i", to="varying"), "i", to="unreduced")
        for f, expected in [
            (lambda x: collectives.psum(opened(x), "i"), x),  # noqa: B023
            (lambda x: collectives.pcast(collectives.pcast(x, "i", to="reduced"), "i", to="varying"), x),
            (lambda x: collectives.psum_scatter(opened(x), "i"), x[0]),  # noqa: B023
            (lambda x: collectives.all_gather(collectives.pcast(x, "i", to="varying"), "i", axis=1, to="reduced"), x[:, None])]:
            with running_along([("i", 1)], True, AbstractMesh((1,), ("i",), axis_types=AxisType.Explicit)):
                same(*evaluated(lambda x: [f(x)], x), expected)  # noqa: B023


@covers("sharding_constraint", "layout_constraint", "device_put", "reshard", "stage", "todense", "dce_sink", "xla_metadata_value")
@few
@given(sizes=sizes, seed=seeds)
def test_placement_and_hints_change_nothing(sizes, seed):
    rng = np.random.default_rng(seed)

    def f(x, y):
        hints.dce_sink([x, y])
        return [sharding.sharding_constraint_p.bind(x, sharding=None), sharding.device_put_p.bind(y, sharding=None),
                sharding.reshard_p.bind(x, dst=None), sharding.layout_constraint_p.bind(y, layout=Layout(tuple(range(np.ndim(y)))))]

    for dtype, shape in cases(EVERY, sizes):
        x, y = drawn(rng, dtype, shape), drawn(rng, dtype, shape[::-1])
        for got, expected in zip(evaluated(f, x, y), (x, y, x, y), strict=True):
            same(got, expected)
        same(hints.stage(x), x)
        same(hints.todense(x), x)
        same(hints.with_xla_metadata(x, layer=1), x)


@covers("check")
@few
@given(sizes=sizes, seed=seeds, holds=st.booleans())
def test_a_check_raises_if_it_fails(sizes, seed, holds):
    rng = np.random.default_rng(seed)

    def f(pred, x):
        checks.check(pred, "{0} and {shown[a]}", x, shown={"a": x})
        return [x]

    for dtype, shape in cases(EVERY, sizes):
        x = drawn(rng, dtype, shape)
        program = stage(f, [get_aval(np.bool_(holds)), get_aval(x)])
        assert program.effects == {checks.check_effect}
        if holds:
            same(evaluate(program, np.bool_(True), x)[0], x)
        else:
            with pytest.raises(checks.FailedCheckError) as caught:
                evaluate(program, np.bool_(False), x)
            assert str(caught.value) == f"{x} and {x} (`check` failed)"


@covers("backward_log")
@few
@given(sizes=sizes, seed=seeds)
def test_logs_of_backward_rules_do_nothing_by_themselves(sizes, seed):
    rng = np.random.default_rng(seed)

    def f(x):
        backward_logs.log({"x": x, "twice": [x, 2.0]}, "f")
        return [x]

    for dtype, shape in cases(EVERY, sizes):
        x = drawn(rng, dtype, shape)
        program = stage(f, [get_aval(x)])
        assert [eqn.primitive.name for eqn in program.eqns] == ["backward_log"] and not program.effects
        assert len(program.eqns[0].invars) == 3 and not program.eqns[0].outvars
        same(evaluate(program, x)[0], x)


# Random keys travel through programs as other values do


@covers("scan", "cond", "jit")
@more
@given(size=st.integers(0, 3), take=st.booleans())
def test_keys_go_through_programs(size, take):
    keys = PRNGKeyArray("threefry2x32", np.arange(2 * size, dtype=np.uint32).reshape(size, 2))
    other = PRNGKeyArray("threefry2x32", np.arange(2 * size, 4 * size, dtype=np.uint32).reshape(size, 2))
    call = lambda p, a, b: [cond(p, lambda a, b: a, lambda a, b: b, a, b)]
    program = stage(call, [get_aval(np.bool_(True)), get_aval(keys), get_aval(other)])
    (got,) = evaluate(stage(lambda p, a, b: call_jaxpr(program, p, a, b, name="f"), program.in_avals), np.bool_(take), keys, other)
    np.testing.assert_array_equal(got.base, (keys if take else other).base)
    _, scanned = scan(lambda carry, k: (carry, k), np.float32(0), keys, reverse=True)
    np.testing.assert_array_equal(scanned.base, keys.base)


def test_every_operation_of_the_families_is_drawn():
    every_operation_is_covered(__name__)
