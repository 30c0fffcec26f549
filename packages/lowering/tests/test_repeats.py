"""Blocks that a plain loop wrote out are found, and make regions that compute what the program does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laminax_ir.ops.contraction import dot
from laminax_ir.ops.convolution import conv
from laminax_ir.ops.elementwise import add, cos, mul, sin
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.ops.shape import reshape
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import regions
from laminax_lowering.planning.operation_costs import heavy_work
from laminax_lowering.planning.repeats import Run, find_runs
from laminax_lowering.regions import WholeProgram, plan_regions

N = 8
MATRIX = ShapedArray((N, N), np.dtype(np.float32))
PRODUCT = 2 * N**3
COUNT, LENGTH = regions.REGION_MIN_CALLS, regions.OUTLINE_MIN_EQUATIONS


@pytest.fixture(autouse=True)
def small_blocks_count(monkeypatch):
    monkeypatch.setattr(regions, "REGION_MIN_WORK", {"cpu": PRODUCT})
    monkeypatch.setattr(regions, "USUAL_WORK", {})
    for limit in ("MOST_MEMORY", "MOST_TIME", "MOST_COMPILING", "WORTHWHILE"):  # where the cuts are, whether or not they win
        monkeypatch.setattr(regions, limit, float("inf"))


def staged(fun, count=2):
    return stage(fun, [MATRIX] * count, "program")


def layer(w, x, length=LENGTH):
    """`length` equations, of which one is a product."""
    y = dot(w, x)
    for _ in range(length - 2):
        y = sin(y)
    return add(x, y)


def layers(times, length=LENGTH):
    def fun(w, x):
        for _ in range(times):
            x = layer(w, x, length)
        return [x]
    return fun


def runs_of(closed, min_work=PRODUCT):
    return find_runs(closed.eqns, COUNT, LENGTH, min_work)


def check(closed):
    """The plan, if there is one; its regions give what the program gives."""
    plan = plan_regions(closed, "cpu")
    if isinstance(plan, WholeProgram):
        plan = None
    else:
        rng = np.random.default_rng(0)
        args = [rng.normal(size=aval.shape).astype(aval.dtype) for aval in closed.in_avals]
        found = dict(enumerate((*closed.consts, *args)))
        for region in plan.regions:
            found.update(zip(region.results, evaluate(region.program, *[found[i] for i in region.operands]), strict=True))
            for i in region.dead:
                del found[i]
        for i, expected in zip(plan.results, evaluate(closed, *args), strict=True):
            np.testing.assert_array_equal(found[i], expected)
    return plan


def distinct(plan):
    return len({region.program for region in plan.regions})


def test_layers_of_a_loop_are_blocks():
    closed = staged(layers(10))
    assert runs_of(closed) == [Run(0, LENGTH, 10)]
    plan = check(closed)
    assert len(plan.regions) == 10 and distinct(plan) == 1


def test_what_stands_before_and_behind_is_not_part_of_them():
    def fun(w, x):
        (x,) = layers(10)(w, dot(cos(w), cos(x)))
        return [reduce_sum(mul(x, x), (0, 1))]
    closed = staged(fun)
    (run,) = runs_of(closed)
    assert run.length == LENGTH and run.count >= 9
    plan = check(closed)
    assert distinct(plan) <= 3 and len(plan.regions) >= 11


def test_two_kinds_of_layers_one_after_the_other():
    def fun(w, x):
        (x,) = layers(8)(w, x)
        x = cos(x)
        return layers(9, LENGTH + 5)(w, x)
    plan = check(staged(fun))
    assert len(plan.regions) >= 15 and distinct(plan) <= 4
    assert sorted({run.length for run in runs_of(staged(fun))}) == [LENGTH, LENGTH + 5]


def test_layers_of_several_products_repeat_at_the_distance_of_all_of_them():
    def fun(w, x):
        for _ in range(8):
            x = layer(w, dot(w, layer(w, x)), LENGTH + 3)
        return [x]
    (run,) = runs_of(staged(fun))
    assert run.length == 2 * LENGTH + 4 and run.count >= 7
    check(staged(fun))


def test_small_layers_are_taken_several_at_a_time():
    closed = staged(layers(60, 5))
    (run,) = runs_of(closed)
    assert run == (0, 5 * 10, 6)  # 7 layers have 32 equations, and 10 is the next number that divides 60
    check(closed)
    (run,) = runs_of(staged(layers(60)), min_work=3 * PRODUCT)
    assert run == (0, 3 * LENGTH, 20)
    (run,) = runs_of(staged(layers(30)), min_work=3 * PRODUCT)
    assert run == (0, 3 * LENGTH, 10)  # blocks of four would be too few


def test_small_layers_of_unlike_length_are_taken_in_blocks_of_as_many():
    """As a layer and its derivative are: then one block's derivative reads what one block made."""
    def fun(w, x):
        (x,) = layers(64, 5)(w, x)
        return layers(64, 7)(w, cos(cos(x)))
    first, second = runs_of(staged(fun))
    assert first.length == 8 * 5 and second.length == 8 * 7


