"""Checks for tests: derivatives against differences, vmap against a loop, and how often a function is traced.

Derivatives are checked in one random direction: J v against a central difference along v, and u' J against it by
u' (J v) = (u' J) v. The directions come from a fixed seed.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, Callable, Sequence

import numpy as np

from laminax_ir.pytrees.pytree import keystr, tree_leaves, tree_leaves_with_path, tree_map, tree_structure
from laminax_ir.types import dtypes
from laminax_transforms import jvp, linearize, vjp, vmap

if TYPE_CHECKING:
    from laminax_ir.types.annotations import Array, ArrayLike
    from laminax_transforms.custom.custom_jvp import custom_jvp

_STEP = 1e-4

# The accuracy of a finite difference with that step; as in JAX, so that its users' tests need no other tolerances.
_TOLERANCES = {np.dtype(dtypes.bfloat16): 1e-1, np.dtype(np.float16): 1e-2, np.dtype(np.float32): 2e-3, np.dtype(np.float64): 1e-5,
               np.dtype(np.complex64): 2e-3, np.dtype(np.complex128): 1e-5}


def check_grads(f: Callable, args: Sequence[Any], order: int, modes: Sequence[str] = ("fwd", "rev"), atol: Any = None,
                rtol: Any = None, eps: float | None = None) -> None:
    """Compares a function's derivatives, up to an order, with central differences.

    Args:
      f: a function of pytrees of arrays, smooth near `args`.
      args: the arguments, a sequence.
      order: the highest order of derivatives, at least 1.
      modes: "fwd" for forward mode, "rev" for reverse mode, "lin" for the forward mode of `linearize`, or several; for higher
        orders, all their compositions.
      atol: the absolute tolerance, a number or a dict of them by dtype; by default 1e-2, 2e-3 or 1e-5 for 16, 32 and
        64 bits, and 1e-1 for bfloat16 and less.
      rtol: the relative tolerance, likewise.
      eps: the step of the differences, to both sides; by default 1e-4.

    Raises:
      AssertionError: if one differs.

    Example:
      >>> check_grads(numpy.sin, (1.,), order=2)
    """
    if isinstance(modes, str):
        modes = (modes,)
    if not set(modes) <= {"fwd", "rev", "lin"} or not modes:
        raise ValueError(f"check_grads: modes must be of 'fwd', 'rev' and 'lin', got {tuple(modes)}")
    _check_order(f, tuple(args), order, modes, atol, rtol, eps or _STEP, "")


def _check_order(f: custom_jvp | Callable, args: tuple[Any, ...], order: int, modes: Sequence[str], atol: float | None, rtol: float | None,
                 eps: float, path: str) -> None:
    for mode, forward, name in (("fwd", jvp, "JVP"), ("lin", _jvp_by_linearize, "LIN")):
        if mode in modes:
            where = f"{path}{name}"
            check_jvp(f, functools.partial(forward, f), args, atol, rtol, eps, where)
            if order > 1:
                tangents = _random_like(np.random.RandomState(1), args)
                _check_order(lambda *args: forward(f, args, tangents)[1],  # noqa: B023
                             args, order - 1, modes, atol, rtol, eps, f"{where} of ")
    if "rev" in modes:
        where = f"{path}VJP"
        check_vjp(f, functools.partial(vjp, f), args, atol, rtol, eps, where)
        if order > 1:
            cotangent = _random_like(np.random.RandomState(1), f(*args))
            _check_order(lambda *args: vjp(f, *args)[1](cotangent), args, order - 1, modes, atol, rtol, eps, f"{where} of ")


def _jvp_by_linearize(f: custom_jvp | Callable, primals: tuple[Any, ...], tangents: tuple[ArrayLike, ...]) -> tuple[Any, Array]:
    result, f_jvp = linearize(f, *primals)
    return result, f_jvp(*tangents)


def check_jvp(f: Callable, f_jvp: Callable, args: Sequence[Any], atol: Any = None, rtol: Any = None, eps: float = _STEP,
              err_msg: str = "") -> None:
    """Compares a Jacobian-vector product with a central difference in one random direction.

    Args:
      f: a function of pytrees of arrays.
      f_jvp: takes `(primals, tangents)`, two tuples, and returns f's result and its tangent.
      args: the primals.
      atol, rtol, eps: see `check_grads`.
      err_msg: is put before the message.

    Raises:
      AssertionError: if the result or its tangent differs.
    """
    rng = np.random.RandomState(0)
    args = tuple(args)
    tangents = _random_like(rng, args)
    result = f(*args)
    other, tangent = f_jvp(args, tangents)
    _assert_close(other, result, atol, rtol, f"{err_msg} primal")
    _assert_close(tangent, _difference(f, args, tangents, eps), atol, rtol, f"{err_msg} tangent")


def check_vjp(f: Callable, f_vjp: Callable, args: Sequence[Any], atol: Any = None, rtol: Any = None, eps: float = _STEP,
              err_msg: str = "") -> None:
    """Compares a vector-Jacobian product with a central difference in one random direction.

    Args:
      f: a function of pytrees of arrays.
      f_vjp: takes the primals and returns f's result and the function from cotangents of it to those of the primals.
      args: the primals.
      atol, rtol, eps: see `check_grads`.
      err_msg: is put before the message.

    Raises:
      AssertionError: if the result differs, or the product.
    """
    rng = np.random.RandomState(0)
    args = tuple(args)
    result = f(*args)
    other, pullback = f_vjp(*args)
    _assert_close(other, result, atol, rtol, f"{err_msg} primal")
    tangents, cotangent = _random_like(rng, args), _random_like(rng, result)
    expected = _inner(cotangent, _difference(f, args, tangents, eps))
    _assert_close(_inner(pullback(cotangent), tangents), expected, atol, rtol, f"{err_msg} cotangent")


def _random_like(rng: np.random.RandomState, tree: Any) -> Any:
    """A tangent of each leaf: normal numbers in its shape and dtype, or float0 for integers.

    They are the numbers that JAX draws: the default tolerances are tight, and whether a difference keeps to them is chance.
    """
    def draw(x: Any) -> Array:
        dtype, shape = dtypes.dtype(x), np.shape(x)
        if not dtypes.issubdtype(dtype, dtypes.inexact):
            return np.zeros(shape, dtypes.float0)
        value = rng.randn(*shape)
        if dtypes.issubdtype(dtype, dtypes.complexfloating):
            value = value + 1j * rng.randn(*shape)
        return np.asarray(value).astype(dtype)
    return tree_map(draw, tree)


def _difference(f: Callable, args: tuple[ArrayLike, ...], tangents: tuple[ArrayLike, ...], eps: float) -> Any:
    def moved(sign: int) -> Any:
        def move(x: ArrayLike, t: ArrayLike) -> Array:
            if dtypes.dtype(t) == dtypes.float0:
                return x
            return np.asarray(np.asarray(x) + sign * eps * t).astype(dtypes.dtype(x))
        return f(*tree_map(move, args, tangents))

    def slope(high: Array, low: Array) -> Array:
        dtype = dtypes.dtype(high)
        if not dtypes.issubdtype(dtype, dtypes.inexact):
            return np.zeros(np.shape(high), dtypes.float0)
        return ((np.asarray(high) - np.asarray(low)) / (2 * eps)).astype(dtype)
    return tree_map(slope, moved(1), moved(-1))


def _inner(a: Any, b: Any) -> Any:
    """The sum of the products of all elements, without conjugation, as transposition means it."""
    pairs = [(np.asarray(x), np.asarray(y)) for x, y in zip(tree_leaves(a), tree_leaves(b))
             if dtypes.dtype(x) != dtypes.float0 and dtypes.dtype(y) != dtypes.float0]
    if not pairs:
        return np.float32(0)
    narrow = min((p[0].dtype for p in pairs), key=lambda dtype: dtype.itemsize)
    total = sum((x.astype(np.result_type(x.dtype, np.float64)) * y).sum() for x, y in pairs)
    return np.real(total).astype(np.zeros((), narrow).real.dtype)


def _assert_close(got: Any, expected: Any, atol: Any, rtol: Any, what: str) -> None:
    if tree_structure(got) != tree_structure(expected):
        raise AssertionError(f"{what}: the structure {tree_structure(got)} differs from {tree_structure(expected)}")
    for (path, x), y in zip(tree_leaves_with_path(got), tree_leaves(expected)):
        dtype = dtypes.dtype(y)
        if dtype == dtypes.float0:
            continue
        if np.shape(x) != np.shape(y):
            raise AssertionError(f"{what}{keystr(path)}: the shape {np.shape(x)} differs from {np.shape(y)}")
        tolerances = [_tolerance(t, dtypes.dtype(x), dtype) for t in (atol, rtol)]
        x, y = (np.asarray(v).astype(np.result_type(np.float64, dtype) if dtype.kind in "fc" else np.float64) for v in (x, y))
        np.testing.assert_allclose(x, y, atol=tolerances[0], rtol=tolerances[1], err_msg=f"{what}{keystr(path)}".strip())


def _tolerance(given: Any, *found: np.dtype) -> float:
    """The one given, of the dtype if there are several, or the default; the larger of the dtypes'."""
    def of(dtype: np.dtype) -> float:
        if isinstance(given, dict):
            table = {np.dtype(k): v for k, v in given.items()}
            if dtype in table:
                return table[dtype]
        elif given is not None:
            return given
        if not dtypes.issubdtype(dtype, dtypes.inexact):
            return 0.0
        return _TOLERANCES.get(dtype, 1e-1)
    return max(of(dtype) for dtype in found)


