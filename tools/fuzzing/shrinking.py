"""Makes a program smaller for as long as something is wrong with it.

Source of the method: Zeller, Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE TSE 28, 2002: leave out what can be
left out, until nothing can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from fuzzing.drawing import kinds_of
from fuzzing.programs import Program


def shrunk(program: Program, is_wrong: Callable[[Program], bool]) -> Program:
    """The smallest program found that is still wrong."""
    while (smaller := next((found for found in _smaller(program) if is_wrong(found)), None)) is not None:
        program = smaller
    return program


def _smaller(program: Program) -> Iterator[Program]:
    """Programs with an output or a step less, and with smaller programs inside."""
    if len(program.outputs) > 1:
        for output in program.outputs:
            yield replace(program, outputs=(output,)).used()
    kinds = kinds_of(program)
    first = len(program.inputs)
    for i in reversed(range(len(program.steps))):  # the value of an earlier output in place of a later one
        if first + i in program.outputs:
            for j in program.steps[i].operands:
                if j >= first:
                    yield replace(program, outputs=(j,)).used()
    for i, step in enumerate(program.steps):
        place, kind = first + i, kinds[first + i]
        for other in range(place):  # an earlier value in the place of this one
            if (kinds[other].shape, kinds[other].dtype) == (kind.shape, kind.dtype) and kinds[other].is_exact >= kind.is_exact:
                yield _replaced(program, place, other)
        for b, body in enumerate(step.bodies):
            for inner in _smaller(body):
                result = kinds_of(inner)[inner.outputs[-1]]
                if len(inner.outputs) == 1 and (result.shape, result.dtype) == _result_type(body):
                    bodies = (*step.bodies[:b], inner, *step.bodies[b + 1:])
                    yield replace(program, steps=(*program.steps[:i], replace(step, bodies=bodies), *program.steps[i + 1:]))


def _result_type(body: Program) -> tuple[tuple[int, ...], str]:
    kind = kinds_of(body)[body.outputs[-1]]
    return kind.shape, kind.dtype


def _replaced(program: Program, place: int, other: int) -> Program:
    """The program in which nothing needs the value at `place` any more."""
    def found(i: int) -> int:
        return other if i == place else i

    steps = tuple(replace(step, operands=tuple(map(found, step.operands))) for step in program.steps)
    return Program(program.inputs, steps, tuple(map(found, program.outputs))).used()
