"""Operations that hold programs, random bits and callbacks."""

from __future__ import annotations

from typing import Iterator

import numpy as np
from compiled.comparison import Comparison
from compiled.drawing import BOOL, FLOATS, Draw

from laminax_ir.ops import calls
from laminax_ir.ops import random_bits as bits
from laminax_ir.types import dtypes

import laminax
from laminax import lax


def comparisons(draw: Draw, dtype: np.dtype) -> Iterator[Comparison]:
    """Loops, branches, calls on an array of the dtype; once each, random bits and callbacks."""
    shape = draw.integers(0 if draw.integer(0, 4) == 0 else 1, 3, draw.integer(1, 3))
    x = draw.normal(dtype, shape)
    yield from _control_flow(draw, dtype, x)
    yield from _calls(dtype, x)
    if dtype == np.float32:
        yield from _random_bits(draw)
        yield Comparison("pure_callback", _on_the_host, [x])


def _on_the_host(x):
    """Twice x, on the host."""
    return laminax.pure_callback(lambda x: np.asarray(x) * 2, laminax.ShapeDtypeStruct(x.shape, x.dtype), x)


def _combined(a, b):
    return lax.bitwise_xor(a, b) if a.dtype == bool else lax.max(a, b) if a.dtype.kind != "c" else lax.sub(a, b)


def _control_flow(draw: Draw, dtype: np.dtype, x: np.ndarray) -> Iterator[Comparison]:
    shape = x.shape

    def step(carry, value):
        return _combined(value, carry), (carry, value)

    for reverse, unroll in ((False, 1), (True, 2), (False, True)):
        yield Comparison("scan", lambda x, v, r=reverse, u=unroll: lax.scan(step, v, x, reverse=r, unroll=u)[1],
                         [x, draw.normal(dtype, shape[1:])])
    count = np.array(draw.integer(0, 5), np.int32)
    yield Comparison("while", lambda x, n: lax.while_loop(
        lambda c: c[0] < n, lambda c: (c[0] + 1, _combined(c[1], x)), (np.int32(0), x))[1], [x, count])
    yield Comparison("cond", lambda x, p: lax.cond(p, lambda x: x, lambda x: _combined(x, x), x), [x, np.array(draw.integer(0, 1), bool)])
    yield Comparison("cond", lambda x, i: lax.switch(i, [lambda x: x, lambda x: _combined(x, x), lambda x: lax.rev(x, (0,))], x),
                     [x, np.array(draw.integer(-3, 5), np.int32)])
    yield Comparison("platform_index", lambda x: lax.platform_dependent(x, tpu=lambda x: _combined(x, x), default=lambda x: x), [x])


def _calls(dtype: np.dtype, x: np.ndarray) -> Iterator[Comparison]:
    def twice(x):
        return _combined(_combined(x, x), x)

    yield Comparison("jit", laminax.jit(twice), [x])
    yield Comparison("checkpoint", laminax.checkpoint(twice), [x])
    with_vmap = laminax.custom_batching.custom_vmap(twice)
    with_vmap.def_vmap(lambda size, in_batched, x: (twice(x), in_batched[0]))
    yield Comparison("custom_vmap_call", with_vmap, [x])
    yield Comparison("name", lambda x: calls.name_p.bind(x, name="x"), [x])
    with_jvp, with_vjp = laminax.custom_jvp(twice), laminax.custom_vjp(twice)
    with_jvp.defjvp(lambda primals, tangents: (twice(*primals), tangents[0]))
    with_vjp.defvjp(lambda x: (twice(x), None), lambda _, ct: (ct,))
    yield Comparison("custom_jvp_call", with_jvp, [x])
    yield Comparison("custom_vjp_call", with_vjp, [x])
    if dtype in FLOATS and dtype not in BOOL:
        solve = lambda matvec, b: lax.div(b, matvec(lax.full_like(b, 1)))  # noqa: E731
        yield Comparison("custom_linear_solve",
                         lambda b: lax.custom_linear_solve(lambda v: lax.mul(v, lax.full_like(v, 4)), b, solve, solve), [x])


def _random_bits(draw: Draw) -> Iterator[Comparison]:
    seed = np.array(draw.integer(-2**31, 2**31 - 1), np.int32)
    words = draw.rng.integers(0, 2**32, (2, 2), np.uint32)
    shape = draw.integers(0, 5, draw.integer(0, 3))
    for impl in ("threefry2x32", "rbg", "unsafe_rbg"):
        yield Comparison("random_seed", lambda s, i=impl: bits.random_unwrap(bits.random_seed(s, i)), [seed])
        yield Comparison("random_split", lambda s, i=impl: bits.random_unwrap(bits.random_split(bits.random_seed(s, i), (2,))), [seed])
        yield Comparison("random_fold_in", lambda s, d, i=impl: bits.random_unwrap(bits.random_fold_in(bits.random_seed(s, i), d)),
                         [seed, np.array(7, np.uint32)])
        for width in (8, 16, 32, 64):
            yield Comparison("random_bits", lambda s, i=impl, w=width: bits.random_bits(bits.random_seed(s, i), w, shape), [seed])
    yield Comparison("random_wrap", lambda w: bits.random_unwrap(bits.random_clone(bits.random_wrap(w, impl="threefry2x32"))), [words])
    counted = dtypes.primal_tangent_dtype("uint32", "float32")
    for name in ("to_edtype", "from_edtype"):
        yield Comparison(name, lambda w: lax.convert_element_type(lax.convert_element_type(w, counted)[::-1], "uint32"), [words])
    yield Comparison("threefry2x32", lambda *xs: bits.threefry2x32_p.bind(*xs),
                     [draw.rng.integers(0, 2**32, n, np.uint32) for n in ((), (), (5,), (5,))])
    yield Comparison("iota_2x32_shape", lambda: bits.iota_2x32_shape_p.bind(shape=(2, 3)), [])
    yield Comparison("rng_bit_generator", lambda s: bits.rng_bit_generator(s, (5,), np.uint32), [draw.rng.integers(0, 2**32, 4, np.uint32)])
