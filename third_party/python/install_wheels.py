"""Unpacks wheels for Bazel: each into a folder of its own, with a BUILD file that states their dependencies.

Usage: install_wheels.py <folder of wheels> [<package>=<repository that has it, for a requirement not found there>]...

A wheel is a zip archive whose root is what goes into site-packages (PEP 427), except for a `.data`
folder whose `purelib` and `platlib` go there too; scripts and headers are of no use here. Each target's
files are one source directory: thousands of files stay one entry in a test's sandbox. That is sound
because nothing changes them after this.
"""

import compileall
import importlib.metadata
import pathlib
import py_compile
import re
import shutil
import sys
import zipfile

# The one parser of requirements that is certain to be there: pip is running us.
from pip._vendor.packaging.requirements import Requirement

SITE = pathlib.Path("site")
LIBRARY = """
py_library(
    name = "{name}",
    data = ["site/{name}"],
    imports = ["site/{name}"],
    deps = {deps},
)
"""


def main(wheels: str, *others: str) -> None:
    elsewhere = dict(other.split("=") for other in others)
    requirements = {}
    for wheel in sorted(pathlib.Path(wheels).glob("*.whl")):
        name = target_name(wheel.name.split("-")[0])
        unpack(wheel, SITE / name)
        requirements[name] = required_by(SITE / name)
    # The folders of tests are left alone: nobody imports them, and they are half of the files.
    compileall.compile_dir(
        SITE,
        quiet=2,
        workers=0,
        rx=re.compile(r"[/\\]tests?[/\\]"),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    with open("BUILD", "w") as build:
        build.write('package(default_visibility = ["//visibility:public"])\n')
        for name, required in requirements.items():
            deps = [f":{dep}" if dep in requirements else f"{elsewhere[dep]}//:{dep}" for dep in required]
            build.write(LIBRARY.format(name=name, deps=deps))


def target_name(distribution: str) -> str:
    return re.sub(r"[-_.]+", "_", distribution).lower()


def unpack(wheel: pathlib.Path, folder: pathlib.Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        for entry in archive.infolist():
            if not entry.is_dir() and entry.external_attr >> 16 & 0o100:  # programs, which zipfile does not make executable
                (folder / entry.filename).chmod(0o755)
    for data in folder.glob("*.data"):
        for scheme in ("purelib", "platlib"):
            if (data / scheme).exists():
                shutil.copytree(data / scheme, folder, dirs_exist_ok=True)
        shutil.rmtree(data)
    for build_file in [*folder.rglob("BUILD"), *folder.rglob("BUILD.bazel")]:
        build_file.unlink()  # it would cut the folder off from the repository's own BUILD file


def required_by(folder: pathlib.Path) -> list[str]:
    """Target names of what the wheel requires on this Python and platform, extras left out."""
    (info,) = folder.glob("*.dist-info")
    lines = importlib.metadata.PathDistribution(info).requires or []
    requirements = [Requirement(line) for line in lines]
    return sorted(
        {
            target_name(requirement.name)
            for requirement in requirements
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        }
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
