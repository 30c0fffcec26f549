"""What is remembered of a program: the same answer when it is asked for again, and gone with the program."""

from __future__ import annotations

import gc
from weakref import ref

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.loop_invariants import condition_with_constants
from laminax_ir.programs.dce import dce_closed_jaxpr
from laminax_ir.programs.jaxpr import ClosedJaxpr
from laminax_ir.recording.discharge import discharged, variant
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray

F32 = ShapedArray((3,), np.dtype(np.float32))


def program() -> ClosedJaxpr:
    return stage(lambda x, y: [op.add(x, y), op.sin(x)], [F32, F32])


QUESTIONS = {
    "pure": lambda closed: discharged(closed).closed,
    "variant": lambda closed: variant(closed, "key", lambda: closed.jaxpr.invars, lambda: closed.jaxpr.outvars),
    "dead code": lambda closed: dce_closed_jaxpr(closed, [False, True])[0],
    "condition": lambda closed: condition_with_constants(closed, 0, (True, False))[0],
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_goes_with_its_program_though_it_refers_to_it(question):
    """A table that held programs weakly kept those for ever whose answers referred to them."""
    closed = program()
    answer = QUESTIONS[question](closed)
    assert answer is QUESTIONS[question](closed) and answer is not closed
    answer.remember(("of a test",), closed)
    gone = ref(closed)
    del closed, answer
    gc.collect()
    assert gone() is None
