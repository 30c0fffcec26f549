"""The lanes: which Pythons laminax is built and tested with, each with its own locked packages.

A lane is chosen by `--config=<lane>` (see .bazelrc). Only the chosen lane's repositories are fetched.
"""

load("//third_party/python:interpreter.bzl", "python_interpreter")
load("//third_party/python:pip.bzl", "pip_repository")

# Lane to Python version. The jaxlib of each is in its lock file.
LANES = {
    "py311": "3.11",
    "py312": "3.12",
}

def lane_repositories():
    """Per lane: @python_<lane>, its interpreter; @pip_<lane>, its packages; @jax_<lane>, jax for benchmarks/;
    @docs_<lane>, what builds the documentation; @flax_<lane>, Flax and optax for an example."""
    for lane, version in LANES.items():
        interpreter = "@python_%s//:python" % lane
        python_interpreter(name = "python_" + lane, version = version)
        pip_repository(
            name = "pip_" + lane,
            interpreter = interpreter,
            lock = "//third_party/locks:%s.txt" % lane,
        )
        for part in ("jax", "docs", "flax"):
            pip_repository(
                name = "%s_%s" % (part, lane),
                base = "@pip_" + lane,
                interpreter = interpreter,
                lock = "//third_party/locks:%s-%s.txt" % (lane, part),
            )

def by_lane(label):
    """A select of the label with `{lane}` replaced by the chosen lane."""
    return select({"//third_party:" + lane: label.format(lane = lane) for lane in LANES})
