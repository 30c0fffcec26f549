"""How programs are cut into regions: run one after the other, they compute what the program does."""

import functools
from dataclasses import replace

import numpy as np
import pytest

from laminax_ir.ops.callbacks import debug_callback
from laminax_ir.ops.calls import bind_checkpoint, call_jaxpr
from laminax_ir.ops.contraction import dot
from laminax_ir.ops.elementwise import add, mul, sin
from laminax_ir.programs.effects import ref_effect
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import regions
from laminax_lowering.regions import RegionPlan, WholeProgram, plan_regions, work

MATRIX = ShapedArray((8, 8), np.dtype(np.float32))
CALLS, EQUATIONS = regions.REGION_MIN_CALLS, regions.OUTLINE_MIN_EQUATIONS


@pytest.fixture(autouse=True)
def small_blocks_count(monkeypatch):
    monkeypatch.setattr(regions, "REGION_MIN_WORK", {"cpu": 1000, "tpu": 10**9})
    monkeypatch.setattr(regions, "USUAL_WORK", {})
    for limit in ("MOST_MEMORY", "MOST_TIME", "MOST_COMPILING", "WORTHWHILE"):  # where the cuts are, whether or not they win
        monkeypatch.setattr(regions, limit, float("inf"))


def block(length=EQUATIONS):
    """(w, x) -> (x', y): products, and sines."""
    def fun(w, x):
        y = dot(w, x)
        for _ in range(length - 3):
            y = sin(y)
        return [add(x, y), mul(y, w)]
    return stage(fun, [MATRIX, MATRIX], "block")


def staged(fun, count):
    return stage(fun, [MATRIX] * count, "program")


def values(count):
    rng = np.random.default_rng(count)
    return [rng.normal(size=(8, 8)).astype(np.float32) for _ in range(count)]


def run_regions(closed, plan, args):
    """The regions in turn; a value that is dead is gone, and a result must not be an argument."""
    found = dict(enumerate((*closed.consts, *args)))
    for region in plan.regions:
        outs = evaluate(region.program, *[found[i] for i in region.operands])
        assert not set(region.results) & set(found)
        found.update(zip(region.results, outs))
        for i in region.dead:
            del found[i]
    assert not set(plan.results) & set(range(len(closed.consts) + len(args)))
    assert len(set(plan.results)) == len(plan.results)
    return [found[i] for i in plan.results]


def is_whole(closed, platform="cpu"):
    plan = plan_regions(closed, platform)
    assert isinstance(plan, (RegionPlan, WholeProgram))
    return isinstance(plan, WholeProgram)


