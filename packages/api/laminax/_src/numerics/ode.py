"""Ordinary differential equations by an adaptive Runge-Kutta method, with derivatives by the adjoint equation.

Sources: J. Dormand and P. Prince, "A Family of Embedded Runge-Kutta Formulae", J. Comp. Appl. Math. 6 (1980); the dense output
and the choice of steps: E. Hairer, S. Norsett and G. Wanner, "Solving Ordinary Differential Equations I", II.4 to II.6; the
adjoint equation: R. Chen et al., "Neural Ordinary Differential Equations", NeurIPS 2018.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

import numpy as np

from laminax_ir.ops.loops import scan, while_loop
from laminax_ir.pytrees.pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from laminax_ir.types import dtypes
from laminax_ir.types.avals import get_aval, is_array_like
from laminax_transforms import closure_convert, custom_vjp, vjp, vmap

from laminax._src.numerics.flatten_util import ravel_pytree
from laminax._src.numerics.numpy import namespace as jnp

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike

_NODES = (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,), (3 / 40, 9 / 40), (44 / 45, -56 / 15, 32 / 9), (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656), (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84))
_ERROR = (35 / 384 - 5179 / 57600, 0.0, 500 / 1113 - 7571 / 16695, 125 / 192 - 393 / 640, -2187 / 6784 + 92097 / 339200,
          11 / 84 - 187 / 2100, -1 / 40)
_DENSE = (-12715105075 / 11282082432, 0.0, 87487479700 / 32700410799, -10690763975 / 1880347072, 701980252875 / 199316789632,
          -1453857185 / 822651844, 69997945 / 29380423)


def odeint(func: Callable, y0: Any, t: Any, *args: Any, rtol: float = 1.4e-8, atol: float = 1.4e-8, mxstep: float = math.inf,
           hmax: float = math.inf) -> Any:
    """The solution of y' = func(y, t, *args) at given times.

    Args:
      func: takes y, a time and args, and returns a value like y.
      y0: the value at the first time, a pytree of float arrays.
      t: float [n], the times, ascending.
      *args: further arguments of func, pytrees of arrays.
      rtol, atol: the error of a step is to be at most atol + rtol |y|.
      mxstep: the most steps between two times.
      hmax: the longest step.

    Returns:
      A pytree like y0, each array with the times in a first axis. It has derivatives in y0, t and args in reverse mode,
      by the adjoint equation, whose error is controlled likewise.

    Raises:
      TypeError: if an argument is no array, or func returns something unlike y.

    Example:
      >>> odeint(lambda y, t: -y, numpy.float32(1.), numpy.array([0., 1., 2.]))
      Array([1.        , 0.36787942, 0.1353352 ], dtype=float32)
    """
    for leaf in tree_leaves((y0, t, args)):
        if not is_array_like(leaf):
            raise TypeError(f"odeint: the contents of y0, t and args must be arrays or scalars, got {type(leaf)}. Bind other values with a "
                            "lambda.")
    y0 = tree_map(lambda x: jnp.asarray(x).astype(dtypes.to_inexact_dtype(get_aval(x).dtype)), y0)
    t = jnp.asarray(t)
    t = t.astype(dtypes.to_inexact_dtype(t.dtype))
    if t.ndim != 1 or not len(t):
        raise TypeError(f"odeint: t must be a vector of times, got {get_aval(t).str_short()}")
    flat_y0, unravel = ravel_pytree(y0)
    converted, consts = closure_convert(func, y0, t[0], *args)
    leaves, treedef = tree_flatten((args, list(consts)))
    is_real = tuple(dtypes.issubdtype(get_aval(x).dtype, dtypes.inexact) for x in leaves)

    def slope(y: Any, t: Any, reals: Any, rest: Any) -> Any:
        reals, rest = iter(reals), iter(rest)
        args, consts = tree_unflatten(treedef, [next(reals if real else rest) for real in is_real])
        result = converted(unravel(y), t, *args, *consts)
        flat, _ = ravel_pytree(result)
        if flat.shape != y.shape:
            raise TypeError(f"odeint: func must return a value like y0, {tree_map(get_aval, y0)}; got {tree_map(get_aval, result)}")
        return flat.astype(y.dtype)

    reals = [jnp.asarray(x) for x, real in zip(leaves, is_real) if real]
    rest = [jnp.asarray(x) for x, real in zip(leaves, is_real) if not real]
    control = _Control(float(rtol), float(atol), float(mxstep), float(hmax))
    solution = _solve(slope, control, flat_y0, t, reals, rest)
    return vmap(unravel)(solution)


class _Control(NamedTuple):
    """What bounds the steps."""
    rtol: float
    atol: float
    mxstep: float
    hmax: float


@functools.partial(custom_vjp, nondiff_argnums=(0, 1))
def _solve(slope: Callable, control: _Control, y0: Any, ts: Any, reals: Sequence[Any], rest: Sequence[Any]) -> Any:
    return _integrate(lambda y, t: slope(y, t, reals, rest), control, y0, ts)


def _forward(slope: Callable, control: _Control, y0: Any, ts: Any, reals: Sequence[Any],
             rest: Sequence[Array]) -> tuple[Any, tuple[Any, Any, Any, Any]]:
    ys = _solve(slope, control, y0, ts, reals, rest)
    return ys, (ys, ts, reals, rest)


def _backward(slope: Callable, control: _Control, residuals: tuple[Any, ...], ct: Any) -> tuple[Any, Any, list[Any], list[Array]]:
    """Backwards in time, with the cotangents of y and of the arguments beside y."""
    ys, ts, reals, rest = residuals

    def between(carry: tuple[Any, ...], row: tuple[ArrayLike, ...]) -> tuple[tuple[Array, Array, Any], Array]:
        y_bar, t0_bar, reals_bar = carry
        y, t, earlier, ct_now, ct_before = row
        velocity = slope(y, t, reals, rest)
        t_bar = jnp.sum(velocity * ct_now).real.astype(ts.dtype)
        flat, unravel = ravel_pytree((y, y_bar, t0_bar - t_bar, reals_bar))

        def adjoint(state: ArrayLike, minus_t: ArrayLike, reals: Sequence[ArrayLike], rest: Sequence[Any]) -> Array:
            y, y_bar, _, _ = unravel(state)
            velocity, pullback = vjp(lambda y, t, reals: slope(y, t, reals, rest), y, -minus_t, reals)
            y_dot, t_dot, reals_dot = pullback(y_bar)
            return ravel_pytree((-velocity, y_dot, t_dot, reals_dot))[0]
        end = _solve(adjoint, control, flat, jnp.stack([-t, -earlier]), reals, rest)[1]  # which has derivatives again
        _, y_bar, t0_bar, reals_bar = unravel(end)
        return (y_bar + ct_before, t0_bar, reals_bar), t_bar

    start = ct[-1], jnp.zeros((), ts.dtype), [jnp.zeros_like(x) for x in reals]
    rows = tuple(v[::-1] for v in (ys[1:], ts[1:], ts[:-1], ct[1:], ct[:-1]))
    (y_bar, t0_bar, reals_bar), ts_bar = scan(between, start, rows)
    zeros = [np.zeros(x.shape, dtypes.float0) for x in rest]
    return y_bar, jnp.concatenate([t0_bar[None], ts_bar[::-1]]), reals_bar, zeros


_solve.defvjp(_forward, _backward)


# --- the integrator ---


def _rms(x: Any) -> Any:
    return jnp.sqrt(jnp.mean(jnp.abs(x) ** 2)) if x.size else jnp.zeros((), x.real.dtype)


def _first_step(slope: Callable, t0: Any, y0: Any, f0: Any, control: _Control) -> Any:
    """A guess whose error is about that allowed, by a trial step of Euler's method."""
    scale = control.atol + jnp.abs(y0) * control.rtol
    d0, d1 = _rms(y0 / scale), _rms(f0 / scale)
    h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / jnp.where(d1 == 0, 1, d1))
    f1 = slope(y0 + h0.astype(y0.real.dtype) * f0, t0 + h0)
    d2 = _rms((f1 - f0) / scale) / h0
    steepest = jnp.maximum(d1, d2)
    h1 = jnp.where(steepest <= 1e-15, jnp.maximum(1e-6, h0 * 1e-3), (0.01 / jnp.where(steepest == 0, 1, steepest)) ** 0.2)
    return jnp.minimum(100 * h0, h1)


