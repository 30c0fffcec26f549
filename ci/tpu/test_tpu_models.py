"""Programs that train, of the examples and the benchmarks, compiled for a TPU; what they need of its memory and compute."""

from __future__ import annotations

import numpy as np
import pytest
import train_digits
import training_programs
from programs import mlp100

import laminax
from laminax.sharding import SingleDeviceSharding


def structs(tree, device):
    """The types of arrays, on a device."""
    return laminax.tree.map(lambda x: laminax.ShapeDtypeStruct(np.shape(x), laminax.dtypes.canonicalize_dtype(np.asarray(x).dtype),
                                                               sharding=SingleDeviceSharding(device)), tree)


def byte_count(tree):
    return sum(int(np.prod(x.shape)) * x.dtype.itemsize for x in laminax.tree.leaves(tree))


PROGRAMS = ("gru8", "mixer12")  # the transformer has a file of its own; resnet12 takes libtpu minutes


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_training_program_compiles(name, devices):
    training = training_programs.PROGRAMS[name]
    arguments = structs(training.arguments(), devices("v5e:2x4")[0])
    memory = training.step(laminax).lower(*arguments).compile().memory_analysis()
    assert byte_count(arguments) <= memory.argument_size_in_bytes  # tiles are filled up
    if training.is_donating:  # the new parameters are where the old ones were
        assert memory.alias_size_in_bytes >= byte_count(arguments[0])


def test_a_hundred_layers_compile(devices):
    weights, x = structs(mlp100.arguments(), devices("v5e:2x4")[0])
    compiled = laminax.jit(laminax.grad(mlp100.fresh(laminax))).lower(weights, x).compile()
    assert compiled.cost_analysis()["flops"] > 100 * 3 * 2 * 8**3 * 0.5


def test_the_example_compiles(devices):
    device = devices("v5e:2x4")[0]
    params = laminax.eval_shape(lambda key: train_digits.init_params(key, [64, 128, 10]), laminax.random.key(0))
    params = structs(params, device) if not laminax.tree.leaves(params) else laminax.tree.map(
        lambda x: laminax.ShapeDtypeStruct(x.shape, x.dtype, sharding=SingleDeviceSharding(device)), params)
    state = laminax.tree.map(lambda x: laminax.ShapeDtypeStruct(x.shape, x.dtype, sharding=SingleDeviceSharding(device)),
                             laminax.eval_shape(train_digits.init_adam, params))
    images, labels = structs((np.zeros((256, 64), np.float32), np.zeros(256, np.int32)), device)
    rate = structs(np.float32(0.001), device)
    compiled = train_digits.train_step.lower(params, state, images, labels, rate).compile()
    numbers = 64 * 128 + 128 * 10
    assert compiled.cost_analysis()["flops"] > 2 * 3 * 256 * numbers * 0.6  # the first layer's input needs no derivative
