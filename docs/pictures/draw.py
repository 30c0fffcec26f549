"""Draws the pictures of the pages, beside this file: ./bazelw run //docs:draw -- --to=docs/pictures"""

from __future__ import annotations

import argparse
import pathlib
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.patches import FancyBboxPatch, Rectangle  # noqa: E402

import laminax  # noqa: E402
import laminax.numpy as jnp  # noqa: E402
from laminax.sharding import NamedSharding  # noqa: E402
from laminax.sharding import PartitionSpec as P  # noqa: E402

INK, BLUE, ORANGE, GREEN, GREY = "#26324d", "#3f51b5", "#e8590c", "#2b8a3e", "#868e96"
PALE = {BLUE: "#e5e8f8", ORANGE: "#fdebe1", GREEN: "#e3f4e7", GREY: "#f1f3f5"}
COLORS = ["#4c6ef5", "#e8590c", "#2b8a3e", "#c2255c", "#0c8599", "#f08c00", "#7048e8", "#5c940d"]


def canvas(width: float, height: float) -> Axes:
    """Axes in which one unit is one unit of the picture, without a frame."""
    figure = plt.figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")
    return axes


def box(axes: Axes, x: float, y: float, width: float, height: float, text: str, color: str = BLUE, mono: bool = False) -> None:
    style = "round,pad=0,rounding_size=0.1"
    axes.add_patch(FancyBboxPatch((x, y), width, height, boxstyle=style, facecolor=PALE[color], edgecolor=color, lw=1.4))
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", color=INK, fontsize=10, linespacing=1.45,
              family="monospace" if mono else "sans-serif")


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], text: str = "", color: str = GREY) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.4, "shrinkA": 0, "shrinkB": 0})
    if text:
        axes.text((start[0] + end[0]) / 2, (start[1] + end[1]) / 2 + 0.09, text, ha="center", va="bottom", color=GREY, fontsize=9)


def tracing() -> None:
    axes = canvas(9, 3.1)
    box(axes, 0.2, 1.75, 1.9, 1.1, "def f(x):\n  y = sin(x)\n  return y ** 2", mono=True)
    box(axes, 3.2, 1.75, 2.3, 1.1, "a: f32[]\nb = sin a\nc = integer_pow b", ORANGE, mono=True)
    box(axes, 6.8, 1.75, 2.0, 1.1, "compiled program\nf32[] → f32[]", GREEN)
    arrow(axes, (2.1, 2.3), (3.2, 2.3), "call with\na tracer")
    arrow(axes, (5.5, 2.3), (6.8, 2.3), "lower,\ncompile")
    box(axes, 3.2, 0.2, 2.3, 0.8, "grad, vmap: another\nprogram", ORANGE)
    arrow(axes, (3.8, 1.75), (3.8, 1.0))
    arrow(axes, (4.9, 1.0), (4.9, 1.75))
    axes.text(7.8, 0.6, "f(2.0), f(3.0), ...:\nonly this runs", ha="center", va="center", color=GREEN, fontsize=10)
    arrow(axes, (7.8, 0.95), (7.8, 1.75), color=GREEN)
    axes.text(1.15, 1.45, "your Python, once per type", ha="center", color=BLUE, fontsize=9)


def derivatives() -> None:
    figure, axes = plt.subplots(figsize=(7, 3.1), layout="constrained")
    x = jnp.linspace(-3, 3, 301)
    function: Callable = jnp.tanh
    for label, color in [("tanh", BLUE), ("grad(tanh)", ORANGE), ("grad(grad(tanh))", GREEN)]:
        axes.plot(np.asarray(x), np.asarray(laminax.vmap(function)(x)), color=color, label=label, lw=2)
        function = laminax.grad(function)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="upper left")
    axes.set_xlabel("x")
    axes.spines[["top", "right"]].set_visible(False)


def grid(axes: Axes, x: float, y: float, rows: int, columns: int, color: str, size: float = 0.26) -> None:
    for row in range(rows):
        for column in range(columns):
            axes.add_patch(Rectangle((x + column * size, y + row * size), size, size, facecolor=PALE[color], edgecolor=color, lw=1))


