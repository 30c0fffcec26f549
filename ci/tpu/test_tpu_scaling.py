"""Training steps over 8 to 4,096 TPUs: what their collectives move, against the formulas of data, tensor, pipeline and expert
parallelism."""

from __future__ import annotations

from collections import Counter

import pytest
from hlo_collectives import collectives
from scaled_training import SCHEMES, TOPOLOGIES, compiled


@pytest.mark.parametrize("count", TOPOLOGIES)
@pytest.mark.parametrize("name", SCHEMES)
def test_a_step_moves_what_the_textbook_says(name, count, devices):
    scheme = SCHEMES[name]
    found = Counter(collectives(compiled(scheme, devices(TOPOLOGIES[count])).as_text()))
    assert found == scheme.expected(count // scheme.group)


def test_copies_of_a_program_are_as_large_for_4096_devices_as_for_8(devices):
    few, many = (compiled(SCHEMES["tensor"], devices(TOPOLOGIES[count])).memory_analysis() for count in (8, 4096))
    assert many.argument_size_in_bytes == few.argument_size_in_bytes
    assert many.temp_size_in_bytes <= 1.5 * few.temp_size_in_bytes
