"""The text of control flow: what is inside a loop, what is not, and how often."""

import re

import numpy as np
import pytest

from laminax_ir.ops import elementwise as op
from laminax_ir.ops.control_flow import cond, platform_dependent, switch
from laminax_ir.ops.loops import scan, while_loop
from laminax_ir.pytrees.pytree import tree_flatten
from laminax_ir.recording.staging import stage
from laminax_ir.types.avals import get_aval
from laminax_lowering import lower

X = np.arange(6, dtype=np.float32)


def text_of(fun, *args, platform="cpu"):
    return lower(stage(lambda *xs: tree_flatten(fun(*xs))[0], [get_aval(x) for x in args]), platform=platform).text


def count(text, name):
    return text.count(f'"stablehlo.{name}"')


def running_sum(**how):
    return lambda xs: scan(lambda c, x: (c + op.sin(x), c), np.float32(0), xs, **how)


@pytest.mark.parametrize("unroll, loops, steps", [(1, 1, 1), (2, 1, 2), (4, 1, 4 + 2), (5, 1, 5 + 1), (6, 0, 6), (True, 0, 6), (0, 0, 6),
                                                  (9, 0, 6)])
def test_unrolled_steps(unroll, loops, steps):
    text = text_of(running_sum(unroll=unroll), X)
    assert (count(text, "while"), count(text, "sine")) == (loops, steps)


def test_a_scan_counts_in_32_bits_and_reads_constants_from_outside():
    w = np.float32(2)
    text = text_of(lambda w, xs: scan(lambda c, x: (c * w + x, None), w, xs)[0], w, X)
    (carried,) = re.findall(r'"stablehlo.while".*?\^bb0\((.*?)\):', text, re.DOTALL)
    assert re.findall(r"tensor<\w+>", carried) == ["tensor<i32>", "tensor<f32>"]  # neither w nor xs


def test_a_known_index_leaves_one_branch():
    text = text_of(lambda x: switch(1, [op.sin, op.cos, op.tanh], x), X)
    assert count(text, "case") == 1  # the index is clamped by an operation: XLA folds it
    text = text_of(lambda x: platform_dependent(x, cpu=op.sin, tpu=op.cos, default=op.tanh), X, platform="tpu")
    assert (count(text, "case"), count(text, "cosine"), count(text, "sine"), count(text, "tanh")) == (0, 1, 0, 0)
    text = text_of(lambda x: platform_dependent(x, cpu=op.sin, tpu=op.cos, default=op.tanh), X, platform="cuda")
    assert count(text, "tanh") == 1
    with pytest.raises(NotImplementedError, match="platform rocm: it has no function for this platform, nor a default"):
        text_of(lambda x: platform_dependent(x, cpu=op.sin, tpu=op.cos), X, platform="rocm")


@pytest.mark.parametrize("platform", ["cpu", "cuda", "rocm", "tpu"])
def test_lowered_for_all_platforms(platform):
    text = text_of(lambda n, xs: while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, cond(c[0] > 2, op.sin, op.cos, c[1])), (0, xs)),
                   np.int32(3), X, platform=platform)
    assert (count(text, "while"), count(text, "case")) == (1, 1)