def check_batching(f: Callable, args: Sequence[Any], in_axes: Any = 0, out_axes: Any = 0, atol: Any = None, rtol: Any = None) -> None:
    """Compares `vmap(f)` with a Python loop over f.

    Args:
      f: a function of pytrees of arrays.
      args: the batched arguments, a sequence.
      in_axes: the mapped axis of each argument: an int or None, or a sequence with one of them for each.
      out_axes: where the mapped axis of the results is to be; an int.
      atol, rtol: see `check_grads`; by default the loop and `vmap` are to agree to about 30 roundings.

    Raises:
      AssertionError: if they differ.
      ValueError: if no argument is mapped.

    Example:
      >>> check_batching(numpy.dot, (numpy.ones((3, 2)), numpy.ones(2)), in_axes=(0, None))
    """
    args = tuple(args)
    axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    sizes = {np.shape(x)[axis] for arg, axis in zip(args, axes) if axis is not None for x in tree_leaves(arg)}
    if len(sizes) != 1:
        raise ValueError(f"check_batching: the mapped axes must have one size, got {sorted(sizes) or 'no mapped argument'}")
    rows = [f(*(arg if axis is None else tree_map(lambda x: np.take(np.asarray(x), i, axis), arg) for arg, axis in zip(args, axes)))
            for i in range(sizes.pop())]
    expected = tree_map(lambda *leaves: np.stack([np.asarray(x) for x in leaves], out_axes), *rows)
    got = vmap(f, in_axes=axes, out_axes=out_axes)(*args)
    eps = max((float(dtypes.finfo(x.dtype).eps) for x in tree_leaves(expected) if dtypes.issubdtype(x.dtype, dtypes.inexact)),
              default=0.0)
    _assert_close(got, expected, 32 * eps if atol is None else atol, 32 * eps if rtol is None else rtol, "vmap against a loop")


