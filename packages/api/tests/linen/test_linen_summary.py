"""Tables of models: the rows, and the table where rich is installed."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import laminax as lx
from laminax import linen as nn
from laminax._src.linen.summary import rows_of

KEY = lx.random.key(0)
X = np.ones((16, 9), np.float32)


class Block(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x, scale=1.0):
        count = self.variable("stats", "n", lambda: np.zeros(2, np.float32))
        return nn.Dense(self.features)(x) * scale + count.value.sum()


class Model(nn.Module):
    def setup(self):
        self.block = Block(9)

    def __call__(self, x):
        return self.block(self.block(x), scale=2.0), {"a": x}


def test_rows():
    rows = rows_of(Model(), KEY, (X,), {})
    assert [row.path for row in rows] == [(), ("block",), ("block", "Dense_0")]
    assert [type(row.module).__name__ for row in rows] == ["Model", "Block", "Dense"] and all(row.module.scope is None for row in rows)
    assert rows[0].inputs.shape == (16, 9) and rows[0].outputs[1]["a"].shape == (16, 9)
    assert {name: list(tree) for name, tree in rows[1].variables.items()} == {"stats": ["n"]}
    assert lx.tree.map(np.shape, rows[2].variables) == {"params": {"kernel": (9, 9), "bias": (9,)}}


def test_repeated_calls_have_rows_of_their_own_if_wanted():
    rows = rows_of(Model(), KEY, (X,), {}, show_repeated=True)
    assert [row.path for row in rows] == [(), ("block",), ("block", "Dense_0"), ("block",), ("block", "Dense_0")]
    assert rows[3].variables == {} and rows[3].inputs[1] == {"scale": 2.0}


def test_depth():
    rows = rows_of(Model(), KEY, (X,), {}, depth=1)
    assert [row.path for row in rows] == [(), ("block",)]
    assert sorted(rows[1].counted) == ["params", "stats"] and sorted(rows[1].variables) == ["stats"]


def test_operations_are_those_of_the_products():
    (row,) = rows_of(nn.Dense(5, use_bias=False), KEY, (X,), {}, compute_flops=True, compute_vjp_flops=True)
    products = 16 * 9 * 5 * 2
    assert products * 0.95 < row.flops < products * 1.05  # the compiler counts one addition less for each sum
    assert products * 3 * 0.95 < row.vjp_flops < products * 3 * 1.1  # and those of the variables, which are results too


def test_module_paths():
    paths = Model().module_paths(KEY, X)
    assert {path: type(module).__name__ for path, module in paths.items()} == {"": "Model", "block": "Block", "block/Dense_0": "Dense"}


def test_types_are_enough():
    assert len(Model().module_paths(KEY, lx.ShapeDtypeStruct((1 << 40, 9), np.float32))) == 3


def test_lifted_modules_have_the_class_that_was_lifted():
    class Loop(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.RNN(nn.LSTMCell(4))(x)
    kinds = {path: type(module).__name__ for path, module in Loop().module_paths(KEY, np.ones((2, 3, 5), np.float32)).items()}
    assert kinds["RNN_0"] == "RNN" and kinds["LSTMCell_0"] == "LSTMCell"  # the cell was made by Loop


@pytest.mark.skipif(importlib.util.find_spec("rich") is not None, reason="rich is installed")
def test_a_table_needs_rich():
    with pytest.raises(ImportError, match="pip install rich"):
        Model().tabulate(KEY, X)


@pytest.mark.skipif(importlib.util.find_spec("rich") is None, reason="needs rich")
def test_table():
    text = nn.tabulate(Model(), KEY, compute_flops=True, console_kwargs={"force_terminal": False, "width": 200})(X)
    lines = text.split("\n")
    assert "Model Summary" in lines[1]
    for word in ("path", "module", "inputs", "outputs", "flops", "params", "stats"):
        assert word in lines[3]
    assert any("kernel: float32[9,9]" in line for line in lines) and any("block/Dense_0" in line for line in lines)
    assert "Total Parameters: 92 (368 B)" in text  # 9 * 9 + 9 + 2