def check(closed, distinct, donated=()):
    plan = plan_regions(closed, "cpu", donated)
    args = values(len(closed.in_avals))
    for found, expected in zip(run_regions(closed, plan, args), evaluate(closed, *args), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert len({region.program for region in plan.regions}) == distinct
    return plan


def chain(called, weights, x):
    for w in weights:
        x, _ = call_jaxpr(called, w, x, name="block")
    return x


def test_each_call_of_a_block_and_what_is_between_is_a_region():
    called = block()
    plan = check(staged(lambda x, *ws: [sin(chain(called, ws, sin(x)))], 1 + CALLS), distinct=2)  # the two sines are equal too
    assert len(plan.regions) == CALLS + 2
    first, second = plan.regions[1], plan.regions[2]
    assert first.program is second.program and first.results[0] in second.operands


@pytest.mark.parametrize("count, usual, expected", [
    (2 * CALLS, 10**6, 4),  # of which two blocks have more than enough
    (5 * CALLS, 4000, 5),  # four blocks, 1024 operations each in their products
    (5 * CALLS, 1000, 5 * CALLS),  # one is enough
    (2 * CALLS - 1, 10**6, 2 * CALLS - 1),  # in twos they would be too few
])
def test_calls_of_small_blocks_are_taken_together(monkeypatch, count, usual, expected):
    monkeypatch.setattr(regions, "USUAL_WORK", {"cpu": usual})
    called = block()
    plan = check(staged(lambda x, *ws: [chain(called, ws, x)], 1 + count), distinct=1)
    assert len(plan.regions) == expected
    inside = plan.regions[0].program.jaxpr.eqns
    assert all(eqn.source_info.name_stack[-1] == "jit(block)" for eqn in inside)


def test_calls_of_two_kinds_of_small_blocks_are_taken_together(monkeypatch):
    monkeypatch.setattr(regions, "USUAL_WORK", {"cpu": 10**6})
    one, other = block(), block(EQUATIONS + 2)
    def fun(x, *ws):
        return [chain(other, ws, mul(y := chain(one, ws, x), y))]
    assert len(check(staged(fun, 1 + 2 * CALLS), distinct=3).regions) == 9


def test_checkpointed_calls_of_small_blocks_stay_apart(monkeypatch):
    monkeypatch.setattr(regions, "USUAL_WORK", {"cpu": 10**6})
    called = block()
    def fun(x, *ws):
        for w in ws:
            x, _ = bind_checkpoint(called, w, x, name="block", prevent_cse=True, policy=None)
        return [x]
    assert len(check(staged(fun, 1 + 2 * CALLS), distinct=1).regions) == 2 * CALLS


def test_blocks_traced_anew_are_one_program():
    plan = check(staged(lambda x, *ws: [*call_jaxpr(staged(lambda y, *vs: [chain(block(), [v], y) for v in vs], 1 + len(ws)),
                                                    x, *ws, name="outer")], 1 + CALLS), distinct=1)
    assert len(plan.regions) == CALLS


def test_results_that_are_arguments_constants_or_twice_the_same_are_copies():
    called, constant = block(), values(1)[0]
    def fun(x, unused, *ws):
        y = chain(called, ws, x)
        return [y, x, y, np.float32(2.0), add(constant, constant), constant, ws[0]]
    check(staged(fun, 2 + CALLS), distinct=3)


def test_several_kinds_of_blocks():
    one, other = block(), block(EQUATIONS + 2)
    def fun(x, *ws):
        x = chain(one, ws, x)
        return [chain(other, reversed(ws), mul(x, x))]
    assert len(check(staged(fun, 1 + CALLS), distinct=3).regions) == 2 * CALLS + 1


def test_checkpointed_calls_are_blocks():
    called = block()
    def fun(x, *ws):
        for w in ws:
            x, _ = bind_checkpoint(called, w, x, name="block", prevent_cse=True, policy=None)
        return [x]
    assert len(check(staged(fun, 1 + CALLS), distinct=1).regions) == CALLS


def test_unused_equations_are_left_out():
    called = block()
    def fun(x, *ws):
        y = sin(x)
        for w in ws:
            call_jaxpr(called, w, y, name="block")
        return [chain(called, ws, x)]
    assert len(check(staged(fun, 1 + CALLS), distinct=1).regions) == CALLS


def test_what_dies_may_be_overwritten_and_arguments_only_when_donated():
    called = block()
    closed = staged(lambda x, *ws: [chain(called, ws, sin(x))], 1 + CALLS)
    (flags,) = [plan_flags for program, plan_flags in check(closed, 2).donated.items() if len(plan_flags) == 2]
    assert flags == (False, True)  # weights are the caller's; the value that goes through is nobody's
    plan = check(closed, 2, donated=[True, *[False] * CALLS])
    assert plan.consumed == (0,) and not plan.unusable_donations
    plan = check(closed, 2, donated=[True, True, *[False] * (CALLS - 1)])
    assert plan.consumed == (0,) and len(plan.unusable_donations) == 1  # there is one result to take a buffer


def test_weights_that_are_used_again_are_overwritten_at_their_last_use():
    called = block()
    def fun(x, *ws):
        x = chain(called, ws, x)
        return [x, *[add(w, x) for w in ws]]
    plan = check(staged(fun, 1 + CALLS), 2, donated=[False] + [True] * CALLS)
    assert plan.donated[plan.regions[0].program][0] is False
    assert sum(plan.donated[plan.regions[-1].program]) == CALLS


@pytest.mark.parametrize("times, length", [(CALLS - 1, EQUATIONS), (CALLS, EQUATIONS - 1)])
def test_few_or_small_blocks_are_no_regions(times, length):
    called = block(length)
    assert is_whole(staged(lambda x, *ws: [chain(called, ws, x)], 1 + times))


def test_little_work_is_no_region_and_how_much_depends_on_the_platform():
    called = block()
    closed = staged(lambda x, *ws: [chain(called, ws, x)], 1 + CALLS)
    assert not is_whole(closed) and is_whole(closed, "tpu")


def test_a_fifth_of_a_second_of_compiling_is_worth_it_where_the_step_takes_no_longer():
    def region(*operands):
        return regions.Region("block", program, operands, (), ())
    program = ClosedJaxpr(block().jaxpr)
    whole = regions.Estimate(peak=1e6, time=1e8, least_time=1e8, kernels=100, overhead=1000.0)
    lost = functools.partial(regions._what_is_lost, [region(0), region(1)], whole, most_time=1.05)
    with pytest.MonkeyPatch.context() as patch:
        for limit, value in {"MOST_MEMORY": 1.1, "MOST_TIME": 1.05, "MOST_COMPILING": 1.1, "WORTHWHILE": 0.7}.items():
            patch.setattr(regions, limit, value)
        assert lost(replace(whole, overhead=790.0)) == ""
        assert lost(replace(whole, overhead=810.0)) == "regions would gain little"
        assert lost(replace(whole, overhead=790.0, time=1.01e8)) == "regions would gain little"
        assert lost(replace(whole, overhead=100.0, time=1.04e8)) == ""
        assert regions._can_win(replace(whole, kernels=100, overhead=220.0)) and not regions._can_win(replace(whole, overhead=160.0))


def test_what_differs_between_the_blocks_keeps_the_program_whole():
    called = block()
    def fun(x, *ws):
        for i, w in enumerate(ws):
            x, _ = call_jaxpr(called, w, mul(x, np.float32(i)), name="block")
        return [x]
    assert is_whole(staged(fun, 1 + CALLS))


def test_references_keep_the_program_whole():
    closed = staged(lambda x, *ws: [chain(block(), ws, x)], 1 + CALLS)
    with_effect = ClosedJaxpr(closed.jaxpr.replace(effects={ref_effect}), closed.consts)
    assert not is_whole(closed) and is_whole(with_effect)


def test_effects_stay_in_their_regions_and_in_order():
    seen = []
    called = block()
    def noted(w, x):
        debug_callback(lambda x: seen.append(np.array(x)), x, ordered=True)
        return call_jaxpr(called, w, x, name="inner", inline=True)
    noted = stage(noted, [MATRIX, MATRIX], "noted")
    closed = staged(lambda x, *ws: [chain(noted, ws, x)], 1 + CALLS)
    plan, args = plan_regions(closed, "cpu"), values(1 + CALLS)
    assert isinstance(plan, RegionPlan)
    assert [bool(region.program.effects) for region in plan.regions].count(True) == CALLS
    run_regions(closed, plan, args)
    by_regions, seen[:] = [*seen], []
    evaluate(closed, *args)
    np.testing.assert_array_equal(by_regions, seen)


def test_what_differs_between_blocks_and_has_effects_is_not_moved_before_them():
    def fun(x, *ws):
        for i, w in enumerate(ws):
            debug_callback(lambda x, i=i: None, w)
            for _ in range(EQUATIONS):
                x = sin(x)
            x = dot(x, w)
        return [x]
    assert is_whole(staged(fun, 1 + CALLS))


def test_work_counts_products_and_loops():
    assert work(staged(lambda x, y: [sin(dot(x, y))], 2).jaxpr, {}) == 2 * 8 * 8 * 8 + 64
    from laminax_ir.ops.loops import scan
    closed = staged(lambda x: [scan(lambda c, _: (sin(c), None), x, None, length=10)[0]], 1)
    assert work(closed.jaxpr, {}) == 640