def _step(slope: Callable, y: ArrayLike, f: ArrayLike, t: ArrayLike, h: ArrayLike) -> tuple[Array, Array, Array, list[Array]]:
    """The next value and slope, the error's estimate, and the stages' slopes."""
    h = h.astype(y.real.dtype)
    ks = [f]
    for node, weights in zip(_NODES, _STAGES):
        last = y + h * sum(w * k for w, k in zip(weights, ks) if w)
        ks.append(slope(last, t + node * h))
    error = h * sum(w * k for w, k in zip(_ERROR, ks) if w)
    return last, ks[-1], error, ks


def _coefficients(y: ArrayLike, new_y: ArrayLike, h: ArrayLike, ks: Sequence[ArrayLike]) -> Array:
    """The dense output: a polynomial of order 4 in the part of the step."""
    h = h.astype(y.real.dtype)
    difference = new_y - y
    r3 = h * ks[0] - difference
    r4 = difference - h * ks[-1] - r3
    r5 = h * sum(w * k for w, k in zip(_DENSE, ks) if w)
    return jnp.stack([y, difference, r3, r4, r5])


def _interpolated(coefficients: ArrayLike, part: ArrayLike) -> Array:
    y, difference, r3, r4, r5 = coefficients
    part = part.astype(y.real.dtype)
    rest = 1 - part
    return y + part * (difference + rest * (r3 + part * (r4 + rest * r5)))


