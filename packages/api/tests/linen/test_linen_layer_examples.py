"""The examples in the docstrings of layers print what is written there."""

import doctest
import importlib
import inspect

import pytest

from laminax import linen

MODULES = ["serialization", *(f"layers.{name}" for name in (
    "activation", "attention", "combinators", "convolutions", "dtypes", "initializers", "linear", "multi_head_attention", "normalization",
    "pooling", "recurrent", "sequences", "stochastic", "weight_normalization"))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_is_written(name):
    module = importlib.import_module(f"laminax._src.linen.{name}")
    done = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert done.failed == 0 and done.attempted > 0


def test_each_layer_has_an_example():
    layers = [value for name in linen.__all__ if inspect.isclass(value := getattr(linen, name)) and ".layers." in value.__module__]
    assert len(layers) >= 30
    without = {"RNNCellBase", "SelfAttention"}  # a base, and a deprecated name
    assert {layer.__name__ for layer in layers if ">>>" not in (layer.__doc__ or "")} == without
