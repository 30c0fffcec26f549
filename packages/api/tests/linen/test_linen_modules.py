"""Modules: trees of variables, initial values and random streams as Flax's, which were recorded with flax 0.12.12 under jax 0.12.0.1."""

from __future__ import annotations

import numpy as np

import laminax as lx
from laminax import linen as nn


class Dense(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x):
        kernel = self.param("kernel", lx.nn.initializers.lecun_normal(), (x.shape[-1], self.features))
        return x @ kernel + self.param("bias", lx.nn.initializers.zeros, (self.features,))


class InSetup(nn.Module):
    def setup(self):
        self.a = Dense(3)
        self.b = [Dense(4), Dense(5)]

    def __call__(self, x):
        x = self.a(x)
        for layer in self.b:
            x = layer(x)
        return x


class InCompact(nn.Module):
    inner: nn.Module

    @nn.compact
    def __call__(self, x):
        count = self.variable("counts", "n", lambda: lx.numpy.zeros(()))
        count.value += 1
        self.sow("intermediates", "x", x)
        return Dense(3)(Dense(2)(self.inner(x)))


def sums(tree):
    return lx.tree.map(lambda x: float(x.sum()), tree)


def test_names_and_initial_values_of_submodules_of_setup():
    variables = InSetup().init(lx.random.key(0), np.ones((2, 3), np.float32))
    assert sums(variables) == {"params": {
        "a": {"bias": 0.0, "kernel": 1.6104203462600708}, "b_0": {"bias": 0.0, "kernel": 0.8523368239402771},
        "b_1": {"bias": 0.0, "kernel": -0.04553335905075073}}}


def test_names_and_initial_values_of_submodules_of_a_compact_method_and_a_field():
    model = InCompact(InSetup())
    variables = model.init(lx.random.key(0), np.ones((2, 3), np.float32))
    assert sums(variables) == {
        "counts": {"n": 1.0},
        "params": {"Dense_0": {"bias": 0.0, "kernel": -0.6533729434013367}, "Dense_1": {"bias": 0.0, "kernel": 0.255027174949646},
                   "inner": {"a": {"bias": 0.0, "kernel": -0.7371233105659485}, "b_0": {"bias": 0.0, "kernel": -1.2463103532791138},
                             "b_1": {"bias": 0.0, "kernel": 0.09701639413833618}}}}
    y, updates = model.apply(variables, np.ones((2, 3), np.float32), mutable=["counts", "intermediates"])
    assert y.shape == (2, 3) and float(updates["counts"]["n"]) == 2.0 and float(variables["counts"]["n"]) == 1.0
    np.testing.assert_array_equal(updates["intermediates"]["x"][0], np.ones((2, 3)))
