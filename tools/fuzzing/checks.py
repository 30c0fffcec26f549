"""What must agree about a program: its values computed in several ways, and its derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from laminax_ir.reference.evaluate import evaluate

import laminax
import laminax.numpy as jnp
from fuzzing.drawing import kinds_of
from fuzzing.programs import Kind, Program
from laminax.sharding import NamedSharding
from laminax.sharding import PartitionSpec as P

Check = Callable[[Program, list[np.ndarray]], None]


class Disagreement(AssertionError):
    """Two ways of computing a program's values differ."""


def check_jit(program: Program, arguments: list[np.ndarray]) -> None:
    """Compiled as one program, as operation by operation."""
    agree("eager", _eager(program, arguments), "jit", laminax.jit(program)(*arguments), output_kinds(program))


def check_reference(program: Program, arguments: list[np.ndarray]) -> None:
    """Compiled, as NumPy evaluates the traced program."""
    expected = evaluate(laminax.make_jaxpr(program)(*arguments), *arguments)
    agree("NumPy", expected, "jit", laminax.jit(program)(*arguments), output_kinds(program))


def check_vmap(program: Program, arguments: list[np.ndarray]) -> None:
    """Mapped over three sets of arguments, as one after the other."""
    batches = [np.stack([np.asarray(x), np.roll(x, 1), np.flip(x)]) for x in arguments]
    expected = [np.stack(values) for values in zip(*(_eager(program, [b[i] for b in batches]) for i in range(3)))]
    agree("one by one", expected, "vmap", laminax.jit(laminax.vmap(program))(*batches), output_kinds(program))


def check_derivatives(program: Program, arguments: list[np.ndarray]) -> None:
    """The derivative along a tangent from forward mode, as that of the gradient from reverse mode; compiled and not."""
    kinds = output_kinds(program)
    places = [i for i, kind in enumerate(program.inputs) if kind.is_float]
    results = [i for i, kind in enumerate(kinds) if kind.is_float]
    if not results or program.contains("while_loop"):  # which has no reverse mode
        return
    rng = np.random.default_rng(7)
    tangents = [rng.normal(size=arguments[i].shape).astype(arguments[i].dtype) for i in places]
    weights = [rng.normal(size=kinds[i].shape).astype(kinds[i].dtype) for i in results]

    def f(*floats: Any) -> list[Any]:
        values: list[Any] = list(map(jnp.asarray, arguments))
        for i, x in zip(places, floats):
            values[i] = x
        outputs = program(*values)
        return [outputs[i] for i in results]

    def gradient(*floats: Any) -> Any:
        return laminax.vjp(f, *floats)[1](list(map(jnp.asarray, weights)))

    floats = [arguments[i] for i in places]
    backward = laminax.jit(gradient)(*floats)
    loose = [Kind(g.shape, str(g.dtype), False) for g in backward]
    agree("vjp", gradient(*floats), "jit of vjp", list(backward), loose)
    if program.contains("custom_vjp"):  # which has no forward mode
        return
    forward = laminax.jit(lambda *floats: laminax.jvp(f, floats, tuple(tangents))[1])(*floats)
    along = sum((np.sum(np.float64(w) * np.float64(t)) for w, t in zip(weights, forward)), np.float64(0))
    against = sum((np.sum(np.float64(g) * np.float64(t)) for g, t in zip(backward, tangents)), np.float64(0))
    size = sum((np.sum(np.abs(np.float64(g) * np.float64(t))) for g, t in zip(backward, tangents)), np.float64(1))
    if not np.abs(along - against) <= 2e-3 * size:
        raise Disagreement(f"the derivative along the tangents is {along} by forward mode, {against} by reverse mode")


def check_shardings(program: Program, arguments: list[np.ndarray]) -> None:
    """On all devices, arguments split over them where their first axis permits, as on one."""
    devices = laminax.devices()
    mesh = laminax.make_mesh((len(devices),), ("x",), axis_types=(laminax.sharding.AxisType.Auto,))

    def placed(x: np.ndarray) -> Any:
        is_split = x.ndim > 0 and x.shape[0] > 0 and x.shape[0] % len(devices) == 0
        return laminax.device_put(x, NamedSharding(mesh, P("x") if is_split else P()))

    found = laminax.jit(program)(*map(placed, arguments))
    agree("one device", laminax.jit(program)(*arguments), "all devices", found, output_kinds(program))


CHECKS: dict[str, Check] = {"jit": check_jit, "reference": check_reference, "vmap": check_vmap, "derivatives": check_derivatives,
                            "shardings": check_shardings}


def output_kinds(program: Program) -> list[Kind]:
    """The types of a program's outputs."""
    kinds = kinds_of(program)
    return [kinds[i] for i in program.outputs]


def _eager(program: Program, arguments: Sequence[np.ndarray]) -> list[Any]:
    return program(*map(jnp.asarray, arguments))


def agree(one: str, expected: Sequence[Any], other: str, found: Sequence[Any], kinds: Sequence[Kind]) -> None:
    """Raises Disagreement unless the values are equal: exact ones bit by bit, rounded ones within what rounding explains."""
    for i, (a, b, kind) in enumerate(zip(expected, found, kinds, strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape or a.dtype != b.dtype:
            raise Disagreement(f"output {i} is {a.dtype}{list(a.shape)} by {one} and {b.dtype}{list(b.shape)} by {other}")
        if kind.is_exact or not kind.is_float:
            is_equal = np.array_equal(a, b, equal_nan=kind.is_float)
        else:
            is_equal = np.allclose(np.float64(a), np.float64(b), rtol=2e-3, atol=2e-4 * (1 + np.max(np.abs(a), initial=0)), equal_nan=True)
        if not is_equal:
            raise Disagreement(f"output {i} ({kind}) differs:\nby {one}:\n{a}\nby {other}:\n{b}")