def test_cuts_are_where_the_fewest_bytes_pass():
    """What goes from one layer to the next is a sum once, and a matrix at every other place."""
    one_row = ShapedArray((1, N), np.dtype(np.float32))
    def fun(w, row):
        for _ in range(10):
            x = dot(w, dot(reshape(row, (N, 1)), row))
            for _ in range(LENGTH):
                x = sin(x)
            row = add(reshape(reduce_sum(x, (0,)), (1, N)), row)
        return [row]
    closed = stage(fun, [MATRIX, one_row], "program")
    plan = check(closed)
    assert all(aval.shape == (1, N) or aval.shape == (N,) for region in plan.regions for aval in region.program.out_avals)


def test_layers_that_differ_keep_the_program_whole():
    def fun(w, x):
        for i in range(10):
            x = layer(w, mul(x, np.float32(i)))
        return [x]
    closed = staged(fun)
    assert runs_of(closed) and check(closed) is None


def test_what_differs_and_depends_on_no_layer_is_done_before_them():
    def fun(w, x):
        z = w
        for i in range(10):
            z = cos(z)
            x = layer(w, mul(x, sin(mul(z, np.float32(i)))))
        return [x, z]
    closed = staged(fun)
    plan = check(closed)
    assert distinct(plan) <= 3 and len(plan.regions) >= 10
    first = [eqn.primitive.name for eqn in plan.regions[0].program.eqns]
    assert first.count("cos") == first.count("mul") == 10 and "dot_general" not in first


def test_large_values_are_not_made_before_all_layers(monkeypatch):
    from laminax_lowering.planning import repeats
    def fun(w, x):
        for i in range(10):
            x = layer(w, mul(x, mul(w, np.float32(i))))
        return [x]
    assert check(staged(fun)) is not None
    monkeypatch.setattr(repeats, "MAX_BYTES_BEFORE", 9 * 4 * N * N)
    assert check(staged(fun)) is None


@pytest.mark.parametrize("times, length", [(COUNT - 1, LENGTH), (COUNT, LENGTH - 1)])
def test_few_or_short_layers_are_no_run(times, length):
    assert runs_of(staged(layers(times, length))) == [] and check(staged(layers(times, length))) is None


def test_little_work_is_no_run():
    assert runs_of(staged(layers(COUNT)), min_work=PRODUCT + 1) == []
    def fun(w, x):
        for _ in range(400):
            x = sin(x)
        return [x]
    assert runs_of(staged(fun)) == []


def test_layers_of_other_sizes_are_no_run():
    sizes = range(N, 2 * N)
    def fun(x, *ws):
        for w in ws:
            x = dot(w, x)
            for _ in range(LENGTH):
                x = sin(x)
        return [x]
    shapes = [(sizes[0], N), *[(b, a) for a, b in zip(sizes, sizes[1:])]]
    assert runs_of(stage(fun, [ShapedArray(shape, np.dtype(np.float32)) for shape in shapes], "program")) == []


def test_work_of_convolutions():
    image, kernel = ShapedArray((2, 3, 10, 10), np.dtype(np.float32)), ShapedArray((5, 3, 3, 3), np.dtype(np.float32))
    closed = stage(lambda x, k: [conv(x, k, (1, 1), "VALID")], [image, kernel], "program")
    (eqn,) = [eqn for eqn in closed.eqns if eqn.primitive.name == "conv_general_dilated"]
    assert heavy_work(eqn) == 2 * (2 * 5 * 8 * 8) * (3 * 3 * 3)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_any_program_computes_the_same_cut_up(data):
    """Loops of drawn layers, which also read what layers before them made, and results from anywhere."""
    body = data.draw(st.lists(st.sampled_from(["dot", "sin", "add", "skip", "keep", "odd"]), min_size=1, max_size=6)) + ["dot"]
    times = data.draw(st.integers(COUNT, 12))
    odd = data.draw(st.integers(0, times))

    def fun(w, x):
        kept, before = [], x
        for i in range(times):
            start = x
            for op in body:
                x = {"dot": lambda: dot(w, x), "sin": lambda: sin(x), "add": lambda: add(x, start), "skip": lambda: add(x, before),
                     "keep": lambda: kept.append(x) or x, "odd": lambda: add(x, mul(w, np.float32(i)))}[op]()
            for _ in range(LENGTH):
                x = cos(x)
            if i == odd:
                x = mul(x, start)
            before = start
        return [x, *kept[::3], w]

    check(staged(fun))


def test_what_the_borders_alone_make_too_slow_is_not_cut_and_no_crossing_is_looked_for(monkeypatch):
    """Two hundred small layers took a tenth of their first step to plan, for nothing."""
    monkeypatch.setattr(regions, "MOST_TIME", 1.05)
    closed = staged(layers(10))
    certain = 10 * (3 * 4 * N * N + PRODUCT / 10)  # what the products read and make, and their work
    monkeypatch.setattr(regions, "DISPATCH", {"cpu": 0})
    assert len(check(closed).regions) == 10
    monkeypatch.setattr(regions, "DISPATCH", {"cpu": certain})
    monkeypatch.setattr(regions, "choose_crossings", None)
    monkeypatch.setattr(regions, "cut_run", None)
    plan = plan_regions(closed, "cpu")
    assert isinstance(plan, WholeProgram) and str(plan) == "as a whole, since regions would be slower"
