"""What must agree about a program: its values computed in several ways, and its derivatives."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from laminax_ir.reference.evaluate import evaluate
from laminax_lowering import regions
from laminax_runtime import ExecutableSequence
from laminax_runtime.base.options import compile_regions

import laminax
import laminax.numpy as jnp
from fuzzing.drawing import kinds_of
from fuzzing.programs import Kind, Program
from laminax._src.compiling.host_programs import eager_on_host
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


def check_host(program: Program, arguments: list[np.ndarray]) -> None:
    """Operation by operation, what NumPy computes of it by NumPy, as all by the compiler: the same bits."""
    found = _eager(program, arguments)
    with eager_on_host(False):
        expected = _eager(program, arguments)
    agree("compiler", expected, "host", found, [replace(kind, is_exact=True) for kind in output_kinds(program)])


def check_donation(program: Program, arguments: list[np.ndarray]) -> None:
    """With all arguments given away, as with none."""
    run = laminax.jit(program, donate_argnums=tuple(range(len(arguments))))
    expected = laminax.jit(program)(*arguments)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some donated buffers were not usable")
        found = run(*[jnp.array(x, copy=True) for x in arguments])
    agree("jit", expected, "jit with donation", found, output_kinds(program))


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


def check_differences(program: Program, arguments: list[np.ndarray]) -> None:
    """The derivative along a tangent, as the difference of the values at two points near by; in 64 bits, away from kinks and jumps."""
    kinds = output_kinds(program)
    places = [i for i, kind in enumerate(program.inputs) if kind.dtype == "float64"]
    results = [i for i, kind in enumerate(kinds) if kind.dtype == "float64"]
    if not results or not places or any(program.contains(name) for name in ("custom_vjp", "to_float", "stop_gradient", "igamma")):
        return  # without a forward mode, of single precision, or with a derivative that is not that of its values
    rng = np.random.default_rng(7)
    floats = [arguments[i] + rng.uniform(0.001, 0.003, arguments[i].shape) for i in places]  # away from the grid, where jumps are
    tangents = [rng.normal(size=x.shape) for x in floats]

    def f(floats: Sequence[Any]) -> list[Any]:
        values: list[Any] = list(map(jnp.asarray, arguments))
        for i, x in zip(places, floats):
            values[i] = x
        outputs = program(*values)
        return [outputs[i] for i in results]

    run, step = laminax.jit(f), 1e-6
    at, left, right = (run([x + side * step * t for x, t in zip(floats, tangents)]) for side in (0, -1, 1))
    found = laminax.jit(lambda xs, ts: laminax.jvp(f, (xs,), (ts,))[1])(floats, tangents)
    for i, (here, a, b, slope) in enumerate(zip(at, left, right, found)):
        here, a, b, slope = (np.asarray(x) for x in (here, a, b, slope))
        before, after = (here - a) / step, (b - here) / step
        size = 1 + np.maximum(np.max(np.abs(here), initial=0), np.max(np.abs(slope), initial=0))
        smooth = np.abs(before - after) <= 1e-4 * size
        if np.any(smooth & ~(np.abs((before + after) / 2 - slope) <= 1e-3 * size)):
            raise Disagreement(f"the derivative of output {results[i]} along the tangents is\n{slope}\n"
                               f"by differences\n{(before + after) / 2}")


def check_shardings(program: Program, arguments: list[np.ndarray]) -> None:
    """On all devices, arguments split over them where their first axis permits, as on one."""
    found = laminax.jit(program)(*_placed(arguments))
    agree("one device", laminax.jit(program)(*arguments), "all devices", found, output_kinds(program))


def _placed(arguments: Sequence[np.ndarray]) -> list[Any]:
    devices = laminax.devices()
    mesh = laminax.make_mesh((len(devices),), ("x",), axis_types=(laminax.sharding.AxisType.Auto,))

    def placed(x: np.ndarray) -> Any:
        is_split = x.ndim > 0 and x.shape[0] > 0 and x.shape[0] % len(devices) == 0
        return laminax.device_put(x, NamedSharding(mesh, P("x") if is_split else P()))

    return [placed(x) for x in arguments]


def check_regions(program: Program, arguments: list[np.ndarray]) -> None:
    """A chain of blocks with the program in each, cut into regions, as compiled as one; its gradient where it has one.

    Programs of an odd number of steps are on all devices.
    """
    places = [i for i, kind in enumerate(program.inputs) if kind.is_float]

    @laminax.jit
    def block(x: Any, weights: Any, others: Sequence[Any]) -> Any:
        values = list(others)
        values[0] = x
        numbers = sum((0.1 * jnp.tanh(jnp.sum(value.astype(x.dtype))) for value in program(*values)), jnp.zeros((), x.dtype))
        return x + jnp.tanh(x @ weights) @ weights.T * 0.1 + numbers

    def chain(weights: Any, others: Sequence[Any]) -> Any:
        x = others[0]
        for w in weights:
            x = block(x, w, others)
        return x

    def gradient(weights: Any, others: Sequence[Any]) -> Any:
        def loss(weights: Any, *floats: Any) -> Any:
            values = list(others)
            for i, value in zip(places, floats):
                values[i] = value
            return jnp.sum(chain(weights, values))
        return laminax.value_and_grad(loss, tuple(range(1 + len(places))))(weights, *[others[i] for i in places])

    rng = np.random.default_rng(7)
    shape = (REGION_BLOCKS, arguments[0].shape[1], REGION_WIDTH)
    weights = list((rng.normal(size=shape) / 8).astype(arguments[0].dtype))
    function = chain if program.contains("while_loop") else gradient
    others = _placed(arguments) if len(program.steps) % 2 else list(map(jnp.asarray, arguments))
    with always_cut():
        compiled = laminax.jit(functools.partial(function)).lower(weights, others).compile()
    counts["chains"] += 1
    counts["chains that were cut"] += isinstance(compiled._program.executable, ExecutableSequence)
    with compile_regions(False):
        expected = laminax.tree.leaves(laminax.jit(functools.partial(function))(weights, others))
    found = laminax.tree.leaves(compiled(weights, others))
    agree("whole", expected, "regions", found, [Kind(x.shape, str(x.dtype), False) for x in expected])


REGION_BLOCKS, REGION_WIDTH = 6, 64
counts = {"chains": 0, "chains that were cut": 0}  # of regions


@contextlib.contextmanager
def always_cut() -> Iterator[None]:
    """Programs are cut into regions wherever they can be, also if they are too small for it to be worth it; each block is a region."""
    never = float("inf")
    limits: dict[str, Any] = {limit: never for limit in ("MOST_MEMORY", "MOST_TIME", "MOST_COMPILING", "WORTHWHILE")}
    limits |= {"REGION_MIN_WORK": {"cpu": 1000}, "OUTLINE_MIN_EQUATIONS": 1, "USUAL_WORK": {}, "MOST_TIME_ON_SEVERAL": {"cpu": never}}
    with mock.patch.multiple(regions, **limits):
        yield


CHECKS: dict[str, Check] = {"jit": check_jit, "reference": check_reference, "vmap": check_vmap, "derivatives": check_derivatives,
                            "shardings": check_shardings, "host": check_host, "donation": check_donation, "regions": check_regions,
                            "differences": check_differences}


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
