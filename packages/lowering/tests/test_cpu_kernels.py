"""CPU kernels: which modules are written with them, and what becomes of an operation that its kernel leaves to the rule."""

import numpy as np
import pytest

from laminax_ir.ops.elementwise import floor, floor_p
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower
from laminax_lowering.writing import registry


@pytest.fixture
def kernel_of_floor(monkeypatch):
    """A kernel for vectors of an operation that has none: what it writes is told by its name for the operation."""
    monkeypatch.setattr(registry, "_found", {})
    monkeypatch.setitem(registry.cpu_kernels, floor_p, lambda ctx, x: ctx.emit("stablehlo.kernel", [x]) if x.aval.ndim == 1 else None)


def _text(shape=(3,), **options):
    return lower(stage(lambda x: [floor(x)], [ShapedArray(shape, np.float32)], "f"), **options).text


@pytest.mark.parametrize("options, is_taken", [
    ({"cpu_kernels": True}, True),
    ({}, False),
    ({"cpu_kernels": True, "platform": "tpu"}, False),
    ({"cpu_kernels": True, "platform": ("cpu", "tpu")}, False),
    ({"cpu_kernels": True, "num_partitions": 2}, False),
    ({"cpu_kernels": True, "num_replicas": 2}, False),
])
def test_a_kernel_is_taken_where_one_cpu_device_is_certain(kernel_of_floor, options, is_taken):
    text = _text(**options)
    assert ("stablehlo.kernel" in text, "stablehlo.floor" in text) == (is_taken, not is_taken)


def test_what_a_kernel_refuses_is_the_rules(kernel_of_floor):
    assert "stablehlo.floor" in _text((2, 3), cpu_kernels=True)


def test_a_second_kernel_is_refused(kernel_of_floor):
    with pytest.raises(ValueError, match="floor: a second CPU kernel"):
        registry.cpu_kernel(floor_p)(lambda ctx, x: None)
