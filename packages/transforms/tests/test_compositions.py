"""Random programs under random stacks of transformations, against loops.

A program is a list of operations on vectors of three numbers, drawn from the operation set. A stack is a list of up to
four layers of jit, checkpoint, vmap, scan, jvp and vjp. Each layer makes a function of a vector from another in two ways:
by the transformation, and without it: a Python loop for vmap and scan, the function itself for jit and checkpoint, and
for derivatives the forward mode of the loop. The loop's own derivatives are held against central differences.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from drawn_cases import CASES
from drawn_cases.case import one, two
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from laminax_ir.ops import (
    collectives,
    control_flow,
    convolution,
    cumulative,
    indexing,
    linalg,
    loops,
    reduction,
    shape,
    slicing,
    sorting,
    special,
)
from laminax_ir.ops import elementwise as op
from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.contraction import dot
from laminax_ir.ops.fft import fft
from laminax_ir.ops.windows import reduce_window
from laminax_ir.options.config import enable_x64
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import evaluate
from laminax_ir.tracing.trace import state
from laminax_ir.types.avals import get_aval
from laminax_transforms import checkpoint, checkpoint_policies, custom_jvp, custom_vjp, grad, jvp, linearize, stop_gradient, vjp, vmap

N = 3
MATRIX = np.array([[0.9, -0.4, 0.3], [0.2, 0.7, -0.5], [-0.6, 0.1, 0.8]])
STEP = np.array([0.7, -0.3, 0.5])


@pytest.fixture(autouse=True, scope="module")
def x64():
    with enable_x64():
        yield


def jit(fun):
    """A jit call of a function of vectors, traced once per shapes and named axes: what the api does, without compiling."""
    cache = {}

    def called(*args):
        key = tuple(get_aval(x) for x in args), tuple(state.axis_sizes.items())
        if key not in cache:
            cache[key] = stage(lambda *xs: [fun(*xs)], key[0], "f")
        return call_jaxpr(cache[key], *args, name="f")[0]

    return called


# The operations: each takes two vectors and gives one, of moderate size.


def total(x):
    return reduction.reduce_sum(x, tuple(range(len(x.shape))))


def part(x, start, stop):
    return slicing.slice_in_dim(x, start, stop)


def at(x, i):
    return slicing.index_in_dim(x, i, keepdims=False)


def outer(x, y):
    return shape.expand_dims(x, (1,)) * shape.expand_dims(y, (0,))


def well_conditioned(x, y):
    """A symmetric positive definite matrix."""
    a = outer(op.sin(x), op.cos(y))
    return linalg.symmetrize(a + linalg.swap_last(a)) + 4.0 * np.eye(N)


@custom_jvp
def with_own_jvp(x, y):
    return op.sin(x) * y


@with_own_jvp.defjvp
def _with_own_jvp_rule(primals, tangents):
    (x, y), (x_dot, y_dot) = primals, tangents
    return with_own_jvp(x, y), op.cos(x) * y * x_dot + op.sin(x) * y_dot


@jit
def inner_call(x, y):
    return op.tanh(x) * y + x


@checkpoint
def inner_checkpoint(x, y):
    return op.sin(op.cos(x) * y)


def gathered(x, y):
    order = reduction.argmax(y, 0, np.int32)
    return slicing.dynamic_slice(shape.concatenate([x, y], 0), (order,), (N,))


def scattered(x, y):
    dims = indexing.ScatterDimensionNumbers((), (0,), (0,))
    where = np.array([[2], [0], [2]], np.int32)
    return indexing.scatter_add(x, where, y, dims)


def looped(x, y):
    def body(carry, a):
        carry = op.tanh(carry * a + y)
        return carry, total(carry) * a
    carry, ys = loops.scan(body, x, y)
    return carry + ys


def fori(x, y):
    return loops.fori_loop(0, 3, lambda i, c: op.sin(c + y * op.convert_element_type(i, np.float64)), x)


def chosen(x, y):
    return control_flow.cond(total(x) > total(y), lambda a, b: op.sin(a) * b, lambda a, b: a - op.cos(b), x, y)


def spectrum(x, y):
    z = fft(op.complex(x, y), "fft", (N,))
    return op.real(z) * op.imag(z) * 0.1


OPERATIONS = {
    "add": op.add, "sub": op.sub, "mul": op.mul, "div": lambda x, y: x / (2.0 + y * y), "max": op.max, "min": op.min,
    "atan2": lambda x, y: op.atan2(x, 2.0 + op.cos(y)), "pow": lambda x, y: op.pow(1.5 + op.sin(x), op.cos(y)),
    "integer_pow": lambda x, y: op.integer_pow(op.sin(x), 3), "sin": lambda x, y: op.sin(x), "tanh": lambda x, y: op.tanh(y),
    "exp": lambda x, y: op.exp(op.sin(x)), "log": lambda x, y: op.log(1.0 + x * x), "sqrt": lambda x, y: op.sqrt(1.0 + y * y),
    "logistic": lambda x, y: op.logistic(x) * y, "erf": lambda x, y: special.erf(x), "abs": lambda x, y: op.abs(x),
    "lgamma": lambda x, y: special.lgamma(2.0 + op.sin(x)), "clamp": lambda x, y: op.clamp(-1.0, x, 1.0),
    "rem": lambda x, y: op.rem(x, 2.0 + op.cos(y)), "sign": lambda x, y: op.sign(x) * y, "floor": lambda x, y: op.floor(x * 3.0) * y,
    "select": lambda x, y: op.select_n(x > y, x, y * 0.5), "stop_gradient": lambda x, y: stop_gradient(x) * y,
    "convert": lambda x, y: op.convert_element_type(op.convert_element_type(x * 5.0, np.int32), np.float64) + y,
    "reduce_sum": lambda x, y: op.sin(total(x)) * y, "reduce_max": lambda x, y: reduction.reduce_max(x, (0,)) * y,
    "reduce_prod": lambda x, y: reduction.reduce_prod(op.cos(x), (0,)) + y,
    "softmax": lambda x, y: op.exp(x - reduction.reduce_max(x, (0,))) / total(op.exp(x - reduction.reduce_max(x, (0,)))) * y,
    "dot": lambda x, y: dot(MATRIX, x) * 0.5, "inner": lambda x, y: op.tanh(dot(x, y)) * x,
    "matvec": lambda x, y: dot(op.tanh(outer(x, y)), y),
    "reshape": lambda x, y: part(shape.reshape(shape.transpose(outer(op.tanh(x), y), (1, 0)), (9,)), 2, 5),
    "concatenate": lambda x, y: shape.concatenate([part(x, 1, 3), part(y, 0, 1)], 0), "pad": lambda x, y: shape.pad(x, 0.5, ((1, -1, 0),)),
    "rev": lambda x, y: shape.rev(x, (0,)) * y, "index": lambda x, y: op.sin(at(x, 1)) * y,
    "sort": lambda x, y: sorting.sort(x), "sort_key_val": lambda x, y: sorting.sort_key_val(x, y)[1],
    "top_k": lambda x, y: sorting.top_k(shape.concatenate([x, y], 0), N)[0],
    "cumsum": lambda x, y: cumulative.cumsum(op.sin(x)), "cumprod": lambda x, y: cumulative.cumprod(op.cos(x), reverse=True),
    "cummax": lambda x, y: cumulative.cummax(x), "cumlogsumexp": lambda x, y: cumulative.cumlogsumexp(op.sin(x)),
    "dynamic_slice": gathered,
    "dynamic_update_slice": lambda x, y: slicing.dynamic_update_slice(x, op.sin(part(y, 0, 1)), (reduction.argmax(y, 0, np.int32),)),
    "scatter_add": scattered,
    "conv": lambda x, y: shape.reshape(convolution.conv(shape.reshape(op.tanh(x), (1, 1, N)), shape.reshape(y, (1, 1, N)), (1,), "SAME"),
                                       (N,)),
    "window_sum": lambda x, y: reduce_window(x, 0.0, op.add, (2,), (1,), "SAME") * 0.5,
    "window_max": lambda x, y: reduce_window(x, -np.inf, op.max, (2,), (1,), "SAME"),
    "triangular_solve": lambda x, y: shape.squeeze(linalg.triangular_solve(outer(op.sin(x), op.cos(y)) + 3.0 * np.eye(N),
                                                                           shape.reshape(y, (N, 1)), left_side=True, lower=True), (1,)),
    "cholesky": lambda x, y: dot(linalg.cholesky(well_conditioned(x, y)), y) * 0.3,
    "fft": spectrum, "scan": looped, "fori_loop": fori, "cond": chosen, "custom_jvp": with_own_jvp, "jit": inner_call,
    "checkpoint": inner_checkpoint, "inner_grad": lambda x, y: grad(lambda a: total(op.sin(a * y)))(x),
    "inner_vmap": lambda x, y: vmap(lambda a: op.tanh(a * total(y)))(x),
    "inner_jvp": lambda x, y: jvp(lambda a: op.sin(a) * x, (y,), (x,))[1],
    "linearize": lambda x, y: linearize(op.tanh, x)[1](y),
}


def from_drawn_case(case):
    """The function of a drawn test on two vectors, brought to where it is smooth; its result as three numbers."""
    def run(x, y):
        x, y = (1.25 + 0.5 * op.sin(v) for v in (x, y))
        result = case.fun(x, y) if case.points is two else op.mul(case.fun(x), case.fun(y))
        if np.dtype(result.dtype).kind == "c":
            result = op.real(result) + op.imag(result)
        size = int(np.prod(result.shape))
        return op.sin(dot(np.cos(np.arange(3.0 * size)).reshape(3, size), shape.reshape(result, (size,))))
    return run


DRAWN = {name: from_drawn_case(case) for name, case in CASES.items() if np.float64 in case.dtypes and case.points in (one, two)}


# Loops whose number of steps depends on the data: reverse mode does not know it.


def until_large(x, y):
    return loops.while_loop(lambda v: total(v) < 9.0, lambda v: v * (1.3 + 0.1 * op.sin(y)), op.exp(op.sin(x)))


def as_often_as_it_says(x, y):
    count = op.convert_element_type(2.5 + 2.4 * op.sin(total(y)), np.int32)
    return loops.fori_loop(0, count, lambda i, v: op.sin(v + y * op.convert_element_type(i, np.float64)), x)


FORWARD_ONLY = {"while": until_large, "dynamic fori_loop": as_often_as_it_says}
EVERY = {**OPERATIONS, **DRAWN, **FORWARD_ONLY}
NOT_SMOOTH = {"max", "min", "abs", "clamp", "rem", "sign", "floor", "select", "convert", "reduce_max", "sort", "sort_key_val", "top_k",
              "cummax", "dynamic_slice", "dynamic_update_slice", "window_max", "cond", "stop_gradient"}


def program(instructions):
    """A function of a vector: each instruction is an operation on two of the values so far."""
    def run(x):
        values = [x, STEP * 1.0]
        for name, first, second in instructions:
            values.append(EVERY[name](values[first % len(values)], values[second % len(values)]))
        return values[-1] + 0.1 * x
    return run


instructions_strategy = st.lists(st.tuples(st.sampled_from(sorted([*OPERATIONS, *DRAWN])), st.integers(0, 5), st.integers(0, 5)),
                                 min_size=1, max_size=5)


# The layers: (name, choice) -> the transformation, and the same without it.


def direction(x):
    """A tangent or cotangent that depends on the point, so that levels of differentiation can be mixed up."""
    return op.cos(x) + 0.2 * x


def add_vmap(fun, choice):
    in_axis, out_axis = choice % 2, (choice // 2) % 2
    scales = np.array([1.0, -0.5])

    def fast(x):
        rows = shape.expand_dims(x, (in_axis,)) * np.expand_dims(scales, 1 - in_axis)
        return reduction.reduce_sum(vmap(fun, in_axis, out_axis)(rows), (out_axis,))

    return fast, lambda slow: lambda x: slow(x * scales[0]) + slow(x * scales[1])


def add_shared_vmap(fun, choice):
    """The function meets values of outer traces only: nothing in it is mapped."""
    scales = np.array([1.0, -0.5])
    return (lambda x: reduction.reduce_sum(vmap(lambda s: fun(x) * s * 3.0)(scales), (0,)),
            lambda slow: lambda x: slow(x) * scales[0] * 3.0 + slow(x) * scales[1] * 3.0)


def add_named_vmap(fun, choice):
    name = f"i{choice}"
    scales = np.array([1.0, -0.5])

    def one(row):
        y = fun(row)
        return op.sin(collectives.psum(y, name)) * y

    def fast(x):
        return reduction.reduce_sum(vmap(one, axis_name=name)(shape.expand_dims(x, (0,)) * scales[:, None]), (0,))

    def slow_of(slow):
        def run(x):
            ys = [slow(x * s) for s in scales]
            return op.sin(ys[0] + ys[1]) * ys[0] + op.sin(ys[0] + ys[1]) * ys[1]
        return run

    return fast, slow_of


def add_scan(fun, choice):
    factors, reverse = np.array([0.5, -0.3]), bool(choice % 2)

    def step(x, carry, a):
        carry = op.tanh(fun(carry) * a + x)
        return carry, carry * a

    def fast(x):
        carry, ys = loops.scan(lambda c, a: step(x, c, a), x * 0.5, factors, reverse=reverse)
        return carry + reduction.reduce_sum(ys, (0,))

    def slow_of(slow):
        def run(x):
            carry, out = x * 0.5, []
            for a in factors[::-1] if reverse else factors:
                carry = op.tanh(slow(carry) * a + x)
                out.append(carry * a)
            return carry + out[0] + out[1]
        return run

    return fast, slow_of


def add_checkpoint(fun, choice):
    policy = [None, checkpoint_policies.dots_saveable, checkpoint_policies.everything_saveable,
              checkpoint_policies.nothing_saveable][choice]
    return checkpoint(fun, policy=policy, prevent_cse=bool(choice % 2)), lambda slow: slow


def loop_jvp(slow):
    return lambda x: jvp(slow, (x,), (direction(x),))[1]


def add_vjp(fun, choice):
    def slow_of(slow):
        def run(x):
            columns = [total(jvp(slow, (x,), (e,))[1] * direction(x)) for e in np.eye(N)]
            return shape.concatenate([shape.expand_dims(c, (0,)) for c in columns], 0)
        return run
    return lambda x: vjp(fun, x)[1](direction(x))[0], slow_of


LAYERS = {
    "jit": lambda fun, choice: (jit(fun), lambda slow: slow),
    "checkpoint": add_checkpoint, "vmap": add_vmap, "shared vmap": add_shared_vmap, "named vmap": add_named_vmap, "scan": add_scan,
    "jvp": lambda fun, choice: (lambda x: jvp(fun, (x,), (direction(x),))[1], loop_jvp),
    "linearize": lambda fun, choice: (lambda x: linearize(fun, x)[1](direction(x)), loop_jvp),
    "vjp": add_vjp,
}
DERIVATIVES = {"jvp", "linearize", "vjp"}
stack_strategy = st.lists(st.tuples(st.sampled_from(sorted(LAYERS)), st.integers(0, 3)), min_size=1, max_size=4)
point_strategy = st.lists(st.floats(-1.5, 1.5).map(lambda v: round(v, 3)), min_size=N, max_size=N, unique=True)


def build(instructions, stack):
    fast = slow = program(instructions)
    for name, choice in stack:
        fast, slow_of = LAYERS[name](fast, choice)
        slow = slow_of(slow)
    return fast, slow


def compare(got, want, what, rtol=1e-8):
    scale = max(1.0, float(np.max(np.abs(want)))) if np.all(np.isfinite(want)) else 1.0
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=rtol, atol=rtol * scale, err_msg=what)


def check_against_the_loop(instructions, stack, point):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        x = np.array(point)
        fast, slow = build(instructions, stack)
        want = slow(x)
        if not np.all(np.isfinite(want)) or np.max(np.abs(want)) > 1e6:
            return
        compare(fast(x), want, "eager")
        staged = stage(lambda a: [fast(a)], [get_aval(x)])
        compare(evaluate(staged, x)[0], want, "staged")


@settings(max_examples=250, suppress_health_check=list(HealthCheck))
@given(instructions_strategy, stack_strategy, point_strategy)
@example([("open_sums: all_gather_reduced", 0, 0)], [("vjp", 0), ("jvp", 0)], [0.0, 1.0, 0.5])  # derivatives say how products are split
def test_a_random_program_under_a_random_stack_is_the_loop(instructions, stack, point):
    check_against_the_loop(instructions, stack, point)


@pytest.mark.parametrize("name", [*OPERATIONS, *DRAWN])
def test_every_operation_under_random_stacks(name):
    @settings(max_examples=3, suppress_health_check=list(HealthCheck))
    @given(stack_strategy.filter(lambda stack: len(stack) > 1), point_strategy)
    def run(stack, point):
        check_against_the_loop([(name, 0, 1)], stack, point)

    run()


@pytest.mark.parametrize("name", FORWARD_ONLY)
def test_loops_whose_steps_depend_on_the_data(name):
    """Each example of a batch takes as many steps as it needs, and each level of forward mode follows."""
    forward = st.lists(st.tuples(st.sampled_from(sorted(LAYERS.keys() - {"vjp", "linearize"})), st.integers(0, 3)), min_size=1, max_size=4)

    @settings(max_examples=30, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(sorted(OPERATIONS)), forward, point_strategy)
    def run(other, stack, point):
        check_against_the_loop([(name, 0, 1), (other, 2, 0)], stack, point)

    run()


def central_difference(fun):
    """The derivative of a function of a vector along `direction(x)`, of fourth order in the step."""
    def run(x):
        v, h = direction(x), 2e-3
        near, far = (fun(x + s * v) - fun(x - s * v) for s in (h, 2 * h))
        return (8.0 * near - far) / (12.0 * h)
    return run


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(instructions_strategy.filter(lambda instructions: not (NOT_SMOOTH | DRAWN.keys()) & {name for name, _, _ in instructions}),
       st.lists(st.sampled_from(["vmap", "scan", "named vmap"]), max_size=2), point_strategy)
def test_derivatives_of_the_loop_are_central_differences(instructions, loops, point):
    x = np.array(point)
    _, slow = build(instructions, [(name, 0) for name in loops])
    first, second = central_difference(slow)(x), central_difference(central_difference(slow))(x)
    if np.max(np.abs(second)) < 1e3:
        compare(loop_jvp(slow)(x), first, "first derivative", 1e-6)
        compare(loop_jvp(loop_jvp(slow))(x), second, "second derivative", 1e-4)


# Functions that only reverse mode can differentiate


@custom_vjp
def with_own_vjp(x, y):
    return op.sin(x) * y


with_own_vjp.defvjp(lambda x, y: (op.sin(x) * y, (x, y)), lambda res, ct: (op.cos(res[0]) * res[1] * ct, op.sin(res[0]) * ct))


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.sampled_from(sorted(set(LAYERS) - {"jvp", "linearize", "vjp"})), st.integers(0, 3)), max_size=3),
       st.integers(0, 3), point_strategy)
def test_rules_of_reverse_mode_survive_any_stack(layers, place, point):
    """One vjp anywhere in the stack; the loop has the same function without the rule."""
    x = np.array(point)
    stack = [*layers[:place], ("vjp", 0), *layers[place:]]

    def function(rule):
        return lambda v: rule(op.cos(v), v) + rule(v, rule(v, STEP * 1.0))

    fast, slow = function(with_own_vjp), function(lambda a, b: op.sin(a) * b)
    for name, choice in stack:
        fast, _ = LAYERS[name](fast, choice)
        slow = LAYERS[name](slow, choice)[1](slow)
    compare(fast(x), slow(x), "eager")
    compare(evaluate(stage(lambda a: [fast(a)], [get_aval(x)]), x)[0], slow(x), "staged")
