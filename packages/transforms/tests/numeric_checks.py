"""Oracles for the rules: central differences, the inner-product identity, a Python loop.

Everything runs on the reference evaluator, in float64, where a central difference of step 1e-4 is good to about 1e-8.
"""

import numpy as np

from laminax_ir.options import config
from laminax_transforms import jvp, vjp, vmap


def check_derivatives(fun, *args, order: int = 2, rtol: float = 1e-5, atol: float = 1e-6, forward: bool = True,
                      reverse: bool = True) -> None:
    """Forward mode against central differences, reverse mode against forward mode, up to the given order.

    Args:
      fun: takes arrays and returns one array.
      *args: float64 or complex128 arrays away from kinks.
      order: how often to differentiate.
      rtol, atol: tolerance of the differences.
      forward: whether forward mode is defined; otherwise reverse mode is held against the differences.
      reverse: whether reverse mode is defined.
    """
    rng = np.random.default_rng(0)
    with config.enable_x64(True):
        _check(fun, args, order, rng, rtol, atol, forward, reverse)


def _check(fun, args, order, rng, rtol, atol, forward, reverse):
    directions = [_random_like(x, rng) for x in args]
    step = 1e-4
    plus, minus = (np.asarray(fun(*(x + s * step * d for x, d in zip(args, directions)))) for s in (1, -1))
    tangent = (plus - minus) / (2 * step)
    if forward:
        result, exact = jvp(fun, args, tuple(directions))
        np.testing.assert_allclose(result, fun(*args), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(exact, tangent, rtol=rtol, atol=atol)
        tangent = exact
    if reverse:
        result, pullback = vjp(fun, *args)
        ct = _random_like(np.asarray(result), rng)
        cts = pullback(ct)
        for x, c in zip(args, cts):
            assert np.shape(c) == np.shape(x) and np.asarray(c).dtype == np.asarray(x).dtype
        # Re<ct, J d> == Re<J^T ct, d>, without conjugation: JAX's transposes are of the bilinear pairing. The real parts are
        # the whole statement: a map that is linear over the complex numbers has them for i ct too.
        backward = sum(np.sum(np.asarray(c) * d) for c, d in zip(cts, directions))
        tolerance = 1e-8 if forward else rtol * max(1, np.size(tangent))
        np.testing.assert_allclose(np.real(backward), np.real(np.sum(np.asarray(ct) * np.asarray(tangent))), rtol=tolerance, atol=tolerance)
    if order > 1 and forward:
        _check(lambda *xs: jvp(fun, xs, tuple(directions))[1], args, order - 1, rng, rtol, atol, forward, reverse)
        if reverse:
            _check(lambda *xs: vjp(fun, *xs)[1](ct)[0], args, order - 1, rng, rtol, atol, forward, reverse)


def _random_like(x, rng):
    x = np.asarray(x)
    noise = rng.normal(size=x.shape)
    return (noise + 1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else noise).astype(x.dtype)


def check_vmap(fun, args, in_axes, out_axes=0, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """`vmap` against a loop and `np.stack`; `fun` may return a list of arrays."""
    size = next(np.shape(x)[a] for x, a in zip(args, in_axes) if a is not None)
    loop = [fun(*(x if a is None else np.take(x, i, axis=a) for x, a in zip(args, in_axes))) for i in range(size)]
    mapped = vmap(fun, in_axes=tuple(in_axes), out_axes=out_axes)(*args)
    if not isinstance(mapped, (list, tuple)):
        mapped, loop = [mapped], [[y] for y in loop]
    for i, result in enumerate(mapped):
        expected = np.stack([np.asarray(y[i]) for y in loop], axis=out_axes)
        assert np.asarray(result).dtype == expected.dtype
        wide = np.promote_types(expected.dtype, np.float64) if expected.dtype.kind in "fc" else np.float64
        np.testing.assert_allclose(np.asarray(result).astype(wide), expected.astype(wide), rtol=rtol, atol=atol)
