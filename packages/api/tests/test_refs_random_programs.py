"""Programs drawn at random that read and write references in nested loops, branches and calls, against a NumPy array that
the same program changes in place."""

import random

import numpy as np
import pytest

import laminax
import laminax.numpy as jnp
from laminax import lax
from laminax.ref import addupdate, new_ref

SIZE = 5


def _drawn(draw: random.Random, depth: int) -> list:
    """Instructions: `(what, index, other index, factor)`, or `(what, count, instructions, other instructions)`."""
    program = []
    for _ in range(draw.randint(1, 3)):
        what = draw.choice(["set", "add", "slice", "array", "computed"]
                           + ["loop", "scan", "while", "cond", "jit", "checkpoint"] * (depth > 0))
        if what in ("loop", "scan", "while", "cond", "jit", "checkpoint"):
            program.append((what, draw.randint(1, 3), _drawn(draw, depth - 1), _drawn(draw, depth - 1)))
        else:
            program.append((what, draw.randrange(SIZE), draw.randrange(SIZE), draw.choice([0.5, -0.25, 0.75])))
    return program


def _run_numpy(program: list, array: np.ndarray, step: int) -> None:
    for what, a, b, c in program:
        if what == "set":
            array[a] = np.sin(array[b]) + c
        elif what == "add":
            array[a] += c * array[b] ** 2
        elif what == "slice":
            array[1:4] = c * array[:3] + array[b]
        elif what == "array":
            np.add.at(array, [a, b, a], c * array[[b, a, 0]])
        elif what == "computed":
            array[(a + step) % SIZE] = np.cos(array[b]) * c
        elif what == "cond":
            _run_numpy(b if array[a] > 0 else c, array, step)
        else:
            for i in range(1 if what in ("jit", "checkpoint") else a):
                _run_numpy(b, array, step if what in ("jit", "checkpoint") else i)


def _run(program: list, ref, step) -> None:
    for what, a, b, c in program:
        if what == "set":
            ref[a] = jnp.sin(ref[b]) + c
        elif what == "add":
            addupdate(ref, a, c * ref[b] ** 2)
        elif what == "slice":
            ref[1:4] = c * ref[:3] + ref[b]
        elif what == "array":
            addupdate(ref, jnp.array([a, b, a]), c * ref[jnp.array([b, a, 0])])
        elif what == "computed":
            ref[(a + step) % SIZE] = jnp.cos(ref[b]) * c
        elif what == "cond":
            lax.cond(ref[a] > 0, lambda: _run(b, ref, step), lambda: _run(c, ref, step))
        elif what == "loop":
            lax.fori_loop(0, a, lambda i, _: _run(b, ref, i), None)
        elif what == "scan":
            lax.scan(lambda i, _: (i + 1, _run(b, ref, i)), 0, None, length=a)
        elif what == "while":
            lax.while_loop(lambda i: i < a, lambda i: (_run(b, ref, i), i + 1)[1], 0)
        elif what == "jit":
            laminax.jit(lambda r, s: _run(b, r, s))(ref, step)
        else:
            laminax.checkpoint(lambda s: _run(b, ref, s))(step)


def _uses(program: list, what: str) -> bool:
    return any(i[0] == what or isinstance(i[2], list) and (_uses(i[2], what) or i[0] == "cond" and _uses(i[3], what)) for i in program)


@pytest.mark.parametrize("seed", range(8))
def test_programs_do_to_references_what_they_do_to_arrays(seed):
    draw = random.Random(seed)
    program = _drawn(draw, 2)
    x = np.random.default_rng(seed).uniform(-1, 1, (3, SIZE))
    expected = x.copy()
    for row in expected:
        _run_numpy(program, row, 1)
    check = lambda found, wanted: np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)  # noqa: E731  (float32, some dozen operations)

    ref = new_ref(jnp.float32(x[0]))
    laminax.jit(lambda: _run(program, ref, 1))()
    check(ref[...], expected[0])

    def made_inside(x):
        ref = new_ref(x)
        _run(program, ref, 1)
        return ref[...]

    check(made_inside(jnp.float32(x[1])), expected[1])
    check(laminax.vmap(made_inside)(jnp.float32(x)), expected)
    batch = new_ref(jnp.float32(x))
    laminax.jit(laminax.vmap(lambda ref: _run(program, ref, 1)))(batch)
    check(batch[...], expected)

    direction = np.random.default_rng(seed + 100).uniform(-1, 1, SIZE)
    ahead, behind = x[0] + 1e-6 * direction, x[0] - 1e-6 * direction
    _run_numpy(program, ahead, 1), _run_numpy(program, behind, 1)
    derivative = (ahead - behind) / 2e-6
    _, tangent = laminax.jvp(made_inside, (jnp.float32(x[0]),), (jnp.float32(direction),))
    np.testing.assert_allclose(tangent, derivative, rtol=1e-3, atol=1e-4)  # differences in float64 are good to 1e-9
    if not _uses(program, "while"):
        gradient = laminax.jit(laminax.grad(lambda x: made_inside(x).sum()))(jnp.float32(x[0]))
        np.testing.assert_allclose(np.vdot(gradient, direction), derivative.sum(), rtol=1e-3, atol=1e-4)