def batching() -> None:
    axes = canvas(9, 3.0)
    axes.text(1.9, 2.65, "dot(w, x)", ha="center", color=INK, fontsize=12, family="monospace")
    grid(axes, 0.7, 1.6, 2, 3, BLUE)
    axes.text(1.7, 1.83, "·", fontsize=18, color=INK)
    grid(axes, 2.0, 1.47, 3, 1, ORANGE)
    axes.text(2.45, 1.8, "=", fontsize=14, color=INK)
    grid(axes, 2.85, 1.6, 2, 1, GREEN)
    axes.text(1.1, 1.15, "w", ha="center", color=BLUE, fontsize=11)
    axes.text(2.13, 1.02, "x", ha="center", color=ORANGE, fontsize=11)
    arrow(axes, (3.5, 1.85), (4.9, 1.85), "vmap, in_axes=\n(None, 0)")
    axes.text(6.9, 2.65, "vmap(dot, (None, 0))(w, xs)", ha="center", color=INK, fontsize=12, family="monospace")
    grid(axes, 5.2, 1.6, 2, 3, BLUE)
    axes.text(6.2, 1.83, "·", fontsize=18, color=INK)
    grid(axes, 6.5, 1.47, 3, 5, ORANGE)
    axes.text(7.95, 1.8, "=", fontsize=14, color=INK)
    grid(axes, 8.3, 1.34, 5, 2, GREEN, 0.21)
    axes.text(5.6, 1.15, "w", ha="center", color=BLUE, fontsize=11)
    axes.text(7.15, 1.02, "xs, five examples", ha="center", color=ORANGE, fontsize=11)
    axes.text(4.5, 0.35, "one product of matrices, no loop: w is shared, the axis of xs goes through", ha="center", color=GREY, fontsize=10)


def keys() -> None:
    axes = canvas(9, 3.2)
    box(axes, 3.6, 2.5, 1.8, 0.5, "random.key(42)", GREY, mono=True)
    for x, text, color in [(0.9, "dropout_key", BLUE), (6.3, "noise_key", ORANGE)]:
        box(axes, x, 1.4, 1.8, 0.5, text, color, mono=True)
        arrow(axes, (4.5, 2.5), (x + 0.9, 1.9))
    axes.text(4.5, 2.02, "split", ha="center", color=GREY, fontsize=10, family="monospace")
    box(axes, 0.6, 0.3, 2.4, 0.5, "bernoulli(dropout_key)", GREEN, mono=True)
    arrow(axes, (1.8, 1.4), (1.8, 0.8))
    for number in range(3):
        x = 4.7 + 1.42 * number
        box(axes, x, 0.3, 1.32, 0.5, f"normal(keys[{number}])", GREEN, mono=True)
        axes.texts[-1].set_fontsize(7.5)
        arrow(axes, (7.2, 1.4), (x + 0.66, 0.8))
    axes.text(7.2, 1.02, "split", ha="center", color=GREY, fontsize=10, family="monospace", backgroundcolor="white")


def shardings() -> None:
    """Who holds which part of an array of 8 by 4, on a mesh of 4 by 2 devices: asked of the shardings, not drawn by hand."""
    mesh = laminax.make_mesh((4, 2), ("data", "model"))
    centre: dict[str, Any] = {"ha": "center", "va": "center"}
    specs = [P("data", "model"), P("data", None), P(None, "model"), P(("data", "model"), None), P(None, None)]
    axes = canvas(9.4, 3.0)
    for number, spec in enumerate(specs):
        places = NamedSharding(mesh, spec).devices_indices_map((8, 4))
        x, y, cell = 0.25 + 1.85 * number, 0.65, 0.22
        holders: dict[tuple, list[int]] = {}
        for device, (rows, columns) in places.items():
            holders.setdefault(((rows.start or 0, rows.stop or 8), (columns.start or 0, columns.stop or 4)), []).append(device.id)
        for ((top, bottom), (left, right)), ids in holders.items():
            color = COLORS[min(ids)] if len(ids) < 8 else GREY
            axes.add_patch(Rectangle((x + left * 0.36, y + (8 - bottom) * cell), (right - left) * 0.36, (bottom - top) * cell,
                                     facecolor=color, edgecolor="white", lw=1.5, alpha=0.85))
            text = " ".join(map(str, sorted(ids))) if len(ids) < 8 else "all\neight"
            text = text.replace(" ", "\n") if len(ids) == 4 else text
            axes.text(x + (left + right) / 2 * 0.36, y + (8 - (top + bottom) / 2) * cell, text, color="white", fontsize=9, **centre)
        title = f"P({', '.join(map(repr, spec))})".replace("'", '"')
        axes.text(x + 0.72, y + 8 * cell + 0.15, title, ha="center", color=INK, fontsize=7.5, family="monospace")
    legend = "an array of 8 by 4 on a mesh of 4 by 2 devices; the numbers are those of the devices that hold the part"
    axes.text(4.7, 0.25, legend, ha="center", color=GREY, fontsize=10)


PICTURES: dict[str, Callable[[], None]] = {
    "tracing": tracing, "derivatives": derivatives, "vmap": batching, "keys": keys, "shardings": shardings,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=pathlib.Path, default=pathlib.Path(__file__).parent, help="the folder for the pictures")
    folder = parser.parse_args().to
    laminax.config.update("num_cpu_devices", 8)
    plt.rcParams.update({"svg.hashsalt": "laminax", "svg.fonttype": "path"})
    for name, draw in PICTURES.items():
        draw()
        plt.savefig(folder / f"{name}.svg", metadata={"Date": None})
        plt.close()


if __name__ == "__main__":
    main()
