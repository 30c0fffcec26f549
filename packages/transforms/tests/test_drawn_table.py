"""Every operation with a derivative is in a drawn test, or stands here with the reason why not."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import numpy as np
import pytest
from drawn_cases import CASES, FIRST_ORDER, FORWARD_ONLY, REVERSE_ONLY

from laminax_ir import ops
from laminax_ir.options.config import enable_x64
from laminax_ir.programs.jaxpr import ClosedJaxpr, Jaxpr
from laminax_ir.programs.primitive import Primitive
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_transforms.base.registry import jvp_rules, linearize_rules, zero_derivatives
from laminax_transforms.batching.batching import BatchTrace

ELSEWHERE = {
    "composite": "has no derivative but an error: test_composite.py",
    "pure_callback": "has no derivative but an error: test_callbacks.py",
    "io_callback": "has no derivative but an error: test_callbacks.py",
    "ffi_call": "has no derivative but an error: test_ffi.py", "buffer_callback": "has no derivative but an error: test_callbacks.py",
    "debug_callback": "has no results: test_callbacks.py", "dce_sink": "has no results: test_hints.py",
    "inspect_sharding": "has no results: test_callbacks.py", "check": "has no results: test_checks.py",
    "backward_log": "has no results: test_backward_logs.py",
    "to_edtype": "derives as the rules of the dtype say: test_extended_dtypes.py",
    "from_edtype": "derives as the rules of the dtype say: test_extended_dtypes.py",
    "random_gamma_grad": "a derivative that has none itself: test_special.py",
    "igamma_grad_a": "a derivative that has none itself: test_special.py",
}


def primitives() -> dict[str, Primitive]:
    """The operations with a derivative that is not zero everywhere."""
    found = {}
    for info in pkgutil.iter_modules(ops.__path__):
        for value in vars(importlib.import_module(f"{ops.__name__}.{info.name}")).values():
            if isinstance(value, Primitive) and (jvp_rules.find(value) or linearize_rules.find(value)) and value not in zero_derivatives:
                found[str(value)] = value
    return found


def named_in(program: Jaxpr) -> Iterator[str]:
    """The operations of a program, and of the programs that these call."""
    for eqn in program.eqns:
        yield str(eqn.primitive)
        for value in eqn.params.values():
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, (ClosedJaxpr, Jaxpr)):
                    yield from named_in(item.jaxpr if isinstance(item, ClosedJaxpr) else item)


@pytest.fixture(scope="module")
def drawn() -> dict[str, set[str]]:
    """The operations in the cases of each family: those of the staged functions, and what a `vmap` inside of them met."""
    names: dict[str, set[str]] = {}
    with enable_x64(), pytest.MonkeyPatch.context() as patch:
        for label, case in {**CASES, **FIRST_ORDER, **FORWARD_ONLY, **REVERSE_ONLY}.items():
            found = names.setdefault(label.partition(":")[0], set())
            process = BatchTrace.process
            patch.setattr(BatchTrace, "process",
                          lambda trace, primitive, *rest: (found.add(str(primitive)), process(trace, primitive, *rest))[1])
            arguments = case.arguments((2, 3), case.dtypes[-1])
            found.update(named_in(stage(lambda *xs: [case.fun(*xs)], [get_aval(x) for x in arguments]).jaxpr))
            patch.undo()
    return names


@pytest.mark.parametrize("name", sorted(primitives()))
def test_every_operation_with_a_derivative_is_in_a_drawn_test(name, drawn):
    family = str(primitives()[name].family)
    assert (name in drawn.get(family, ())) != (name in ELSEWHERE), (
        f"{name} needs a case in tests/drawn_cases/{family}.py, or no reason here")


def test_reasons_are_of_operations():
    assert ELSEWHERE.keys() <= primitives().keys()


def test_points_are_exact_in_every_dtype():
    """Otherwise a narrow dtype would see other ties and orders than double precision."""
    for case in CASES.values():
        if np.float16 in case.dtypes:
            for x in case.arguments((2, 3), np.dtype(np.float64)):
                for dtype in case.dtypes:
                    np.testing.assert_array_equal(x.astype(dtype).astype(x.dtype if dtype.kind != "c" else np.complex128), x)
