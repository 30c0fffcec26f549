"""The wheels that Bazel built: complete, and with the metadata of pyproject.toml."""

import email
import os
import pathlib
import subprocess
import sys
import tomllib
import zipfile

import pytest

PACKAGES = pathlib.Path(__file__).absolute().parents[2] / "packages"
LAYERS = {
    "ir": "laminax_ir",
    "transforms": "laminax_transforms",
    "lowering": "laminax_lowering",
    "runtime": "laminax_runtime",
    "api": "laminax",
}

pytestmark = pytest.mark.skipif("TEST_TMPDIR" not in os.environ, reason="needs the wheels that Bazel builds")


def wheel_of(folder: str) -> zipfile.ZipFile:
    (path,) = PACKAGES.glob(f"{folder}/wheel/*.whl")
    return zipfile.ZipFile(path)


@pytest.mark.parametrize("folder, layer", LAYERS.items())
def test_a_wheel_holds_exactly_the_files_of_its_layer(folder, layer):
    sources = {
        file.relative_to(PACKAGES / folder).as_posix()
        for file in (PACKAGES / folder / layer).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    with wheel_of(folder) as wheel:
        packed = {name for name in wheel.namelist() if ".dist-info/" not in name}
        licenses = [name for name in wheel.namelist() if name.endswith("licenses/LICENSE")]
    assert packed == sources
    assert licenses


@pytest.mark.parametrize("folder", LAYERS)
def test_the_metadata_of_a_wheel_is_that_of_its_project(folder):
    project = tomllib.loads((PACKAGES / folder / "pyproject.toml").read_text())["project"]
    with wheel_of(folder) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(wheel.read(name))
    assert (metadata["Name"], metadata["Version"]) == (project["name"], project["version"])
    assert metadata["Requires-Python"] == project["requires-python"]
    required = [line.replace(" ", "") for line in metadata.get_all("Requires-Dist") if "extra" not in line]
    assert {split_requirement(line) for line in required} == set(map(split_requirement, project["dependencies"]))


def split_requirement(requirement: str) -> tuple[str, frozenset[str]]:
    """Name and bounds, whose order setuptools is free to change."""
    first_bound = min(requirement.find(sign) for sign in "<>" if sign in requirement)
    return requirement[:first_bound], frozenset(requirement[first_bound:].split(","))


def test_the_wheels_work_together(tmp_path):
    for folder in LAYERS:
        with wheel_of(folder) as wheel:
            wheel.extractall(tmp_path)
    locked = [path for path in sys.path if os.sep + "site" + os.sep in path]
    program = "import laminax; assert __import__('os').getcwd() in laminax.__file__, laminax.__file__"
    environment = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *locked])}
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, env=environment)
