"""Draws programs: steps whose operands have the types that an operation takes."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

import laminax
from fuzzing.operations import OPERATIONS, Drawing
from fuzzing.programs import Kind, Program, Step

SHAPES = ((), (3,), (4,), (2, 3), (3, 3), (4, 2), (8,), (8, 2), (1, 3), (2, 3, 2), (0,), (0, 3))
DTYPES = ("float32", "float32", "float32", "int32", "int32", "bool", "uint8", "int8", "uint32")
WIDE_DTYPES = ("float64", "float64", "float32", "int64", "int32", "bool", "uint64", "int16", "uint32")
LARGEST = 64  # elements of a value


def drawn_program(seed: int, steps: int = 8) -> Program:
    """A program with up to `steps` steps, those inside of others not counted; of 64-bit types where these are on."""
    rng = np.random.default_rng(seed)
    wide = bool(laminax.config.jax_enable_x64)
    dtypes = WIDE_DTYPES if wide else DTYPES
    number, integer = ("float64", "int64") if wide else ("float32", "int32")
    inputs = [Kind((8, 2), number, False), Kind((3,), number, True), Kind((), integer, True), Kind((), "bool", True)]
    inputs += [Kind(SHAPES[rng.integers(len(SHAPES))], dtypes[rng.integers(len(dtypes))], True) for _ in range(2)]
    return _drawn(rng, inputs, 1 + int(rng.integers(steps)), depth=2)


def _drawn(rng: np.random.Generator, inputs: Sequence[Kind], steps: int, depth: int) -> Program:
    names = list(OPERATIONS)
    kinds, made = list(inputs), []
    while len(made) < steps:
        name = names[rng.integers(len(names))]
        found = _step(rng, name, kinds, depth)
        if found is None:
            continue
        made.append(found[0])
        kinds.append(found[1])
    last = len(kinds) - 1
    outputs = tuple(sorted({last, int(rng.integers(len(inputs), last + 1))}))
    return Program(tuple(inputs), tuple(made), outputs).used()


def _step(rng: np.random.Generator, name: str, kinds: list[Kind], depth: int) -> tuple[Step, Kind] | None:
    """A step of that name and the type of its value, where the values there are permit one."""
    def body(inner: Sequence[Kind], result: Kind) -> Program:
        return _body(rng, inner, result, depth - 1)

    step = OPERATIONS[name].draw(Drawing(rng, kinds, body if depth else None))
    if step is None:
        return None
    kind = kind_of(step, [kinds[i] for i in step.operands])
    return None if kind is None else (step, kind)


def _body(rng: np.random.Generator, inputs: Sequence[Kind], result: Kind, depth: int) -> Program:
    """A program for inside of a step: its one output has the type of its first input."""
    program = _drawn(rng, inputs, 1 + int(rng.integers(3)), depth)
    kinds = kinds_of(program)
    last = next((i for i in reversed(range(len(kinds))) if (kinds[i].shape, kinds[i].dtype) == (result.shape, result.dtype)), 0)
    number = next((i for i in reversed(program.outputs) if kinds[i].dtype != "bool"), 0)
    steps = (*program.steps, Step("gathered_into", (last, number)))
    return Program(program.inputs, steps, (len(kinds),)).used()


def kinds_of(program: Program) -> list[Kind]:
    """The types of a program's values."""
    kinds = list(program.inputs)
    for step in program.steps:
        kind = kind_of(step, [kinds[i] for i in step.operands])
        if kind is None:
            raise ValueError(f"{step.name} makes no value that drawn programs have")
        kinds.append(kind)
    return kinds


def kind_of(step: Step, operands: Sequence[Kind]) -> Kind | None:
    """The type of a step's value; None where it is too large or of a dtype that drawn programs do not have."""
    shape, dtype = _type_of(step, tuple(operands))
    if int(np.prod(shape)) > LARGEST or dtype.startswith("complex") or len(shape) > 3:
        return None
    return Kind(shape, dtype, OPERATIONS[step.name].is_exact and all(kind.is_exact for kind in operands))


def _type_of(step: Step, operands: tuple[Kind, ...]) -> tuple[tuple[int, ...], str]:
    structs = [laminax.ShapeDtypeStruct(kind.shape, kind.dtype) for kind in operands]
    found = laminax.eval_shape(functools.partial(_applied, step), *structs)
    return found.shape, str(found.dtype)


def _applied(step: Step, *values: object) -> object:
    return OPERATIONS[step.name].apply(step, list(values))
