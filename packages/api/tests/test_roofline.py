"""Estimates for roofline models: hand counts, convolutions of ones, rings that are walked, and what loops and branches multiply."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from laminax_lowering.costs.roofline_rules import roofline_rule

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.experimental.roofline import (
    RooflineResult,
    RooflineRuleContext,
    RooflineShape,
    register_roofline,
    register_standard_roofline,
    roofline,
    roofline_and_grad,
)
from laminax.extend.core import Primitive
from laminax.sharding import AbstractMesh, AxisType
from laminax.sharding import PartitionSpec as P

MESH = AbstractMesh((2, 4), ("x", "y"), AxisType.Auto)


def estimate(f, *args, **options):
    return roofline(f, **options)(*args)[1]


def test_products_and_elementwise_operations():
    shapes, result = roofline(lambda x, w: jnp.tanh(x @ w))(jnp.ones((8, 16)), jnp.ones((16, 4)))
    assert (shapes.shape, shapes.dtype) == ((8, 4), np.float32)
    assert result.flops == 2 * 8 * 16 * 4 and result.unfused_flops == 2 * 8 * 16 * 4 + 32
    assert result.hbm_bytes == 4 * (8 * 16 + 16 * 4 + 32) and result.unfused_hbm_bytes == result.hbm_bytes + 4 * 64
    assert result.peak_hbm_bytes == 4 * (8 * 16 + 16 * 4)
    assert estimate(lambda x, w: x @ w, jnp.ones((8, 16)), jnp.ones((16, 4)), pin_lhs_in_vmem=True).hbm_bytes == 4 * 16 * 4
    assert estimate(lambda x, w: x @ w, jnp.ones((8, 16)), jnp.ones((16, 4)), pin_rhs_in_vmem=True).hbm_bytes == 4 * (8 * 16 + 32)


def test_what_stays_alive_counts_at_the_peak():
    def f(x):
        y = jnp.sin(x)
        return jnp.cos(y) + x  # x, y and cos(y), which may lie where y did: two at once
    assert estimate(f, jnp.ones(100)).peak_hbm_bytes == 800
    assert estimate(lambda x: laminax.jit(f)(x) * x, jnp.ones(100)).peak_hbm_bytes == 800 + 400 - 400  # x is in the call too


@pytest.mark.parametrize("seed", range(12))
def test_convolutions_count_the_products_that_are_made(seed):
    """A convolution of ones counts them: every weight that meets an element adds one."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 3))
    groups = int(rng.integers(1, 3))
    of_batch = bool(rng.integers(2))
    lhs = (2 * groups, 2 * (1 if of_batch else groups), *rng.integers(3, 8, n))
    rhs = (2 * groups, 2, *rng.integers(1, 4, n))
    draw = lambda low, high: tuple(int(i) for i in rng.integers(low, high, n))  # noqa: E731
    options = dict(window_strides=draw(1, 4), padding=[tuple(int(i) for i in rng.integers(0, 4, 2)) for _ in range(n)],
                   lhs_dilation=draw(1, 4), rhs_dilation=draw(1, 3), feature_group_count=1 if of_batch else groups,
                   batch_group_count=groups if of_batch else 1)
    ones = jnp.ones(lhs), jnp.ones(rhs)
    made = float(jnp.sum(lax.conv_general_dilated(*ones, **options)))
    assert estimate(lambda x, w: lax.conv_general_dilated(x, w, **options), *ones).unfused_flops == 2 * made


