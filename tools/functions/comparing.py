"""Calls a function eagerly, compiled and mapped, and compares its results with those of NumPy, SciPy or its program's reference."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np

from laminax_ir.reference.evaluate import evaluate

import laminax
import laminax.numpy as jnp
from functions.drawing import Call
from functions.entries import Entry


class Difference(AssertionError):
    """A result that is not what it should be."""


def check(function: Callable[..., Any], entry: Entry, call: Call, mode: str) -> None:
    """Raises Difference unless the results of a call are those of the oracle.

    Args:
      function: the public function.
      entry: its entry.
      call: the arguments.
      mode: "eager", "jit" or "vmap".
    """
    arrays, rebuild = split(call)
    if mode == "vmap":
        others = [np.asarray(np.flip(x)) if entry.flips else x for x in arrays]
        found = _leaves(_mapped(function, rebuild, arrays, others))
        for i, chosen in enumerate((arrays, others)):
            compare(_expected(function, entry, rebuild(chosen), found), [x[i] for x in found], entry, chosen)
        return
    if mode == "jit":
        run = laminax.jit(lambda *xs: _applied(function, rebuild(xs)))
        found = _leaves(run(*arrays))
    else:
        found = _leaves(_applied(function, rebuild([jnp.asarray(x) for x in arrays])))
    compare(_expected(function, entry, call, found), found, entry, arrays)


def _applied(function: Callable[..., Any], call: Call) -> Any:
    return function(*call.args, **call.kwargs)


def _mapped(function: Callable[..., Any], rebuild: Callable[[Any], Call], arrays: list[np.ndarray], others: list[np.ndarray]) -> Any:
    stacked = [np.stack(pair) for pair in zip(arrays, others)]
    if not stacked:
        return laminax.tree.map(lambda x: jnp.stack([x, x]), _applied(function, rebuild([])))
    return laminax.vmap(lambda *xs: _applied(function, rebuild(xs)))(*stacked)


def split(call: Call) -> tuple[list[np.ndarray], Callable[[Any], Call]]:
    """The arrays of a call, also those in its lists and tuples, and the function that puts others in their place."""
    leaves, structure = laminax.tree.flatten((call.args, call.kwargs), is_leaf=lambda x: x is None)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, np.ndarray)]

    def rebuild(arrays: Any) -> Call:
        filled = list(leaves)
        for i, x in zip(places, arrays):
            filled[i] = x
        return Call(*laminax.tree.unflatten(structure, filled))

    return [leaves[i] for i in places], rebuild


def _leaves(value: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in laminax.tree.leaves(value)]


def _expected(function: Callable[..., Any], entry: Entry, call: Call, found: list[np.ndarray]) -> list[np.ndarray]:
    """What the oracle answers."""
    arrays, rebuild = split(call)
    if entry.oracle is None:
        return _by_reference(function, arrays, rebuild)
    if not entry.raw:
        is_rounded = any(x.dtype.kind not in "biu" for x in found) and all(x.dtype.kind in "biu" for x in arrays)
        arrays = [_precise(x, is_rounded) for x in arrays]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        value = _applied(entry.oracle, rebuild(arrays))
    return [np.asarray(x) for x in _parts(value)]


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for x in value:
            yield from _parts(x)
    elif isinstance(value, dict):
        for _, x in sorted(value.items()):
            yield from _parts(x)
    else:
        yield value


def _by_reference(function: Callable[..., Any], arrays: list[np.ndarray], rebuild: Callable[[Any], Call]) -> list[np.ndarray]:
    program = laminax.make_jaxpr(lambda *xs: _applied(function, rebuild(xs)))(*arrays)
    return [np.asarray(x) for x in evaluate(program, *arrays)]


def _precise(x: np.ndarray, is_rounded: bool) -> np.ndarray:
    """An array in the precision that the oracle computes in."""
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    return x.astype(np.float64) if is_float(x.dtype) or is_rounded and x.dtype.kind in "biu" else x


def is_float(dtype: np.dtype) -> bool:
    """Whether a dtype is one of real floating-point numbers, those that NumPy lacks among them."""
    return dtype.kind == "f" or dtype == ml_dtypes.bfloat16


def compare(expected: list[np.ndarray], found: list[np.ndarray], entry: Entry, arguments: list[np.ndarray]) -> None:
    """Raises Difference unless as many results of the same shapes and kinds are there, with the same numbers."""
    if len(expected) != len(found):
        raise Difference(f"{len(found)} results; the oracle has {len(expected)}")
    for i, (wanted, value) in enumerate(zip(expected, found)):
        where = f"result {i}: " if len(found) > 1 else ""
        if wanted.shape != value.shape:
            raise Difference(f"{where}the shape is {value.shape}; the oracle's is {wanted.shape}")
        if _kind(wanted.dtype) != _kind(value.dtype) and not (entry.scale == "any" or _kind(wanted.dtype) < _kind(value.dtype)):
            raise Difference(f"{where}the dtype is {value.dtype}; the oracle's is {wanted.dtype}")
        wrong = _wrong(wanted, value, entry, arguments)
        if np.any(wrong):
            raise Difference(
                f"{where}{value.dtype}{list(value.shape)}{value.tolist() if value.size < 30 else value[wrong].tolist()[:9]}\n"
                f"    instead of {wanted.tolist() if wanted.size < 30 else wanted[wrong].tolist()[:9]}"
            )


def _kind(dtype: np.dtype) -> int:
    return 3 if dtype.kind == "c" else 2 if is_float(dtype) else "bi".index(dtype.kind.replace("u", "i"))


def _wrong(wanted: np.ndarray, value: np.ndarray, entry: Entry, arguments: list[np.ndarray]) -> np.ndarray:
    """Where a value is not what is wanted."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if value.dtype.kind in "biu":
            return wanted.astype(value.dtype) != value
        if value.dtype.kind == "c":
            part, precision = (np.float32, np.complex128) if value.dtype.itemsize == 8 else (np.float64, np.complex128)
            wanted, size = wanted.astype(precision), np.abs(wanted.astype(precision))
            parts = [(wanted.real.astype(part), value.real), (wanted.imag.astype(part), value.imag)]
        else:
            part, size = value.dtype.type, np.abs(wanted.astype(np.float64))
            parts = [(wanted.astype(value.dtype), value)]
        if entry.scale in ("largest", "square"):
            inexact = [np.abs(x[np.isfinite(x)].astype(np.complex128)) for x in arguments if x.dtype.kind not in "biu" and x.size]
            inexact = [x**2 for x in inexact] if entry.scale == "square" else inexact
            size = np.maximum(
                size, max([1.0, *(float(np.max(x, initial=0)) for x in inexact), float(np.max(size[np.isfinite(size)], initial=0))])
            )
        return functools.reduce(np.logical_or, (_differs(a, b, size, entry.units) for a, b in parts))


def _differs(wanted: np.ndarray, value: np.ndarray, size: np.ndarray, units: float) -> np.ndarray:
    info = ml_dtypes.finfo(value.dtype)
    wanted, value = wanted.astype(np.float64), value.astype(np.float64)
    allowed = units * float(info.eps) * np.where(np.isfinite(size), size, 1) + 2 * float(info.tiny)
    close = np.abs(wanted - value) <= allowed
    same = (np.isnan(wanted) & np.isnan(value)) | (wanted == value)
    largest = float(info.max)
    at_limit = (np.abs(wanted) >= largest * 0.98) & (np.abs(value) >= largest * 0.98) & (np.sign(wanted) == np.sign(value))
    return ~(close | same | at_limit)
