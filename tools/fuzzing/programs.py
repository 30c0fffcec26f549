"""Programs as data: what they take, their steps, and how they are run and printed.

A program is a list of steps, each of which applies one operation of `operations.OPERATIONS` to values that are there already. The
same program runs on arrays, on tracers and, step by step, in Python, so that it can be made smaller when something is wrong with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Kind:
    """The type of a value. An exact one has the same bits however it is computed; others are rounded."""

    shape: tuple[int, ...]
    dtype: str
    is_exact: bool

    @property
    def is_float(self) -> bool:
        return self.dtype in ("float32", "float64")

    @property
    def is_integer(self) -> bool:
        return self.dtype.startswith(("int", "uint"))

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


@dataclass(frozen=True)
class Step:
    """One operation: its name, which values it takes, its parameters, and the programs inside it (bodies, branches)."""

    name: str
    operands: tuple[int, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    bodies: tuple[Program, ...] = ()


@dataclass(frozen=True)
class Program:
    """Values 0 to n - 1 are the inputs, each step adds one value, and the outputs are values."""

    inputs: tuple[Kind, ...]
    steps: tuple[Step, ...]
    outputs: tuple[int, ...]

    def __call__(self, *arguments: Any) -> list[Any]:
        """Runs the program on arrays or tracers; returns its outputs."""
        from fuzzing.operations import OPERATIONS
        values = list(arguments)
        for step in self.steps:
            operation = OPERATIONS[step.name]
            values.append(operation.apply(step, [values[i] for i in step.operands]))
        return [values[i] for i in self.outputs]

    def used(self) -> Program:
        """The program without the steps whose values nothing needs."""
        needed = set(self.outputs)
        for i in reversed(range(len(self.steps))):
            if len(self.inputs) + i in needed:
                needed.update(self.steps[i].operands)
        first = len(self.inputs)
        kept = [i for i in range(len(self.steps)) if first + i in needed]
        place = {i: i for i in range(first)} | {first + i: first + new for new, i in enumerate(kept)}
        steps = tuple(replace(self.steps[i], operands=tuple(place[j] for j in self.steps[i].operands)) for i in kept)
        return Program(self.inputs, steps, tuple(place[i] for i in self.outputs))

    def contains(self, name: str) -> bool:
        """Whether a step, also one of a program inside, is of that name."""
        return any(step.name == name or any(body.contains(name) for body in step.bodies) for step in self.steps)

    def text(self, indent: str = "") -> str:
        """The program, a line for each step."""
        lines = [f"{indent}v{i}: {kind}{'' if kind.is_exact else ' (rounded)'}" for i, kind in enumerate(self.inputs)]
        for i, step in enumerate(self.steps, len(self.inputs)):
            params = "".join(f", {name}={value!r}" for name, value in step.params.items())
            lines.append(f"{indent}v{i} = {step.name}({', '.join(f'v{j}' for j in step.operands)}{params})")
            lines += [body.text(indent + "    ") for body in step.bodies]
        return "\n".join([*lines, f"{indent}return {', '.join(f'v{i}' for i in self.outputs)}"])


def drawn_inputs(rng: np.random.Generator, kinds: Sequence[Kind]) -> list[np.ndarray]:
    """Arguments for a program: floats in [-2, 2] on a grid of 1/64, so that sums and products of few are exact, and small integers."""
    values = []
    for kind in kinds:
        if kind.dtype == "bool":
            value: Any = rng.integers(0, 2, kind.shape).astype(bool)
        elif kind.is_integer:
            low = 0 if kind.dtype.startswith("u") else -9
            value = rng.integers(low, 10, kind.shape).astype(kind.dtype)
        else:
            value = (rng.integers(-128, 129, kind.shape) / 64).astype(kind.dtype)
        values.append(np.asarray(value))
    return values
