"""Draws what `cpu.py --json` has measured: each program's step and compile time over jax's, from the shortest to the longest, as bars.

    python benchmarks/cpu_picture.py loops.json --to=docs/pictures/cpu_loops

writes `cpu_loops.svg`, and `cpu_loops_dark.svg` for dark pages.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import statistics
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

COLORS = {"": ("#26324d", "#3f51b5", "#e8590c"), "_dark": ("#dee2e6", "#8c9eff", "#ff8c4b")}  # ink, at most jax's, above


def draw(rows: list[dict[str, Any]], path: pathlib.Path, ink: str, at_most: str, above: str) -> None:
    """Two rows of bars on a logarithmic scale, which part at 1."""
    ratios = {"time of a step": [row["ratio"]["jax"] for row in rows], "time to compile": [row["compile_ratio"] for row in rows]}
    figure, every_axes = plt.subplots(2, 1, figsize=(9, 4.4), layout="constrained")
    for axes, (what, values) in zip(every_axes, ratios.items()):
        values = sorted(values)
        axes.bar(range(len(values)), [value - 1 for value in values], bottom=1, width=0.8,
                 color=[at_most if value <= 1.05 else above for value in values])
        axes.set_yscale("log")
        axes.set_yticks([0.1, 0.2, 0.5, 1, 2], labels=["0.1", "0.2", "0.5", "1", "2"])
        axes.minorticks_off()
        axes.set_xticks([])
        axes.tick_params(colors=ink)
        axes.axhline(1, color=ink, lw=0.8)
        axes.set_title(f"{what} over that of JAX: {len(values)} programs, geometric mean {statistics.geometric_mean(values):.2f}",
                       color=ink, fontsize=10, loc="left")
        for side in axes.spines.values():
            side.set_visible(False)
    figure.savefig(path, transparent=True, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("json", type=pathlib.Path, help="what cpu.py has written")
    parser.add_argument("--to", type=pathlib.Path, required=True, help="the pictures' path, without .svg")
    options = parser.parse_args()
    plt.rcParams["svg.hashsalt"] = "laminax"
    for suffix, colors in COLORS.items():
        draw(json.loads(options.json.read_text()), options.to.with_name(f"{options.to.name}{suffix}.svg"), *colors)


if __name__ == "__main__":
    main()
