"""The lanes: which Pythons laminax is built and tested with, each with its own locked packages.

A lane is chosen by `--config=<lane>` (see .bazelrc). Only the chosen lane's repositories are fetched, and of its packages only the groups
that the targets need: the tests of ir need no jaxlib.
"""

load("//third_party/locks:groups.bzl", "GROUPS")
load("//third_party/python:interpreter.bzl", "python_interpreter")
load("//third_party/python:pip.bzl", "pip_repository")

# Lane to Python version. The jaxlib of each is in its lock file.
LANES = {
    "lowest": "3.11",
    "py311": "3.11",
    "py312": "3.12",
    "py313": "3.13",
}

# What only some targets need, and the lanes that have it: jax for benchmarks/, what builds the documentation, Flax and optax for an example,
# the compilers of accelerators for ci/.
PARTS = {
    "cuda": ["py312"],
    "docs": ["py311", "py312"],
    "flax": ["py311", "py312"],
    "jax": ["py311", "py312"],
    "tpu": ["py312"],
}

def lane_repositories():
    """Per lane: @python_<lane>, its interpreter; @pip_<lane>_<group>, its packages; @jax_<lane> and the like, of PARTS."""
    for lane, version in LANES.items():
        interpreter = "@python_%s//:python" % lane
        others = {
            package: "@pip_%s_%s" % (lane, group)
            for group, packages in GROUPS.items()
            for package in packages
        }
        python_interpreter(name = "python_" + lane, version = version)
        for group, packages in GROUPS.items():
            pip_repository(
                name = "pip_%s_%s" % (lane, group),
                interpreter = interpreter,
                lock = "//third_party/locks:%s.txt" % lane,
                others = others,
                packages = packages,
            )
        for part in [part for part, lanes in PARTS.items() if lane in lanes]:
            pip_repository(
                name = "%s_%s" % (part, lane),
                interpreter = interpreter,
                lock = "//third_party/locks:%s-%s.txt" % (lane, part),
                others = others,
            )

def by_lane(label, lanes = LANES):
    """A select of the label with `{lane}` replaced by the chosen lane."""
    return select(
        {"//third_party:" + lane: label.format(lane = lane) for lane in lanes},
        no_match_error = "this needs one of the lanes " + ", ".join(lanes),
    )

# Whether MODULE.bazel is what names repositories (Bazel 7 and 8), and not WORKSPACE: labels are printed in another way then.
_IS_MODULE = str(Label("//:BUILD")).startswith("@@")

def package_label(package):
    """The label of a package of a lane, with `{lane}` for the lane."""
    return "@pip_{lane}//" + package if _IS_MODULE else "@pip_{lane}_%s//:%s" % (group_of(package), package)

def part_package(part, package):
    """The package of one of PARTS, from the chosen lane."""
    label = ("@%s_{lane}//%s" if _IS_MODULE else "@%s_{lane}//:%s") % (part, package)
    return by_lane(label, PARTS[part])

def group_of(package):
    """The group of packages that a package is in."""
    for group, packages in GROUPS.items():
        if package in packages:
            return group
    fail("%s is in no group: name it in third_party/locks/requirements.in and run lock.py" % package)
