"""What stands against a release, and that its archive of sources is the same bytes each time."""

from __future__ import annotations

import importlib.util
import pathlib
import subprocess
import tarfile

import pytest

spec = importlib.util.spec_from_file_location("release", pathlib.Path(__file__).absolute().parents[1] / "release.py")
release = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release)


@pytest.mark.parametrize("layer", release.LAYERS)
def test_every_layer_can_be_released(layer):
    assert release.problems_of(layer, []) == []


@pytest.fixture
def layer(tmp_path):
    """A small layer in a repository of its own."""
    folder = tmp_path / "packages/ir"
    (folder / "laminax_ir").mkdir(parents=True)
    (folder / "pyproject.toml").write_text('[project]\nname = "laminax-ir"\nversion = "1.2.0"\ndescription = "x"\nlicense = "MIT"\n'
                                           'requires-python = ">=3.11"\ndependencies = []\n')
    (folder / "CHANGELOG.md").write_text("# Changes\n\n## 1.2.0\n\n- Something.\n\n## 1.1.0\n\n- Before.\n")
    (folder / "README.md").write_text("# ir\n")
    (folder / "BUILD").write_text("")
    (folder / "laminax_ir/py.typed").write_text("")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    return tmp_path


def test_nothing_stands_against_a_good_release(layer):
    assert release.problems_of("ir", ["ir-v1.1.0", "api-v1.2.0"], layer) == []


@pytest.mark.parametrize("file, old, new, problem", [
    ("CHANGELOG.md", "## 1.2.0", "## 1.3.0", "does not begin with an entry of version 1.2.0"),
    ("CHANGELOG.md", "- Something.", "", "says nothing of version 1.2.0"),
    ("pyproject.toml", '"1.2.0"', '"1.2"', "the version '1.2' is not of the form"),
])
def test_what_does_not_fit_is_said(layer, file, old, new, problem):
    path = layer / "packages/ir" / file
    path.write_text(path.read_text().replace(old, new))
    assert any(problem in found for found in release.problems_of("ir", [], layer))


def test_a_released_version_and_missing_types_are_said(layer):
    (layer / "packages/ir/laminax_ir/py.typed").unlink()
    first, second = release.problems_of("ir", ["ir-v1.2.0"], layer)
    assert "the tag ir-v1.2.0 exists" in first and "py.typed is missing" in second


def test_the_last_release_is_the_highest_version():
    tags = ["ir-v0.9.0", "ir-v0.10.0", "ir-v0.11.0rc1", "api-v3.0.0", "v9"]
    assert release.last_tag("ir", tags) == "ir-v0.10.0" and release.last_tag("runtime", tags) is None


def test_sources_are_the_same_bytes_each_time(layer, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = (release.source_archive("ir", tmp_path / name, layer) for name in "ab")
    assert first.name == "laminax_ir-1.2.0.tar.gz" and first.read_bytes() == second.read_bytes()
    with tarfile.open(first) as archive:
        assert sorted(archive.getnames()) == [f"laminax_ir-1.2.0/{name}" for name in (
            "CHANGELOG.md", "PKG-INFO", "README.md", "laminax_ir/py.typed", "pyproject.toml")]
