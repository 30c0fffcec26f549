"""The StableHLO text of collectives; the replica groups are those that JAX's documentation of `xla_computation` prints."""

from __future__ import annotations

import numpy as np
import pytest

from laminax_ir.ops.collectives import (
    all_gather,
    all_to_all,
    axis_index,
    pmax,
    ppermute,
    psum,
    psum_scatter,
)
from laminax_ir.recording.staging import stage
from laminax_ir.tracing.trace import extend_axis_env
from laminax_ir.types.avals import ShapedArray
from laminax_lowering import lower

ENV = (("i", 4), ("j", 2))


def text_of(fun, shape=(), axes=ENV) -> str:
    with extend_axis_env(*axes):
        closed = stage(lambda x: [fun(x)], [ShapedArray(shape, np.float32)])
    return lower(closed, axis_env=dict(axes), num_replicas=int(np.prod([size for _, size in axes]))).text


@pytest.mark.parametrize("names, groups", [
    ("i", [[0, 2, 4, 6], [1, 3, 5, 7]]),
    ("j", [[0, 1], [2, 3], [4, 5], [6, 7]]),
    (("i", "j"), [[0, 1, 2, 3, 4, 5, 6, 7]]),
    (("j", "i"), [[0, 2, 4, 6, 1, 3, 5, 7]]),
])
def test_replica_groups(names, groups):
    text = text_of(lambda x: psum(x, names))
    assert f"replica_groups = dense<{groups}> : tensor<{len(groups)}x{len(groups[0])}xi64>" in text
    assert '"stablehlo.all_reduce"(%arg0) ({' in text and "mhlo.num_replicas = 8" in text


def test_index_groups():
    text = text_of(lambda x: psum(x, "i", axis_index_groups=[[0, 3], [2, 1]]))
    assert "replica_groups = dense<[[0, 6], [4, 2], [1, 7], [5, 3]]> : tensor<4x2xi64>" in text
    text = text_of(lambda x: pmax(x, "i", axis_index_groups=[[0], [2, 1, 3]]), axes=(("i", 4),))
    assert "replica_groups = dense<[[0, -1, -1], [2, 1, 3]]> : tensor<2x3xi64>" in text and "stablehlo.maximum" in text


def test_operations():
    assert 'all_gather_dim = 0 : i64' in text_of(lambda x: all_gather(x, "i"), (3,))
    assert "(tensor<1x3xf32>) -> tensor<4x3xf32>" in text_of(lambda x: all_gather(x, "i"), (3,))
    assert "(tensor<8x3xf32>) -> tensor<2x3xf32>" in text_of(lambda x: psum_scatter(x, "i", tiled=True), (8, 3))
    text = text_of(lambda x: all_to_all(x, "i", 0, 1), (4, 3))
    assert "concat_dimension = 2 : i64" in text and "split_count = 4 : i64, split_dimension = 0 : i64" in text
    assert ("source_target_pairs = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>" in text_of(lambda x: ppermute(x, "i", [(0, 1)])))
    assert '"stablehlo.replica_id"() : () -> tensor<ui32>' in text_of(lambda x: axis_index("j"))


def test_an_axis_nobody_defines():
    with extend_axis_env(("k", 2)):
        closed = stage(lambda x: [psum(x, "k")], [ShapedArray((), np.float32)])
    with pytest.raises(NotImplementedError, match="over the axis 'k' cannot be lowered: .* are 'i'. Apply vmap or pmap"):
        lower(closed, axis_env={"i": 4})
