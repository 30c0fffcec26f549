"""A transformer that trains on 16 and on 8 TPUs: the bytes that its collectives move, its memory and its operations, against the textbook.

The counts are those of data parallel training (each gradient is summed once), of tensor parallel training (four sums of activations per
block; Shoeybi et al., "Megatron-LM", 2019), and of sequence parallel training (each of these a reduce-scatter and an all-gather;
Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022).
"""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
from hlo_collectives import collectives
from sharded_transformer import BATCH, FLOAT, LAYERS, LENGTH, VOCABULARY, WIDTH, Layout, arguments, count, parameters, training_step

from laminax.experimental.topologies import TopologyDescription, make_mesh

DATA = ("v5e:4x4", (16,), ("data",), Layout(data="data"))
DATA_AND_TENSOR = ("v5e:4x4", (4, 4), ("data", "model"), Layout(data="data", model="model"))
DATA_AND_SEQUENCE = ("v5e:4x4", (4, 4), ("data", "model"), Layout(data="data", model="model", is_sequence_split=True))
TENSOR = ("v5p:2x2x2", (8,), ("model",), Layout(model="model"))
SEQUENCE = ("v5p:2x2x2", (8,), ("model",), Layout(model="model", is_sequence_split=True))
ALL = {"data": DATA, "data and tensor": DATA_AND_TENSOR, "data and sequence": DATA_AND_SEQUENCE, "tensor": TENSOR, "sequence": SEQUENCE}

BLOCK = parameters()["blocks"][0]
SPLIT = LAYERS * count({name: shape for name, shape in BLOCK.items() if "scale" not in name})  # by tensor parallelism
WHOLE = count(parameters()) - SPLIT


@pytest.fixture(scope="module")
def compiled(devices):
    @cache
    def of(topology, shape, names, layout):
        return training_step(make_mesh(TopologyDescription(devices(topology)), shape, names), layout).lower(*arguments()).compile()

    return of


def sizes(case):
    _, shape, names, layout = case
    by_name = dict(zip(names, shape))
    return by_name.get(layout.data, 1), by_name.get(layout.model, 1)


def activations(case):
    """The bytes of the activations between blocks that the devices of one tensor parallel group have together."""
    return BATCH // sizes(case)[0] * LENGTH * WIDTH * FLOAT


def test_data_parallel_training_sums_each_gradient_once(compiled):
    (found,) = collectives(compiled(*DATA).as_text())
    assert (found.kind, found.group_size) == ("all-reduce", 16)
    assert found.bytes == (count(parameters()) + 1) * FLOAT  # the gradients and the loss


@pytest.mark.parametrize("case", [DATA_AND_TENSOR, TENSOR], ids=["data and tensor", "tensor"])
def test_tensor_parallel_training_sums_activations_four_times_per_block(case, compiled):
    found = Counter(collectives(compiled(*case).as_text()))
    data, model = sizes(case)
    sums = {c: n for c, n in found.items() if c.group_size == model and c.bytes == activations(case)}
    assert sum(sums.values()) == 4 * LAYERS and {c.kind for c in sums} == {"all-reduce"}
    others = [c for c in found if c not in sums]
    if data == 1:
        assert not others
    else:  # the gradients of this device's part of the parameters, and the loss
        ((other,),) = [others]
        assert (other.kind, other.group_size, other.bytes) == ("all-reduce", data, (SPLIT // model + WHOLE + 1) * FLOAT)


@pytest.mark.parametrize("case", [DATA_AND_SEQUENCE, SEQUENCE], ids=["data and sequence", "sequence"])
def test_sequence_parallel_training_scatters_and_gathers_instead(case, compiled):
    """Four reduce-scatters per block, and four all-gathers and up to two more, where what was gathered is not kept for the derivative.
    The gathered activations go into products, which take bfloat16: half of the bytes."""
    data, model = sizes(case)
    found = [c for c in collectives(compiled(*case).as_text()) if c.group_size == model]
    # On v5p the compiler sums and keeps a part, which moves as much as a reduce-scatter followed by nothing.
    scattered = [c for c in found if c.kind in ("reduce-scatter", "all-reduce") and c.bytes == activations(case)]
    gathered = [c for c in found if c.kind == "all-gather" and c.bytes in (activations(case), activations(case) // 2)]
    assert len(scattered) == 4 * LAYERS
    assert 4 * LAYERS <= len(gathered) <= 6 * LAYERS + 1  # the last for the embedding's or the head's gradient
    assert all(c in scattered or c in gathered or c.kind == "all-reduce" and c.bytes <= (count(parameters()) + 1) * FLOAT for c in found)


@pytest.mark.parametrize("case", ALL.values(), ids=list(ALL))
def test_a_device_has_its_part_of_the_parameters_once(case, compiled):
    memory = compiled(*case).memory_analysis()
    part = (SPLIT // sizes(case)[1] + WHOLE) * FLOAT
    assert memory.alias_size_in_bytes == part  # the new parameters are where the old ones were
    assert part < memory.argument_size_in_bytes < 1.01 * part  # and the tokens
    kept = LAYERS * activations(case)  # at least the input of each block is there for its derivative, on this device or on the group
    assert memory.temp_size_in_bytes < 40 * kept


def test_sequence_parallel_training_takes_less_memory_and_no_operation_twice(compiled):
    tensor, sequence = (compiled(*case) for case in (TENSOR, SEQUENCE))
    assert sequence.memory_analysis().temp_size_in_bytes < 0.7 * tensor.memory_analysis().temp_size_in_bytes
    assert sequence.cost_analysis()["flops"] < tensor.cost_analysis()["flops"]


@pytest.mark.parametrize("case", [DATA, DATA_AND_SEQUENCE, SEQUENCE], ids=["data", "data and sequence", "sequence"])
def test_operations_are_shared_evenly(case, compiled):
    """Six per parameter of a product and token, and the products of attention: 12 * tokens * length * width per block."""
    devices = sizes(case)[0] * sizes(case)[1]
    tokens = BATCH * LENGTH
    expected = 6 * tokens * (SPLIT + WIDTH * VOCABULARY) + LAYERS * 12 * tokens * LENGTH * WIDTH
    assert compiled(*case).cost_analysis()["flops"] == pytest.approx(expected / devices, rel=0.05)  # elementwise operations are few
