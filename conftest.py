"""Settings of all tests: hypothesis draws the same examples in each run, no clock fails a test, nothing is compiled before."""

import os
import sys

import hypothesis
import pytest

hypothesis.settings.register_profile("deterministic", deadline=None, derandomize=True)
hypothesis.settings.register_profile("explore", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "deterministic"))

# Programs that tests compile are neither taken from the user's cache on disk nor left there; the cache's own tests switch it on.
os.environ.setdefault("LAMINAX_ENABLE_COMPILATION_CACHE", "0")


@pytest.fixture(autouse=True)
def lower_layers_on_the_reference_evaluator(request, monkeypatch):
    """The tests of ir and transforms mean the NumPy evaluator, also where tests of the api, in the same process, installed another one."""
    if request.path.parts[-3:-1] not in (("ir", "tests"), ("transforms", "tests")):
        return
    if (setup := sys.modules.get("laminax_ir.setup")) is not None:
        monkeypatch.setattr(sys.modules["laminax_ir.tracing.trace"].eval_trace, "evaluate", setup.evaluate_with_numpy)
    if (effects := sys.modules.get("laminax_ir.programs.effects")) is not None:
        monkeypatch.setattr(effects, "call_context", effects._numpy_copies)