def _integrate(slope: Callable, control: _Control, y0: Any, ts: Any) -> Any:
    """[n, size], the values at the times."""
    ts = ts.astype(ts.dtype)

    def to_time(carry: tuple[ArrayLike, ...], target: ArrayLike) -> tuple[tuple[Array, ...], Array]:
        def is_going(state: tuple[ArrayLike, ...]) -> Array:
            i, _, _, t, h, _, _ = state
            return (t < target) & (i < control.mxstep) & (h > 0)

        def advance(state: tuple[ArrayLike, ...]) -> tuple[Array, ...]:
            i, y, f, t, h, previous, coefficients = state
            new_y, new_f, error, ks = _step(slope, y, f, t, h)
            scale = control.atol + control.rtol * jnp.maximum(jnp.abs(y), jnp.abs(new_y))
            ratio = _rms(error / scale).astype(h.dtype)
            ratio = jnp.where(jnp.isnan(ratio), math.inf, ratio)
            accepted = ratio <= 1
            factor = jnp.clip(0.9 * jnp.where(ratio == 0, 1e-10, ratio) ** -0.2, jnp.where(accepted, 1.0, 0.2), 10.0)
            new_h = jnp.clip(h * factor, 0, control.hmax)
            kept = lambda new, old: jnp.where(accepted, new, old)  # noqa: E731
            return (i + 1, kept(new_y, y), kept(new_f, f), kept(t + h, t), new_h, kept(t, previous),
                    kept(_coefficients(y, new_y, h, ks), coefficients))

        state = while_loop(is_going, advance, (0, *carry))
        _, y, f, t, h, previous, coefficients = state
        span = t - previous
        part = jnp.where(span == 0, 0, (target - previous) / jnp.where(span == 0, 1, span))
        return state[1:], _interpolated(coefficients, part)

    f0 = slope(y0, ts[0])
    h = jnp.clip(_first_step(slope, ts[0], y0, f0, control), 0, control.hmax).astype(ts.dtype)
    start = y0, f0, ts[0], h, ts[0], jnp.stack([y0] + [jnp.zeros_like(y0)] * 4)
    _, ys = scan(to_time, start, ts[1:])
    return jnp.concatenate([y0[None], ys])
