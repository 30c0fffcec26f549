"""Collectives under vmap against NumPy on the whole batch, their derivatives, and `reduce_axes`.

The oracle of each collective is its definition, written on an array whose leading axis is the participants.
"""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops.calls import call_jaxpr
from laminax_ir.ops.collective_primitives import axis_size
from laminax_ir.ops.collectives import (
    all_gather,
    all_to_all,
    axis_index,
    pbroadcast,
    pmax,
    pmean,
    pmin,
    ppermute,
    pshuffle,
    psum,
    psum_scatter,
    pswapaxes,
)
from laminax_ir.ops.control_flow import cond
from laminax_ir.ops.elementwise import convert_element_type, cos, sin
from laminax_ir.ops.loops import scan
from laminax_ir.ops.reduction import reduce_sum
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.types.avals import get_aval
from laminax_transforms import custom_jvp, grad, jvp, linear_transpose, value_and_grad, vjp, vmap

N = 4
GROUPS = [[0, 3], [2, 1]]
X = np.random.default_rng(0).normal(size=(N, 8, 4)).astype(np.float32)


def jit(fun):
    """A staged call, as the api's jit makes it inside of a trace."""
    def call(*args):
        closed = stage(lambda *xs: [fun(*xs)], [get_aval(x) for x in args])
        return call_jaxpr(closed, *args, name="f")[0]
    return call


def grouped(x, groups, f):
    """Each participant's row of `f` applied to the rows of its group."""
    out = [None] * len(x)
    for group in groups:
        for row, value in zip(group, f(x[list(group)])):
            out[row] = value
    return np.stack(out)


def repeated(f):
    return lambda x: np.stack([f(x)] * len(x))


ALL = [list(range(N))]

# the collective, and what it does to all rows of one group
CASES = {
    "psum": (lambda x, **kw: psum(x, "i", **kw), repeated(lambda x: x.sum(0))),
    "pmax": (lambda x, **kw: pmax(x, "i", **kw), repeated(lambda x: x.max(0))),
    "pmin": (lambda x, **kw: pmin(x, "i", **kw), repeated(lambda x: x.min(0))),
    "pmean": (lambda x, **kw: pmean(x, "i", **kw), repeated(lambda x: x.mean(0))),
    "all_gather": (lambda x, **kw: all_gather(x, "i", **kw), repeated(lambda x: x)),
    "all_gather_last": (lambda x, **kw: all_gather(x, "i", axis=-1, **kw), repeated(lambda x: np.stack(list(x), -1))),
    "all_gather_tiled": (lambda x, **kw: all_gather(x, "i", axis=1, tiled=True, **kw), repeated(lambda x: np.concatenate(list(x), 1))),
    "psum_scatter_tiled": (lambda x, **kw: psum_scatter(x, "i", scatter_dimension=0, tiled=True, **kw),
                           lambda x: np.stack(np.split(x.sum(0), len(x), axis=0))),
    "all_to_all_tiled": (lambda x, **kw: all_to_all(x, "i", 0, 1, tiled=True, **kw),
                         lambda x: np.stack([np.concatenate([np.split(y, len(x), axis=0)[i] for y in x], 1) for i in range(len(x))])),
    "all_to_all_tiled_same": (lambda x, **kw: all_to_all(x, "i", 1, 1, tiled=True, **kw),
                              lambda x: np.stack([np.concatenate([np.split(y, len(x), axis=1)[i] for y in x], 1) for i in range(len(x))])),
}
UNGROUPED = {
    "psum_scatter": (lambda x: psum_scatter(x, "i", scatter_dimension=1), lambda x: np.moveaxis(x.sum(0), 1, 0)),
    "all_to_all": (lambda x: all_to_all(x, "i", 1, 0), lambda x: np.stack([np.stack([y[:, i] for y in x], 0) for i in range(N)])),
    "all_to_all_behind": (lambda x: all_to_all(x, "i", 0, 1), lambda x: np.stack([np.stack([y[i] for y in x], 1) for i in range(N)])),
    "pswapaxes": (lambda x: pswapaxes(x, "i", 1), lambda x: np.swapaxes(x, 0, 2)),
    "ppermute": (lambda x: ppermute(x, "i", [(0, 2), (2, 3)]), lambda x: np.stack([0 * x[0], 0 * x[0], x[0], x[2]])),
    "pshuffle": (lambda x: pshuffle(x, "i", [2, 0, 3, 1]), lambda x: x[[2, 0, 3, 1]]),
    "pbroadcast": (lambda x: pbroadcast(x, "i", 2), repeated(lambda x: x[2])),
    "axis_index": (lambda x: x * convert_element_type(axis_index("i"), np.float32), lambda x: x * np.arange(N).reshape(N, 1, 1)),
}


