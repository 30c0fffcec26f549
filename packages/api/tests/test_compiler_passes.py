"""Passes of the user's own in XLA's compiler."""

import numpy as np
import pytest

import laminax
from laminax.extend import xla


@pytest.mark.parametrize("stage", xla.PipelineStage)
def test_a_pass_changes_a_program_until_it_is_taken_out(stage):
    def subtract_for_multiply(module):
        return module.replace(b"multiply", b"subtract") if b"multiply" in module else None

    def run():
        return laminax.jit(lambda x, y: x * y)(np.float32(5), np.float32(3))
    xla.register_hlo_module_transformation(subtract_for_multiply, name="difference", stage=stage, platforms="cpu")
    try:
        assert run() == 2
    finally:
        assert xla.clear_hlo_module_transformation("difference", stage)
    assert run() == 15
    assert not xla.clear_hlo_module_transformation("difference", stage, platforms=["cpu"])


@pytest.mark.parametrize("call, error, message", [
    (lambda: xla.register_hlo_module_transformation(3, name="n"), TypeError, "callback must be a function of bytes, got 3"),
    (lambda: xla.register_hlo_module_transformation(lambda m: m, name="n", stage=0), TypeError, "stage must be a PipelineStage, got 0"),
    (lambda: xla.clear_hlo_module_transformation("n", platforms="abacus"), RuntimeError, "abacus"),
])
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()
