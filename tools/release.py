"""One layer's release: what is looked at before, what is built, what it is tested beside, and what would be uploaded.

    python tools/release.py LAYER [--publish] [--without-tests]    for ci/release.sh
    python tools/release.py matrix                                 for ci/compatibility.sh

LAYER is ir, transforms, lowering, runtime or api. A release is the tag `LAYER-vVERSION`. Nothing is uploaded without `--publish`.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable, Sequence

ROOT = pathlib.Path(__file__).absolute().parents[1]
# Layer folder to import name, from the lowest to the highest.
LAYERS = {"ir": "laminax_ir", "transforms": "laminax_transforms", "lowering": "laminax_lowering", "runtime": "laminax_runtime",
          "api": "laminax"}
_EARLIEST = 315532800  # 1980-01-01, as in wheels
_TEST_PACKAGES = ("hypothesis", "msgpack", "pytest", "rich", "scipy")


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=[*LAYERS, "matrix"])
    parser.add_argument("--publish", action="store_true", help="upload what was built and tested")
    parser.add_argument("--without-tests", action="store_true", help="build and check only; such a release is not published")
    options = parser.parse_args(argv)
    if options.what == "matrix":
        return print_matrix()
    return release(options.what, options.publish, not options.without_tests)


def release(layer: str, publish: bool, is_tested: bool) -> int:
    """Checks, builds and tests one layer; says what it would upload, or uploads it."""
    problems = problems_of(layer, tags())
    for problem in problems:
        print(f"release {layer}: {problem}")
    if problems or publish and not is_tested:
        return 1
    with tempfile.TemporaryDirectory() as folder:
        files = build(layer, pathlib.Path(folder))
        for file in files:
            print(f"{file.name}: {file.stat().st_size} bytes, sha256 {hashlib.sha256(file.read_bytes()).hexdigest()}")
        if [hashlib.sha256(file.read_bytes()).digest() for file in build(layer, pathlib.Path(folder, "again"))] != [
                hashlib.sha256(file.read_bytes()).digest() for file in files]:
            print(f"release {layer}: built twice, the files differ")
            return 1
        run(sys.executable, "-m", "twine", "check", "--strict", *map(str, files))
        if is_tested and not test_installed(layer, files[0], released_wheels(layer)):
            return 1
        if not publish:
            print(f"would upload {', '.join(file.name for file in files)}; --publish does")
            return 0
        run(sys.executable, "-m", "twine", "upload", *map(str, files))
    return 0


# What is looked at before


def project(layer: str, root: pathlib.Path = ROOT) -> dict:
    return tomllib.loads((root / "packages" / layer / "pyproject.toml").read_text())["project"]


def problems_of(layer: str, known_tags: Iterable[str], root: pathlib.Path = ROOT) -> list[str]:
    """What stands against a release of a layer as it is."""
    folder = root / "packages" / layer
    version = project(layer, root)["version"]
    problems = []
    if not re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version):
        problems.append(f"the version {version!r} is not of the form 1.2.3 or 1.2.3rc1")
    entry = changelog_entry((folder / "CHANGELOG.md").read_text(), version)
    if entry is None:
        problems.append(f"CHANGELOG.md does not begin with an entry of version {version}")
    elif not entry.strip():
        problems.append(f"CHANGELOG.md says nothing of version {version}")
    if f"{layer}-v{version}" in known_tags:
        problems.append(f"version {version} has been released: the tag {layer}-v{version} exists")
    if not (folder / LAYERS[layer] / "py.typed").exists():
        problems.append(f"{LAYERS[layer]}/py.typed is missing, which tells type checkers that the package has types")
    return problems


def changelog_entry(text: str, version: str) -> str | None:
    """What a change log says of its newest version, if that is this version."""
    _, _, rest = text.partition("\n## ")
    title, _, body = rest.partition("\n")
    return body.partition("\n## ")[0] if title.strip() == version else None


def tags() -> list[str]:
    return subprocess.run(["git", "tag", "--list"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()


# What is built


def build(layer: str, folder: pathlib.Path) -> list[pathlib.Path]:
    """The wheel, by Bazel, and the sources."""
    folder.mkdir(exist_ok=True)
    run(str(ROOT / "bazelw"), "build", f"//packages/{layer}:wheel", cwd=ROOT)
    (wheel,) = (ROOT / "bazel-bin/packages" / layer / "wheel").glob("*.whl")
    shutil.copy(wheel, folder)
    return [folder / wheel.name, source_archive(layer, folder)]


def source_archive(layer: str, folder: pathlib.Path, root: pathlib.Path = ROOT) -> pathlib.Path:
    """The files of a layer that git has, as an sdist: the same bytes from the same files."""
    about = project(layer, root)
    base = f"{about['name'].replace('-', '_')}-{about['version']}"
    path = folder / f"{base}.tar.gz"
    listed = subprocess.run(["git", "ls-files"], cwd=root / "packages" / layer, check=True, capture_output=True, text=True).stdout
    files = listed.split("\n")
    metadata = f"Metadata-Version: 2.4\nName: {about['name']}\nVersion: {about['version']}\nSummary: {about['description']}\n" + (
        f"Requires-Python: {about['requires-python']}\nLicense-Expression: {about['license']}\nLicense-File: LICENSE\n"
        "Description-Content-Type: text/markdown\n\n")
    contents = {name: (root / "packages" / layer / name).read_bytes() for name in files if name and name != "BUILD"}
    contents["PKG-INFO"] = metadata.encode() + contents.get("README.md", b"")
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=_EARLIEST) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in sorted(contents.items()):
            entry = tarfile.TarInfo(f"{base}/{name}")
            entry.size, entry.mode, entry.mtime = len(data), 0o644, _EARLIEST
            archive.addfile(entry, io.BytesIO(data))
    return path


# What it is tested beside


def released_wheels(layer: str) -> dict[str, pathlib.Path | None]:
    """By layer that this one needs, the wheel of its last release, built from its tag; None where there is none, and the head serves."""
    needed = [other for other in LAYERS if other != layer and project(other)["name"] in {
        re.split(r"[<>=!~ ]", line)[0] for line in project(layer)["dependencies"]} | ({"laminax-ir"} if layer != "ir" else set())]
    return {other: wheel_of_tag(tag) if (tag := last_tag(other, tags())) is not None else None for other in needed}


def last_tag(layer: str, known_tags: Iterable[str]) -> str | None:
    """The tag of the last release of a layer, by version; release candidates do not count."""
    found = [(tuple(map(int, match.groups())), tag) for tag in known_tags
             if (match := re.fullmatch(rf"{layer}-v(\d+)\.(\d+)\.(\d+)", tag)) is not None]
    return max(found)[1] if found else None


def wheel_of_tag(tag: str) -> pathlib.Path:
    """The wheel of a released layer, built from the sources of its tag with pip."""
    layer = tag.partition("-v")[0]
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{tag}-"))
    archive = subprocess.run(["git", "archive", tag, f"packages/{layer}"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(folder / "packages" / layer))
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_installed(layer: str, wheel: pathlib.Path, others: dict[str, pathlib.Path | None]) -> bool:
    """Whether the layer's tests pass against its wheel, with the others' beside it, in an environment that has nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        python = str(pathlib.Path(folder, "v/bin/python"))
        run(sys.executable, "-m", "venv", str(pathlib.Path(folder, "v")))
        beside = [str(path) if path is not None else str(ROOT / "packages" / other) for other, path in others.items()]
        for other, path in others.items():
            print(f"{layer} is tested beside {other} " + (path.name if path is not None else "as it is here: it has no release"))
        run(python, "-m", "pip", "install", "--quiet", *beside, str(wheel), *_TEST_PACKAGES)
        # Run in a copy that has no sources of the layer, so that the wheel is what is imported.
        tests = pathlib.Path(folder, "packages", layer, "tests")
        shutil.copytree(ROOT / "packages" / layer / "tests", tests)
        for name in ("conftest.py", "pytest.ini", "docs/tolerances.md"):  # the last is what a test of the api reads
            pathlib.Path(folder, name).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, pathlib.Path(folder, name))
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        skipped = ["--ignore", str(tests / "with_jaxlib")] if layer in ("ir", "lowering") else []
        return subprocess.run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *skipped, str(tests)], cwd=folder,
                              env=environment).returncode == 0


# Which releases go together


def print_matrix() -> int:
    """For each layer: its last release with the head of the others, and its head with the last releases of the others."""
    failed = 0
    print("| layer | last release, others' head | head, others' last releases |\n|---|---|---|")
    for layer in LAYERS:
        old, new = last_tag(layer, tags()), head_wheel(layer)
        cells = []
        for wheel, others in ((None if old is None else wheel_of_tag(old), dict.fromkeys(LAYERS)), (new, released_wheels(layer))):
            others = {other: path for other, path in others.items() if other != layer}
            if wheel is None or wheel is new and not any(others.values()):
                cells.append("no release yet")
                continue
            is_good = test_installed(layer, wheel, others)
            failed += not is_good
            cells.append("passes" if is_good else "fails")
        print(f"| {layer} {project(layer)['version']} | {' | '.join(cells)} |")
    return 1 if failed else 0


def head_wheel(layer: str) -> pathlib.Path:
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{layer}-head-"))
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT / "packages" / layer))
    (wheel,) = folder.glob("*.whl")
    return wheel


def run(*command: str, cwd: pathlib.Path | None = None) -> None:
    subprocess.run(command, check=True, cwd=cwd)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
