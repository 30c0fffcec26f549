"""Two chemicals that react and diffuse on a plate that is spread over eight devices.

    ./bazelw run //examples:reaction_diffusion -- --plot=/tmp/plate.png

The Gray-Scott equations (Pearson, "Complex patterns in a simple system", Science 1993): u is fed and eaten, v is made
of u and dies. Each device holds a tile of the plate on a mesh of 4 by 2. In a step it sends its borders to its
neighbours, by `ppermute`, and computes its tile; nothing else is ever moved. Where there is one CPU, laminax makes
eight devices of it. `--devices=1` computes the same numbers on one.
"""

from functools import partial

import numpy as np
from absl import app, flags

import laminax as lx
import laminax.numpy as jnp
from laminax import lax
from laminax.sharding import AxisType, NamedSharding
from laminax.sharding import PartitionSpec as P

flags.DEFINE_integer("size", 256, "Points along each side of the plate; a multiple of 4.", lower_bound=4)
flags.DEFINE_integer("steps", 6000, "Time steps.", lower_bound=1)
flags.DEFINE_enum("devices", "8", ["1", "8"], "How many devices share the plate.")
flags.DEFINE_float("feed", 0.037, "How fast u is fed.")
flags.DEFINE_float("kill", 0.06, "How fast v dies.")
flags.DEFINE_string("plot", None, "File to draw the plate to (PNG, PDF or SVG).")
FLAGS = flags.FLAGS

GRID = {"1": (1, 1), "8": (4, 2)}
FASTER, SLOWER = 0.16, 0.08  # the diffusion of u and of v


def with_borders(tile, axis, name):
    """The tile with one more line on both sides of an axis, from the neighbours on the mesh; the plate is a torus."""
    count = lax.axis_size(name)
    last, first = lax.slice_in_dim(tile, -1, None, axis=axis), lax.slice_in_dim(tile, 0, 1, axis=axis)
    before = lax.ppermute(last, name, [(i, (i + 1) % count) for i in range(count)])
    after = lax.ppermute(first, name, [(i, (i - 1) % count) for i in range(count)])
    return jnp.concatenate([before, tile, after], axis=axis)


def laplacian(tile):
    rows, columns = with_borders(tile, 0, "rows"), with_borders(tile, 1, "columns")
    return rows[:-2] + rows[2:] + columns[:, :-2] + columns[:, 2:] - 4 * tile


def run_tile(u, v, feed, kill, steps):
    """All time steps of one device's tiles, f32[rows, columns]."""
    def step(_, state):
        u, v = state
        reaction = u * v**2
        return (u + FASTER * laplacian(u) - reaction + feed * (1 - u), v + SLOWER * laplacian(v) + reaction - (feed + kill) * v)

    return lax.fori_loop(0, steps, step, (u, v))


def start(size):
    """u everywhere, and squares of v."""
    rng = np.random.default_rng(0)
    u, v = np.ones((size, size), np.float32), np.zeros((size, size), np.float32)
    side = max(2, size // 16)
    for row, column in rng.integers(0, size - side, (12, 2)):
        u[row:row + side, column:column + side], v[row:row + side, column:column + side] = 0.5, 0.25
    return u, v


def plot(path, v, shape):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5.4, 4.8), layout="constrained")
    picture = axes.imshow(v, cmap="magma", interpolation="bilinear")
    for axis, (count, draw) in enumerate(zip(shape, (axes.axhline, axes.axvline))):
        for border in range(1, count):
            draw(border * v.shape[axis] / count - 0.5, color="white", lw=0.6, ls=":")
    axes.set_title("v; dotted: the borders between devices")
    axes.set_axis_off()
    figure.colorbar(picture)
    figure.savefig(path, dpi=100)


def main(argv):
    shape = GRID[FLAGS.devices]
    lx.config.update("num_cpu_devices", int(FLAGS.devices))
    mesh = lx.make_mesh(shape, ("rows", "columns"), axis_types=(AxisType.Auto,) * 2)
    split = P("rows", "columns")
    u, v = (lx.device_put(x, NamedSharding(mesh, split)) for x in start(FLAGS.size))
    program = lx.jit(lx.shard_map(partial(run_tile, feed=FLAGS.feed, kill=FLAGS.kill, steps=FLAGS.steps),
                                  mesh=mesh, in_specs=(split, split), out_specs=(split, split)))
    text = program.lower(u, v).compile().as_text()
    u, v = program(u, v)
    exchanges, tile = text.count(" collective-permute"), v.sharding.shard_shape(v.shape)
    print(f"{mesh.size} devices, each with a tile of {tile}; {exchanges} exchanges in a step")
    print(f"mean of v {float(v.mean()):.5f}, of u {float(u.mean()):.5f}; largest v {float(v.max()):.4f}")
    if FLAGS.plot:
        plot(FLAGS.plot, np.asarray(v), shape)


if __name__ == "__main__":
    app.run(main)
