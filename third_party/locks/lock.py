"""Writes a lane's lock files: every package pinned, with the sha256 of each wheel that may be installed.

Run it with the lane's own interpreter after changing a `.in` file:

    python3.11 third_party/locks/lock.py py311
    python3.12 third_party/locks/lock.py py312
    python3.13 third_party/locks/lock.py py313
    python3.11 third_party/locks/lock.py lowest

Versions that are to stay as they are go into a file of constraints that the environment names: PIP_CONSTRAINT=pins.txt.

pip resolves the lane for this machine first; the same versions are then looked up for the other
platforms, so that one lock serves all of them. What only some targets need, the jax of benchmarks/, the
tools that build the documentation, Flax for an example, the compilers of accelerators, is resolved against the lane's pins and written to
files of their own, which hold only what the lane does not have already. `lock.py py311 docs` writes one alone; lanes without
such `.in` files have none. Which group of requirements.in each package is in, with what it requires in turn, is written to groups.bzl, for
all lanes together.
"""

import json
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile
from typing import NamedTuple

# The one parser of requirements that is certain to be there: pip is running.
from pip._vendor.packaging.requirements import Requirement

PARTS = ("jax", "docs", "flax", "tpu", "cuda")  # lock files beside the lane's own
LOCKS = pathlib.Path(__file__).parent
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64")
PLATFORMS_OF = {"tpu": ("manylinux_2_31_x86_64",), "cuda": ("manylinux_2_28_x86_64",)}  # of parts that are not for all of these


def main(lane: str, *parts: str) -> None:
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    if version != {"lowest": "py311"}.get(lane, lane):
        raise SystemExit(f"lock.py: lane {lane} is locked by its own interpreter; this one is {version}")
    if parts:
        pins = written_pins(lane)
    else:
        report = pip_report("-r", str(LOCKS / f"{lane}.in"))
        pins = {package.name: package.version for package in report}
        write(lane, pins)
        write_groups({package.name: package.required for package in report})
    for part in parts or [part for part in PARTS if (LOCKS / f"{lane}-{part}.in").exists()]:
        together = resolve("-r", str(LOCKS / f"{lane}-{part}.in"), "-r", str(LOCKS / f"{lane}.in"), *constraints(pins))
        own = {name: pin for name, pin in together.items() if name not in pins}
        write(f"{lane}-{part}", own, PLATFORMS_OF.get(part, PLATFORMS))


def written_pins(lane: str) -> dict[str, str]:
    """Name to version of what the lane's lock file has."""
    return dict(re.findall(r"^(\S+)==(\S+)", (LOCKS / f"{lane}.txt").read_text(), re.MULTILINE))


def resolve(*requirements: str) -> dict[str, str]:
    """Canonical name to version of everything the requirements need on this machine."""
    return {package.name: package.version for package in pip_report(*requirements)}


def requirements_by_group() -> dict[str, list[str]]:
    """The lines of requirements.in under each `# group NAME: ...`."""
    found: dict[str, list[str]] = {}
    for line in (LOCKS / "requirements.in").read_text().splitlines():
        if line.startswith("# group "):
            group = found[line.removeprefix("# group ").partition(":")[0]] = []
        elif line and not line.startswith("#"):
            group.append(line)
    return found


def write_groups(required: dict[str, set[str]]) -> None:
    """Adds the lane's packages to groups.bzl: each to the first group that needs it.

    Args:
      required: by the canonical name of each package, those that it requires itself.
    """
    known = runpy.run_path(str(LOCKS / "groups.bzl"))["GROUPS"]  # its syntax is Python's
    taken: set[str] = set()
    groups: dict[str, list[str]] = {}
    for group, lines in requirements_by_group().items():
        needed = {canonical(Requirement(line).name) for line in lines}
        while more := set().union(*(required.get(name, ()) for name in needed)) - needed:
            needed |= more
        names = {name.replace("-", "_") for name in needed} | set(known.get(group, ()))
        groups[group] = sorted(names - taken)
        taken |= names
    entries = "".join(f'    "{group}": [\n' + "".join(f'        "{name}",\n' for name in names) + "    ],\n"
                      for group, names in groups.items())
    (LOCKS / "groups.bzl").write_text(
        '"""Which group of requirements.in each package is in. Written by lock.py. Do not edit."""\n\n' + f"GROUPS = {{\n{entries}}}\n")


def requires(lines: list[str]) -> set[str]:
    """The canonical names of what a package requires here, by its metadata, extras left out."""
    requirements = map(Requirement, lines)
    return {canonical(r.name) for r in requirements if r.marker is None or r.marker.evaluate({"extra": ""})}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def constraints(pins: dict[str, str]) -> list[str]:
    return [f"{name}=={version}" for name, version in pins.items()]


def write(lock: str, pins: dict[str, str], platforms: tuple[str, ...] = PLATFORMS) -> None:
    hashes = {name: set() for name in pins}
    for platform in platforms:
        for package in pip_report("--no-deps", *platform_options(platform), *constraints(pins)):
            hashes[package.name].add(package.sha256)
    lines = [f"# Written by third_party/locks/lock.py from {lock}.in. Do not edit.\n"]
    for name in sorted(pins):
        entry = [f"{name}=={pins[name]}", *(f"--hash=sha256:{sha256}" for sha256 in sorted(hashes[name]))]
        lines.append(" \\\n    ".join(entry) + "\n")
    (LOCKS / f"{lock}.txt").write_text("".join(lines))
    print(f"{lock}.txt: {len(pins)} packages")


def platform_options(platform: str) -> list[str]:
    """Older manylinux tags are named too: pip takes `--platform` literally."""
    _, _, newest, machine = platform.split("_", 3)
    tags = [f"manylinux_2_{glibc}_{machine}" for glibc in range(int(newest), 16, -1)]
    return [f"--platform={tag}" for tag in [*tags, f"manylinux2014_{machine}"]] + ["--target=unused"]


class Package(NamedTuple):
    """A wheel that `pip install` would fetch; names are canonical."""

    name: str
    version: str
    sha256: str
    required: set[str]


def pip_report(*arguments: str) -> list[Package]:
    """The wheels that `pip install` would fetch."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        subprocess.run([*command, "--only-binary=:all:", f"--report={report}", *arguments], check=True)
        installs = json.loads(report.read_text())["install"]
    return [
        Package(
            canonical(install["metadata"]["name"]),
            install["metadata"]["version"],
            install["download_info"]["archive_info"]["hashes"]["sha256"],
            requires(install["metadata"].get("requires_dist", [])),
        )
        for install in installs
    ]


if __name__ == "__main__":
    main(*sys.argv[1:])
