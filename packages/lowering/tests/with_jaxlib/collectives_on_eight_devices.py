"""Runs every collective on eight CPU devices, arranged along two named axes, and compares with NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from jaxlib import _hlo, _jax

sys.path.insert(0, str(Path(__file__).parents[1]))
import stablehlo_worker  # noqa: E402

from laminax_ir.ops.collectives import (  # noqa: E402
    all_gather,
    all_to_all,
    axis_index,
    pbroadcast,
    pmax,
    pmean,
    pmin,
    ppermute,
    psum,
    psum_scatter,
)
from laminax_ir.ops.elementwise import convert_element_type  # noqa: E402
from laminax_ir.recording.staging import stage  # noqa: E402
from laminax_ir.tracing.trace import extend_axis_env  # noqa: E402
from laminax_ir.types.avals import ShapedArray  # noqa: E402
from laminax_lowering import lower  # noqa: E402

ENV = {"i": 4, "j": 2}
X = np.random.default_rng(0).normal(size=(4, 2, 8, 4)).astype(np.float32)


def run_replicated(fun, x: np.ndarray, client) -> np.ndarray:
    """`fun` of one participant's array, on all; results with the axes of the participants in front."""
    with extend_axis_env(*ENV.items()):
        closed = stage(lambda x: [fun(x)], [ShapedArray(x.shape[2:], x.dtype)])
    text = lower(closed, axis_env=ENV, num_replicas=8, keep_unused=True).text
    devices = client.devices()
    options = _jax.CompileOptions()
    build = options.executable_build_options
    options.num_replicas = build.num_replicas = 8
    options.device_assignment = build.device_assignment = _jax.DeviceAssignment.create(np.arange(8, dtype=np.int32)[:, None])
    executable = client.compile_and_load(text, _jax.DeviceList(tuple(devices)), options)
    whole = ShapedArray((8 * x.shape[2], *x.shape[3:]), x.dtype)
    sharding = _jax.GSPMDSharding(_jax.DeviceList(tuple(devices)), _tiled(x.ndim - 2))
    rows = [np.ascontiguousarray(row) for row in x.reshape(8, *x.shape[2:])]
    array = _jax.batched_device_put(whole, sharding, rows, list(devices))
    (results,) = executable.execute_sharded([array]).disassemble_into_single_device_arrays()
    out = np.stack([r._single_device_array_to_np_array_did_copy()[0] for r in results])
    return out.reshape(4, 2, *out.shape[1:])


def _tiled(rank: int):
    proto = _hlo.OpSharding()
    proto.type = _hlo.OpSharding.Type.OTHER
    proto.tile_assignment_dimensions = [8, *[1] * (rank - 1)]
    proto.tile_assignment_devices = list(range(8))
    return proto


def each(f, x=X):
    """Applies `f(rows over i) -> rows over i` for each j."""
    return np.stack([f(x[:, j]) for j in range(2)], 1)


def same(f):
    return lambda rows: np.stack([f(rows)] * len(rows))


CASES = {
    "psum i": (lambda x: psum(x, "i"), each(same(lambda r: r.sum(0)))),
    "pmax i": (lambda x: pmax(x, "i"), each(same(lambda r: r.max(0)))),
    "pmin i": (lambda x: pmin(x, "i"), each(same(lambda r: r.min(0)))),
    "pmean i j": (lambda x: pmean(x, ("i", "j")), np.broadcast_to(X.mean((0, 1)), X.shape)),
    "psum groups": (lambda x: psum(x, "i", axis_index_groups=[[0, 3], [2, 1]]),
                    each(lambda r: np.stack([r[[0, 3]].sum(0), r[[1, 2]].sum(0), r[[1, 2]].sum(0), r[[0, 3]].sum(0)]))),
    "all_gather i": (lambda x: all_gather(x, "i", axis=1), each(same(lambda r: np.stack(list(r), 1)))),
    "all_gather tiled": (lambda x: all_gather(x, "i", tiled=True), each(same(lambda r: np.concatenate(list(r), 0)))),
    "all_gather j i": (lambda x: all_gather(x, ("j", "i")),
                       np.broadcast_to(np.swapaxes(X, 0, 1).reshape(8, 8, 4), (4, 2, 8, 8, 4))),
    "psum_scatter": (lambda x: psum_scatter(x, "i", scatter_dimension=1), each(lambda r: np.moveaxis(r.sum(0), 1, 0))),
    "psum_scatter tiled": (lambda x: psum_scatter(x, "i", tiled=True), each(lambda r: np.stack(np.split(r.sum(0), 4, 0)))),
    "psum_scatter i j": (lambda x: psum_scatter(x, ("i", "j")), X.sum((0, 1)).reshape(4, 2, 4)),
    "all_to_all": (lambda x: all_to_all(x, "i", 1, 0), each(lambda r: np.stack([r[:, :, i] for i in range(4)]))),
    "all_to_all behind": (lambda x: all_to_all(x, "i", 1, 1), each(lambda r: np.swapaxes(r, 0, 2))),
    "all_to_all tiled": (lambda x: all_to_all(x, "i", 0, 1, tiled=True),
                         each(lambda r: np.stack([np.concatenate([np.split(y, 4, 0)[i] for y in r], 1) for i in range(4)]))),
    "ppermute": (lambda x: ppermute(x, "i", [(0, 2), (2, 3)]), each(lambda r: np.stack([0 * r[0], 0 * r[0], r[0], r[2]]))),
    "pbroadcast": (lambda x: pbroadcast(x, "i", 2), each(same(lambda r: r[2]))),
    "axis_index": (lambda x: x * convert_element_type(axis_index(("j", "i")), np.float32),
                   X * (np.arange(4)[:, None] + 4 * np.arange(2)).reshape(4, 2, 1, 1)),
}


def main() -> None:
    stablehlo_worker.prepare()
    client = _jax.get_tfrt_cpu_client(num_devices=8, asynchronous=False)
    for name, (fun, expected) in CASES.items():
        np.testing.assert_allclose(run_replicated(fun, X, client), expected, rtol=1e-5, atol=1e-6, err_msg=name)


main()
