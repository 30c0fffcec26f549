"""`laminax.explain` of programs over several devices: what they send each other, and which lines cause it."""

from __future__ import annotations

import numpy as np
import pytest
from block_programs import always_cut
from meshes import MESH, put, value

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.sharding import PartitionSpec as P


def contract(x, w):
    y = x @ w
    return jnp.sin(y)


def test_a_product_over_a_split_axis_is_resharding_at_its_line():
    # x f32[16,64] and w f32[64,8] are split over the contracted axis on 4 of the devices, so each has a term of every element of y
    x, w = put(value(16, 64), None, "x"), put(value(64, 8), "x", None)
    report = laminax.explain(contract, x, w)
    assert report.devices == 8
    sums = [c for c in report.collectives if c.kind in ("all-reduce", "reduce-scatter")]
    assert sums and all(c.place.text == "y = x @ w" and not c.is_asked_for for c in sums)
    if {c.kind for c in report.collectives} == {"all-reduce"}:
        (one,) = report.collectives
        assert one.devices == 4 and one.moved == 2 * 3 / 4 * (16 * 8 * 4)  # of a ring: twice 3 of 4 parts
    assert report.line("y = x @ w").flops == 2 * 16 * 64 * 8  # on all devices together
    assert report.resharding[sums[0].place] == report.line("y = x @ w").moved > 0
    assert "resharding at cases_of_explain.py" in str(report)
    assert "('x', None)" in report.structure.shardings and "(None, 'x')" in report.structure.shardings


def test_what_the_program_asks_for_is_no_resharding():
    def mean(x):
        return lax.psum(x, "x")

    x = put(value(16, 64), "x")
    report = laminax.explain(laminax.shard_map(mean, mesh=MESH, in_specs=P("x"), out_specs=P()), x)
    assert [c.kind for c in report.collectives] == ["all-reduce"] and report.collectives[0].is_asked_for
    assert report.collectives[0].moved == 2 * 3 / 4 * (4 * 64 * 4)
    assert not report.resharding and report.line("lax.psum").moved == report.collectives[0].moved


def test_each_device_runs_its_part():
    def product(x, w):
        return x @ w

    # 4 devices along x each have 4 of 16 rows; the other axis repeats the work, and counts: all eight compute
    report = laminax.explain(laminax.shard_map(product, mesh=MESH, in_specs=(P("x"), P()), out_specs=P("x")), value(16, 64), value(64, 8))
    assert report.line("x @ w").flops == 8 * (2 * 4 * 64 * 8)


def test_the_page_shows_what_is_sent():
    x, w = put(value(16, 64), None, "x"), put(value(64, 8), "x", None)
    text = laminax.explain(contract, x, w).html()
    assert 'id="devices"' in text and "resharding" in text and "chip split" in text and "chip move" in text


def test_memory_is_that_of_one_device():
    x = put(np.ones((80, 40), np.float32), "x", "y")
    report = laminax.explain(lambda x: jnp.sin(x) * 2, x)
    assert report.memory.arguments == report.memory.results == 80 * 40 * 4 // 8


def test_regions_over_several_devices(monkeypatch):
    always_cut(monkeypatch)
    weights = [{"inner": put(value(128, 128), None, "y"), "out": put(value(128, 128), "y", None)} for _ in range(10)]
    x = put(value(64, 128), "x", None)

    @laminax.jit
    def block(w, x):
        y = x
        for _ in range(12):
            y = jnp.tanh(y @ w["inner"]) + y
        return x + y @ w["out"]

    def loss(weights, x):
        for w in weights:
            x = block(w, x)
        return (x**2).mean()

    gradient = laminax.jit(laminax.grad(loss))
    report = laminax.explain(gradient, weights, x)
    stats = gradient.lower(weights, x).compile().memory_analysis()
    assert report.regions.startswith("in ") and report.devices == 8
    assert report.memory.peak == stats.peak_memory_in_bytes
    assert max(report.memory.in_use) == pytest.approx(stats.peak_memory_in_bytes, rel=0.05)
    inner = next(b for b in report.memory.buffers if b.name == "weights[0]['inner']")
    assert (inner.size, inner.type) == (128 * 64 * 4, "f32[128,64]")
    assert report.line('y @ w["inner"]').flops >= 10 * 12 * 3 * (2 * 64 * 128 * 128)
    assert report.resharding