def as_ungrouped(case):
    collective, of_group = case
    return lambda x: collective(x), of_group


EVERY = {**{name: as_ungrouped(case) for name, case in CASES.items()}, **UNGROUPED}


def operand_of(name, x):
    """`all_to_all_behind` splits the first axis of an example, which must have the size N."""
    return x[..., :N, :] if name == "all_to_all_behind" else x


@pytest.mark.parametrize("in_axis", [0, 1, 2])
@pytest.mark.parametrize("name", EVERY)
def test_over_the_mapped_axis(name, in_axis):
    collective, expected = EVERY[name]
    x = operand_of(name, X)
    out = vmap(collective, in_axes=in_axis, axis_name="i")(np.moveaxis(x, 0, in_axis))
    np.testing.assert_allclose(out, expected(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_in_groups(name):
    collective, of_group = CASES[name]
    out = vmap(lambda x: collective(x, axis_index_groups=GROUPS), in_axes=1, axis_name="i")(np.moveaxis(X, 0, 1))
    np.testing.assert_allclose(out, grouped(X, GROUPS, of_group), rtol=1e-5, atol=1e-6)


def test_groups_of_several_sizes():
    out = vmap(lambda x: psum(x, "i", axis_index_groups=[[1], [0, 3, 2]]), axis_name="i")(X)
    np.testing.assert_allclose(out, grouped(X, [[1], [0, 3, 2]], repeated(lambda x: x.sum(0))), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", EVERY)
def test_values_that_are_not_mapped(name):
    """Every participant has the same value: the collective of as many copies."""
    collective, expected = EVERY[name]
    x = operand_of(name, X)[0]
    out = vmap(lambda x, _: collective(x), in_axes=(None, 0), axis_name="i")(x, np.zeros(N, np.float32))
    np.testing.assert_allclose(out, expected(np.stack([x] * N)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("in_axis", [0, 1, 2, 3])
def test_a_further_axis_is_carried_along(name, in_axis):
    """vmap over another axis, inside and outside of the named one."""
    collective, expected = EVERY[name]
    x = operand_of(name, np.random.default_rng(1).normal(size=(3, N, 8, 4)).astype(np.float32))
    want = np.stack([expected(y) for y in x])
    outer = vmap(vmap(collective, axis_name="i"), in_axes=in_axis)
    out = outer(np.moveaxis(x, 0, in_axis))
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-6)
    inner = vmap(vmap(collective, in_axes=min(in_axis, 2), axis_name="other"), in_axes=0, out_axes=1, axis_name="i")
    out = inner(np.moveaxis(np.moveaxis(x, 0, 1), 1, min(in_axis, 2) + 1))
    np.testing.assert_allclose(out, want, rtol=1e-5, atol=1e-6)


def over_two_names(fun, x):
    """`x[i, j, ...]`: vmap over i outside, j inside, results in the same order."""
    return vmap(vmap(fun, axis_name="j"), axis_name="i")(x)


@pytest.mark.parametrize("names", [("i", "j"), ("j", "i")])
def test_over_two_names_at_once(names):
    I, J = 2, 3
    x = np.random.default_rng(2).normal(size=(I, J, 6, 12)).astype(np.float32)
    rows = (x if names == ("i", "j") else np.swapaxes(x, 0, 1)).reshape(I * J, 6, 12)

    def check(fun, expected_rows):
        out = np.asarray(over_two_names(fun, x))
        out = (out if names == ("i", "j") else np.swapaxes(out, 0, 1)).reshape(I * J, *out.shape[2:])
        np.testing.assert_allclose(out, expected_rows, rtol=1e-5, atol=1e-5)

    check(lambda x: psum(x, names), repeated(lambda x: x.sum(0))(rows))
    check(lambda x: pmean(x, names), repeated(lambda x: x.mean(0))(rows))
    check(lambda x: pmax(x, names), repeated(lambda x: x.max(0))(rows))
    check(lambda x: all_gather(x, names, axis=1), repeated(lambda x: np.stack(list(x), 1))(rows))
    check(lambda x: all_gather(x, names, axis=1, tiled=True), repeated(lambda x: np.concatenate(list(x), 1))(rows))
    check(lambda x: psum_scatter(x, names), rows.sum(0))
    check(lambda x: psum_scatter(x, names, scatter_dimension=1, tiled=True), np.stack(np.split(rows.sum(0), 6, 1)))
    check(lambda x: axis_index(names), np.arange(6))
    check(lambda x: all_to_all(x, names, 0, 1), np.stack([np.stack([y[i] for y in rows], 1) for i in range(6)]))
    check(lambda x: all_to_all(x, names, 1, 0, tiled=True),
          np.stack([np.concatenate([np.split(y, 6, axis=1)[i] for y in rows], 0) for i in range(6)]))
    assert over_two_names(lambda x: axis_size(names) * psum(1, "j"), x).tolist() == [[18] * 3] * 2


def test_permutations_over_two_names_are_refused():
    with pytest.raises(NotImplementedError, match="over several axes .* Use one axis name"):
        over_two_names(lambda x: ppermute(x, ("i", "j"), [(0, 1)]), np.zeros((2, 3)))


def test_a_collective_on_a_value_outside_of_the_batch():
    out = vmap(lambda x: (psum(np.float32(3), "i"), pmean(np.float32(3), "i"), pmax(np.float32(3), "i")), axis_name="i")(X)
    assert [r.tolist() for r in out] == [[12] * N, [3] * N, [3] * N]


def test_inside_of_nested_programs():
    """Calls and control flow hide the collective, also when none of their operands is mapped."""
    def normalised(x):
        return jit(lambda x: x / psum(x, "i"))(x)

    x = X[:, 0, 0]
    np.testing.assert_allclose(vmap(normalised, axis_name="i")(x), x / x.sum(), rtol=1e-5)
    index = vmap(lambda x: jit(lambda: axis_index("i"))() + x, axis_name="i")(np.zeros(N, np.int32))
    assert index.tolist() == [0, 1, 2, 3]
    twice = vmap(lambda x: jit(lambda y: psum(y, "i"))(np.float32(2)), axis_name="i")(x)
    assert twice.tolist() == [8] * N

    def step(carry, _):
        return carry + convert_element_type(axis_index("i"), np.float32), psum(carry, "i")

    last, sums = vmap(lambda x: scan(step, x, None, length=3), axis_name="i")(x)
    np.testing.assert_allclose(last, x + 3 * np.arange(N), rtol=1e-5)
    np.testing.assert_allclose(sums, [[x.sum() + t * 6 for t in range(3)]] * N, rtol=1e-4)
    chosen = vmap(lambda x: cond(True, lambda: axis_index("i"), lambda: np.int32(7)), axis_name="i")(x)
    assert chosen.tolist() == [0, 1, 2, 3]


def test_inside_of_a_custom_rule():
    @custom_jvp
    def share(x):
        return x / psum(x, "i")

    share.defjvps(lambda x_dot, y, x: x_dot)
    shared = vmap(lambda x: share(np.float32(5)), axis_name="i")(X)
    np.testing.assert_allclose(shared, [1 / N] * N)
    np.testing.assert_allclose(vmap(grad(share), axis_name="i")(X[:, 0, 0]), np.ones(N))


# Derivatives


@pytest.mark.parametrize("name", [name for name in EVERY if name not in ("pmax", "pmin")])
def test_linear_collectives(name):
    """jvp is the collective of the tangent; <ct, f(v)> == <f'(ct), v> summed over all participants."""
    collective, _ = EVERY[name]
    x = operand_of(name, X)
    v = np.random.default_rng(3).normal(size=x.shape).astype(np.float32)
    f = vmap(collective, axis_name="i")
    y, y_dot = vmap(lambda x, v: jvp(collective, (x,), (v,)), axis_name="i")(x, v)
    np.testing.assert_allclose(y, f(x), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(y_dot, f(v), rtol=1e-5, atol=1e-6)
    ct = np.random.default_rng(4).normal(size=np.shape(y)).astype(np.float32)
    inside = vmap(lambda x, ct: vjp(collective, x)[1](ct)[0], axis_name="i")(x, ct)
    outside = vjp(f, x)[1](ct)[0]
    np.testing.assert_allclose(np.vdot(outside, v), np.vdot(ct, y_dot), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(inside, outside, rtol=1e-4, atol=1e-5)


def test_the_gradient_of_a_maximum():
    x = np.float32([1, 5, 2, 5])
    np.testing.assert_allclose(vmap(grad(lambda x: pmax(x, "i")), axis_name="i")(x), [0, 2, 0, 2])  # N, shared by the two
    _, tangent = vmap(lambda x, v: jvp(lambda x: pmin(x, "i"), (x,), (v,)), axis_name="i")(x, np.float32([3, 1, 1, 1]))
    np.testing.assert_allclose(tangent, [3] * 4)


def test_gradient_inside_of_a_named_axis():
    """Each participant's gradient is that of the sum of all participants' results."""
    x = X[:, 0, 0]
    inside = vmap(grad(lambda x: sin(x) / psum(cos(x), "i")), axis_name="i")(x)
    outside = grad(lambda x: reduce_sum(vmap(lambda x: sin(x) / psum(cos(x), "i"), axis_name="i")(x), (0,)))(x)
    np.testing.assert_allclose(inside, outside, rtol=1e-5)


# reduce_axes


W = np.float32([0.5, -1.0, 2.0])
BATCH = np.random.default_rng(5).normal(size=(N, 3)).astype(np.float32)


def loss(w, x):
    return reduce_sum(sin(w * x), (0,))


def test_reduce_axes_sums_what_is_shared():
    per_example = np.stack([np.cos(W * x) * x for x in BATCH])
    total = per_example.sum(0)
    by_data = np.stack([np.cos(W * x) * W for x in BATCH])

    def batched(transform, out_axes):
        return vmap(transform, in_axes=(None, 0), out_axes=out_axes, axis_name="batch")(W, BATCH)

    np.testing.assert_allclose(batched(grad(loss), 0), per_example, rtol=1e-5)
    np.testing.assert_allclose(batched(grad(loss, reduce_axes=("batch",)), None), total, rtol=1e-5)
    # The gradient of an argument with a batch axis stays per example.
    w_grad, x_grad = batched(grad(loss, argnums=(0, 1), reduce_axes=("batch",)), (None, 0))
    np.testing.assert_allclose(w_grad, total, rtol=1e-5)
    np.testing.assert_allclose(x_grad, by_data, rtol=1e-5)
    _, w_grad = batched(value_and_grad(loss, reduce_axes=["batch"]), (0, None))
    np.testing.assert_allclose(w_grad, total, rtol=1e-5)
    w_grad, x_grad = batched(lambda w, x: vjp(loss, w, x, reduce_axes=("batch",))[1](np.float32(1)), (None, 0))
    np.testing.assert_allclose(w_grad, total, rtol=1e-5)
    np.testing.assert_allclose(x_grad, by_data, rtol=1e-5)
    np.testing.assert_allclose(batched(jit(grad(loss, reduce_axes=("batch",))), None), total, rtol=1e-5)


def test_reduce_axes_of_linear_transpose():
    def transposed(reduce_axes):
        return vmap(lambda x, ct: linear_transpose(lambda w: w * x, W, reduce_axes=reduce_axes)(ct)[0], axis_name="batch",
                    out_axes=None if reduce_axes else 0)(BATCH, 2 * BATCH)

    np.testing.assert_allclose(transposed(()), 2 * BATCH * BATCH, rtol=1e-5)
    np.testing.assert_allclose(transposed(("batch",)), (2 * BATCH * BATCH).sum(0), rtol=1e-5)


def test_reduce_axes_over_one_of_two_names():
    x = np.random.default_rng(6).normal(size=(2, N, 3)).astype(np.float32)
    g = grad(loss, reduce_axes=("inner",))
    out = vmap(vmap(g, in_axes=(None, 0), out_axes=None, axis_name="inner"), in_axes=(None, 0), axis_name="outer")(W, x)
    np.testing.assert_allclose(out, (np.cos(W * x) * x).sum(1), rtol=1e-5)
    g = grad(loss, reduce_axes=("inner", "outer"))
    out = vmap(vmap(g, in_axes=(None, 0), out_axes=None, axis_name="inner"), in_axes=(None, 0), out_axes=None, axis_name="outer")(W, x)
    np.testing.assert_allclose(out, (np.cos(W * x) * x).sum((0, 1)), rtol=1e-5)


def test_second_derivative_through_reduce_axes():
    hessian_diagonal = vmap(lambda w, x: grad(lambda w: reduce_sum(grad(loss, reduce_axes=("batch",))(w, x), (0,)),
                                              reduce_axes=("batch",))(w),
                            in_axes=(None, 0), out_axes=None, axis_name="batch")(W, BATCH)
    # The total gradient is one value, whoever computes it: its derivative is the total second derivative.
    np.testing.assert_allclose(hessian_diagonal, -(np.sin(W * BATCH) * BATCH**2).sum(0), rtol=1e-4)


@pytest.mark.parametrize("tiled, message", [
    (False, r"the size of the mapped axis axis_name to equal x.shape\[split_axis\], but they are 3 and 4"), (True, "divisible")])
def test_all_to_all_of_a_size_that_does_not_fit_is_refused(tiled, message):
    with pytest.raises(ValueError, match=message):
        vmap(lambda x: all_to_all(x, "i", 0, 0, tiled=tiled), axis_name="i")(np.ones((3, 4)))


def test_reduce_axes_over_an_unbound_name():
    with pytest.raises(NameError, match="unbound axis name: batch"):
        grad(loss, reduce_axes=("batch",))(W, BATCH[0])


def test_axis_env_alone_leaves_collectives_in_the_program():
    with extend_axis_env(("i", 4)):
        closed = stage(lambda x: [vmap(lambda x: psum(x, ("i", "j")), axis_name="j")(x)], [get_aval(BATCH)])
    assert [eqn.primitive.name for eqn in closed.eqns][:2] == ["reduce_sum", "psum"]
    assert closed.eqns[1].params["axes"] == ("i",)
