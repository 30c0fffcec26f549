"""Executables that are run in turn stand for one program."""

import pickle

import numpy as np
import pytest
from stablehlo_modules import aval, binary, compile_text, unary

import laminax_runtime as runtime
from laminax_runtime import DeletedArrayError, ExecutableSequence, Step, device_put
from laminax_runtime.base import options

A = aval((3,))
DONATED = {0: "{tf.aliasing_output = 0 : i32}"}


def adding(attributes=None):
    return compile_text(binary("add", A, attributes), in_avals=[A, A], out_avals=[A], is_part=True)


def negating(attributes=None):
    return compile_text(unary("negate", A, attributes), in_avals=[A], out_avals=[A], is_part=True)


def sequence(steps, results, num_args=2, consumed=(), is_pinned=False):
    return ExecutableSequence("test", steps, [A] * num_args, results, [A] * len(results), consumed, is_pinned)


def fibonacci(is_pinned=False):
    """(a, b) -> (2a + 3b, a + 2b); every step adds the last two values, and the results are the last two."""
    add = adding()
    return sequence([Step(add, (0, 1), (2,), (0,)), Step(add, (1, 2), (3,), (1,)), Step(add, (2, 3), (4,), ())], (4, 3),
                    is_pinned=is_pinned)


def arrays():
    return np.array([1, 2, 3], np.float32), np.array([10, 20, 30], np.float32)


def test_steps_take_what_others_give():
    a, b = arrays()
    for _ in range(2):
        found = fibonacci().execute([a, b])
        np.testing.assert_array_equal(found, [2 * a + 3 * b, a + 2 * b])
        assert all(type(x) is runtime.ArrayImpl and x.aval is A for x in found)


def test_arguments_that_no_step_takes_are_not_read():
    a, b = arrays()
    gone = device_put(b)
    gone.delete()
    program = sequence([Step(negating(), (0,), (2,), (0,))], (2,))
    assert program.kept == (True, False) and len(program.in_shardings) == 1
    np.testing.assert_array_equal(program.execute([a, gone]), [-a])
    with pytest.raises(DeletedArrayError):
        program.execute([gone, a])
    with pytest.raises(TypeError, match="takes 2 arrays, got 1"):
        program.execute([a])


def test_values_between_may_be_overwritten():
    a, b = arrays()
    negate = negating(DONATED)
    program = sequence([Step(adding(), (0, 1), (2,), (0, 1)), Step(negate, (2,), (3,), (2,)), Step(negate, (3,), (4,), (3,))], (4,))
    np.testing.assert_array_equal(program.execute([a, b]), [a + b])


def test_consumed_arguments_are_deleted_whether_or_not_a_step_took_their_buffer():
    a, b = map(device_put, arrays())
    program = sequence([Step(negating(DONATED), (0,), (2,), (0,)), Step(negating(), (1,), (3,), (1,))], (2, 3), consumed=(0, 1))
    found = program.execute([a, b])
    assert a.is_deleted() and b.is_deleted()
    np.testing.assert_array_equal(found, [-x for x in arrays()])


def test_results_are_committed_if_an_argument_is_or_all_are():
    a, b = arrays()
    there = device_put(b, runtime.devices()[0])
    assert [x.committed for x in fibonacci().execute([a, b])] == [False, False]
    assert [x.committed for x in fibonacci().execute([a, there])] == [True, True]
    assert [x.committed for x in fibonacci(is_pinned=True).execute([a, b])] == [True, True]


def test_what_it_tells():
    program = fibonacci()
    (one,) = program.executables
    assert program.cost_analysis()["flops"] == 3 * one.cost_analysis()["flops"] == 9
    memory = program.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes, memory.alias_size_in_bytes) == (24, 24, 0)
    assert memory.temp_size_in_bytes == 12  # the first sum; the two others are results
    assert memory.peak_memory_in_bytes == 60
    assert "run 3 times" in program.as_text() and len(program.hlo_modules()) == 1
    assert repr(program) == f"<ExecutableSequence test: 3 runs of 1 executables on {runtime.devices()[0]}>"
    with pytest.raises(NotImplementedError, match="compile_regions"):
        _ = program.loaded


def test_it_can_be_pickled():
    a, b = arrays()
    again = pickle.loads(pickle.dumps(fibonacci()))
    assert len(again.executables) == 1
    np.testing.assert_array_equal(again.execute([a, b]), [2 * a + 3 * b, a + 2 * b])


def test_nothing_runs_where_execution_is_forbidden():
    program = fibonacci()
    with options.no_execution(True), pytest.raises(RuntimeError, match="no_execution"):
        program.execute(arrays())