def test_a_convolution_of_long_axes_is_counted_at_once():
    x, w = jnp.zeros((1, 1, 500_000)), jnp.zeros((1, 1, 400_000))
    result = estimate(lambda x, w: lax.conv_general_dilated(x, w, (3,), [(0, 0)], lhs_dilation=(2,)), x, w)
    places = 3 * np.arange((2 * 500_000 - 1 - 400_000) // 3 + 1)
    assert result.unfused_flops == 2 * int(np.sum((places + 400_000 + 1) // 2 - (places + 1) // 2))  # even places in each window


def test_loops_and_branches():
    step = lambda c, _: (c @ c, None)  # noqa: E731
    x = jnp.ones((4, 4))
    assert estimate(lambda x: lax.scan(step, x, length=7)[0], x).flops == 7 * 2 * 4**3
    branch = lambda x: lax.cond(x[0, 0] > 0, lambda x: x @ x @ x, lambda x: x, x)  # noqa: E731
    assert estimate(branch, x).flops == 2 * 2 * 4**3
    assert estimate(laminax.checkpoint(lambda x: x @ x), x).flops == 2 * 4**3
    assert estimate(laminax.grad(lambda x: jnp.sum(x @ x)), x).flops == 2 * 2 * 4**3  # both products of the derivative; the sum needs none


@pytest.mark.parametrize("f, flops, moved", [
    (lambda x: jnp.sum(x, axis=0), 40, 4 * (48 + 8)), (lambda x: x.max(), 47, 4 * 49),
    (lambda x: x.T.reshape(-1).astype(jnp.int8), 0, 0), (lambda x: lax.cumsum(x, axis=1), 8, 2 * 4 * 48),
    (lambda x: laminax.pure_callback(np.sin, x, x), 0, 2 * 4 * 48),
])
def test_other_operations(f, flops, moved):
    result = estimate(f, jnp.ones((6, 8)))
    assert (result.unfused_flops, result.unfused_hbm_bytes) == (flops, moved)


@pytest.mark.parametrize("mode, flops", [("clip", 0), ("fill", 4 * 3 + 24)])
def test_gathers_and_scatters(mode, flops):
    """Three rows of eight: they are read and written, and the indices are read."""
    rows, indices = jnp.ones((6, 8)), jnp.zeros((3, 1), int)
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    result = estimate(lambda x, i: lax.gather(x, i, numbers, (1, 8), mode=mode), rows, indices)
    assert (result.unfused_flops, result.unfused_hbm_bytes) == (flops, 4 * (2 * 24 + 3))
    numbers = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    for scatter, each in [(lax.scatter, 0), (lax.scatter_add, 1), (lax.scatter_max, 1)]:
        result = estimate(lambda x, i, u: scatter(x, i, u, numbers, mode=mode), rows, indices, jnp.ones((3, 8)))
        assert (result.unfused_flops, result.unfused_hbm_bytes) == (24 * each, 4 * (3 * 24 + 3))


def ring_bytes(size, part):
    """Walks a ring: each device passes on, size - 1 times, the part that it got last."""
    return sum(part for _ in range(size - 1))


def test_collectives():
    per_device = dict(mesh=MESH, in_specs=P("x", "y"), out_specs=P("x", "y"))
    x = jnp.ones((8, 32), jnp.float32)  # 4 by 8 on each device
    gathered = estimate(lambda x: lax.all_gather(x, "y", axis=1, tiled=True)[:, :8], x, **per_device)
    assert gathered.ici_bytes == {"y": ring_bytes(4, 4 * 32)} and gathered.ici_latency == {"y": 4}
    scattered = estimate(lambda x: lax.psum_scatter(x, "y", scatter_dimension=1, tiled=True), x, **{**per_device, "out_specs": P("x", "y")})
    assert scattered.ici_bytes == {"y": ring_bytes(4, 4 * 32 // 4)}
    summed = estimate(lambda x: lax.psum(x, "y"), x, **{**per_device, "out_specs": P("x")})
    assert summed.ici_bytes == {"y": 2 * ring_bytes(4, 4 * 32 // 4)} and summed.ici_latency == {"y": 8}
    shifted = estimate(lambda x: lax.ppermute(x, "y", [(i, (i + 1) % 4) for i in range(4)]), x, **per_device)
    assert shifted.ici_bytes == {"y": 4 * 32} and shifted.ici_latency == {"y": 1}
    across = estimate(lambda x: lax.ppermute(x, "y", [(0, 2), (1, 3)]), x, **per_device)  # both use the link from 1 to 2
    assert across.ici_bytes == {"y": 2 * 4 * 32} and across.ici_latency == {"y": 2}
    turned = estimate(lambda x: lax.all_to_all(x, "y", 0, 1, tiled=True), x, **{**per_device, "out_specs": P(("x", "y"))})
    assert turned.ici_bytes == {"y": 4 * 32 * 4 // 2 // 2} and turned.ici_latency == {"y": 2}  # half of all, over two links of the ring
    alone = AbstractMesh((1,), ("z",), AxisType.Auto)
    assert estimate(lambda x: lax.psum(x, "z"), x, mesh=alone, in_specs=P("z"), out_specs=P()).ici_bytes == {"z": 0}


def test_results_know_how_they_are_split():
    shapes, _ = roofline(lambda x: x * 2, MESH, P("x"), P("x"))(jnp.ones((8, 3)))
    assert shapes.sharding.spec == P("x") and shapes.shape == (8, 3)


def test_with_derivatives():
    sharding = laminax.sharding.NamedSharding(MESH, P("x"))
    a = laminax.ShapeDtypeStruct((8, 8), jnp.float32, sharding=sharding)
    b = laminax.ShapeDtypeStruct((8, 8), jnp.float32, sharding=laminax.sharding.NamedSharding(MESH, P()))
    shapes, forward, backward = roofline_and_grad(lambda a, b: a @ b, MESH, (P("x"), P()), P("x"))(a, b)
    assert forward.flops == 2 * 4 * 8 * 8 and forward.hbm_bytes == 4 * (32 + 64 + 32)
    assert backward.flops == 2 * forward.flops and backward.hbm_bytes == 2 * 2 * (32 + 64 + 32)  # in bfloat16
    assert shapes.sharding.spec == P("x")
    assert estimate(lambda x: x @ x, jnp.ones((4, 4)), vjp=True).flops >= 2 * 2 * 4**3


def test_rules_of_users(caplog, capsys):
    mine_p = Primitive("mine")
    mine_p.def_impl(lambda x, *, work: x)
    mine_p.def_abstract_eval(lambda x, *, work: x)
    f = lambda x: mine_p.bind(x, work=3) + 1  # noqa: E731
    with caplog.at_level(logging.WARNING, "laminax"):
        assert estimate(f, jnp.ones(4)).unfused_flops == 4
    assert "mine has no rule" in caplog.text

    @register_roofline(mine_p)
    def _(context, x, *, work):
        assert context.primitive is mine_p and context.avals_in[0].shape == x.shape and context.mesh is None
        return RooflineResult(flops=work * x.size)
    assert estimate(f, jnp.ones(4), print_jaxpr=True).flops == 12
    assert "mine[work=3]" in capsys.readouterr().out
    register_standard_roofline(mine_p)
    assert estimate(f, jnp.ones(4)).flops == 0
    with pytest.raises(TypeError, match="expected a primitive, got 'mine' of type str"):
        register_roofline("mine")


def test_sums_and_multiples_of_results():
    one = RooflineResult(flops=1, ici_bytes={"x": 2}, peak_hbm_bytes=5)
    both = one + RooflineResult(flops=2, ici_bytes={"x": 1, "y": 4}, peak_hbm_bytes=3)
    assert both == RooflineResult(flops=3, ici_bytes={"x": 3, "y": 4}, peak_hbm_bytes=5)
    assert one * 3 == 3 * one == RooflineResult(flops=3, ici_bytes={"x": 6}, peak_hbm_bytes=15)
    assert RooflineResult.zeros() + one == one
    shape = RooflineShape.from_aval(laminax.typeof(jnp.ones((2, 3), jnp.int16)))
    assert (shape.size, shape.bytes, RooflineShape.total_bytes([laminax.typeof(1.0)] * 2)) == (6, 12, 8)
    with pytest.raises(TypeError, match="the type of an array"):
        RooflineShape.from_aval(3)


def test_bad_arguments_are_explained():
    with pytest.raises(TypeError, match="roofline"):
        roofline(3)
    context = RooflineRuleContext(name_stack=None, primitive=lax.psum_p, avals_in=(), avals_out=(), jaxpr_eqn_ctx=None, mesh=None,
                                  pin_lhs_in_vmem=False, pin_rhs_in_vmem=False)
    with pytest.raises(ValueError, match=r"psum over \('x',\) needs the sizes of these mesh axes: give roofline the mesh"):
        roofline_rule(lax.psum_p)(context, axes=("x",))


def test_the_function_is_found_beside_the_module_of_its_name():
    import laminax.experimental.roofline.roofline  # noqa: F401
    from laminax.experimental.roofline.roofline import RooflineShape as Shape
    assert laminax.experimental.roofline.roofline is roofline and Shape is RooflineShape