def assert_max_traces(fun: Callable | None = None, n: int | None = None) -> Callable:
    """Makes a function fail when it is called more than n times: under `jit`, when it is traced more often than that.

    Args:
      fun: the function, to be wrapped in `jit` afterwards; without it, a decorator is returned.
      n: how many calls are allowed.

    Raises:
      AssertionError: by the function, at the call after the n-th.

    Example:
      >>> step = jit(assert_max_traces(lambda x: x + 1, n=1))
      >>> step(1), step(2)
    """
    if fun is None:
        return functools.partial(assert_max_traces, n=n)
    if not callable(fun):
        raise TypeError(f"assert_max_traces: a function is expected, got {fun!r}; write assert_max_traces(n={fun!r}) to decorate")
    if n is None or math.floor(n) != n or n < 0:
        raise ValueError(f"assert_max_traces: n must be a number of calls, got {n!r}")
    count = 0

    @functools.wraps(fun)
    def counted(*args: ArrayLike, **kwargs: Any) -> Array:
        nonlocal count
        count += 1
        if count > n:
            raise AssertionError(f"{getattr(fun, '__name__', fun)} was traced {count} times, {n} allowed. The setting explain_cache_misses "
                                 "says what changed between the calls.")
        return fun(*args, **kwargs)
    return counted
