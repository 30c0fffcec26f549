"""The fuzzer: programs drawn on a new seed agree in all ways, programs print and shrink, and what is wrong is found."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

import fuzz  # noqa: E402
from fuzzing import checks  # noqa: E402
from fuzzing.drawing import drawn_program, kinds_of  # noqa: E402
from fuzzing.operations import OPERATIONS, Operation  # noqa: E402
from fuzzing.programs import Kind, Program, Step, drawn_inputs  # noqa: E402


def test_programs_drawn_on_a_new_seed_agree(capsys):
    assert fuzz.main(["--seconds=10"]) == 0, capsys.readouterr().out


def test_a_seed_draws_the_same_program():
    assert drawn_program(11).text() == drawn_program(11).text() != drawn_program(12).text()


@pytest.mark.parametrize("outer, inner", [("grad", "while_loop"), ("jvp", "custom_vjp")])
def test_programs_inside_have_the_derivatives_that_are_taken(outer, inner):
    """Seed 910450 drew the gradient of a loop without a known end."""
    steps = [step for seed in (910450, *range(40)) for step in drawn_program(seed, 12).steps]
    inside = [body for step in steps if step.name == outer for body in step.bodies]
    assert inside and not any(body.contains(inner) for body in inside)


def test_the_types_of_a_program_are_those_of_its_values():
    program = drawn_program(5)
    values = program(*drawn_inputs(np.random.default_rng(0), program.inputs))
    kinds = kinds_of(program)
    for value, place in zip(values, program.outputs):
        assert (np.shape(value), str(np.asarray(value).dtype)) == (kinds[place].shape, kinds[place].dtype)


@pytest.fixture
def broken():
    """An operation that is computed otherwise when it is compiled."""
    import laminax
    OPERATIONS["broken"] = Operation(lambda drawing: None, lambda _, values: values[0] + isinstance(values[0], laminax.core.Tracer), True)
    yield
    del OPERATIONS["broken"]


def test_what_is_wrong_is_found_and_made_small(broken, monkeypatch):
    kinds = (Kind((3,), "float32", True), Kind((3,), "float32", True))
    steps = (Step("sin", (0,)), Step("add", (0, 1)), Step("broken", (3,)), Step("mul", (4, 2)), Step("flip", (4,), {"axis": 0}))
    monkeypatch.setattr(fuzz, "drawn_program", lambda seed, steps_: Program(kinds, steps, (5, 6)))
    report = fuzz.examined(3, ["jit"], 5)
    assert "broken(v0)" in report and report.count(" = ") == 1 and "seed 3, check jit" in report


@pytest.fixture
def of_the_host():
    """An operation that is another one on the host."""
    OPERATIONS["of_the_host"] = Operation(lambda drawing: None, lambda _, values: values[0] + int(checks.eager_on_host.value), False)
    yield
    del OPERATIONS["of_the_host"]


def test_the_host_may_not_differ_in_a_bit_from_the_compiler(of_the_host):
    program = Program((Kind((3,), "float32", True),), (Step("of_the_host", (0,)),), (1,))
    with pytest.raises(checks.Disagreement, match="by compiler"):
        checks.check_host(program, drawn_inputs(np.random.default_rng(0), program.inputs))


@pytest.fixture
def with_wrong_derivative():
    """The sine, whose derivative is not the sine."""
    import laminax
    sine = laminax.custom_jvp(lambda x: laminax.lax.sin(x))
    sine.defjvp(lambda primals, tangents: (sine(*primals), tangents[0] * sine(*primals)))
    OPERATIONS["wrong"] = Operation(lambda drawing: None, lambda _, values: sine(values[0]), False)
    yield
    del OPERATIONS["wrong"]


def test_derivatives_that_are_not_the_differences_are_found(with_wrong_derivative):
    import laminax
    kind = Kind((3,), "float64", True)
    with laminax.enable_x64(True):
        right = Program((kind,), (Step("sin", (0,)), Step("floor", (0,))), (1, 2))
        arguments = drawn_inputs(np.random.default_rng(0), right.inputs)
        checks.check_differences(right, arguments)
        with pytest.raises(checks.Disagreement, match="the derivative of output 0 along the tangents"):
            checks.check_differences(Program((kind,), (Step("wrong", (0,)),), (1,)), arguments)


def test_chains_are_cut_into_regions():
    program = Program((Kind((8, 2), "float32", False), Kind((3,), "float32", True)), (Step("sin", (0,)), Step("cos", (1,))), (2, 3))
    before = checks.counts["chains that were cut"]
    checks.check_regions(program, drawn_inputs(np.random.default_rng(0), program.inputs))
    assert checks.counts["chains that were cut"] == before + 1


def test_programs_of_64_bits_are_drawn_where_they_are_on():
    import laminax
    with laminax.enable_x64(True):
        assert any(kind.dtype in ("float64", "int64", "uint64") for kind in kinds_of(drawn_program(11)))


def test_an_exact_value_may_not_differ_in_a_bit():
    kind = Kind((), "float32", True)
    with pytest.raises(checks.Disagreement, match="output 0"):
        checks.agree("one", [np.float32(1)], "other", [np.nextafter(np.float32(1), np.float32(2))], [kind])
    checks.agree("one", [np.float32(1)], "other", [np.nextafter(np.float32(1), np.float32(2))], [Kind((), "float32", False)])


def test_an_unknown_check_is_an_error(capsys):
    with pytest.raises(SystemExit):
        fuzz.main(["--checks=nothing"])
    assert "there is no nothing" in capsys.readouterr().err
