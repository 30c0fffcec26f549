"""docs/architecture.md names files, folders, modules, functions and rooms that there are."""

from __future__ import annotations

import pathlib
import re

import pytest
from import_graph import FOLDERS, REPOSITORY, all_modules, modules
from rooms import ROOMS

TEXT = (REPOSITORY / "docs" / "architecture.md").read_text()
PROSE = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
QUOTED = sorted(set(re.findall(r"`([^`\n]+)`", PROSE)))
OF_JAX = {"_override_lowering_rules", "add_any", "jax.", "jnp.", "remat2"}  # which laminax does not have, as the page says
ELSEWHERE = ("tools/", "benchmarks/")  # what is not beside this test where Bazel runs it


def files() -> list[str]:
    found = [file for folder in FOLDERS.values() for file in (REPOSITORY / folder).rglob("*.py")]
    found += pathlib.Path(__file__).parent.glob("*.py")
    return [file.as_posix() for file in found]


@pytest.mark.parametrize("path", [path for path in QUOTED if re.fullmatch(r"[\w./]+\.py|\w+(/\w+)+/?", path)
                                  and not path.startswith(ELSEWHERE)])
def test_a_path_leads_somewhere(path):
    if path.endswith(".py"):
        assert any(file.endswith("/" + path) for file in files()), f"there is no file {path}"
    else:
        assert any(f"/{path.rstrip('/')}/" in file for file in files()), f"there is no folder {path}"


@pytest.mark.parametrize("name", [name for name in QUOTED if re.fullmatch(r"[A-Za-z_][\w.]*", name) and not name.endswith((".py", ".md"))
                                  and name not in OF_JAX])
def test_a_name_is_in_the_code(name):
    parts = name.split(".")
    module = next((found for n in range(len(parts), 0, -1) if (found := ".".join(parts[:n])) in all_modules()), None)
    if module is None:
        missing = [part for part in parts if part not in _words()]
    else:
        text = modules(module.partition(".")[0])[module].read_text()
        missing = [part for part in parts[module.count(".") + 1:] if not re.search(rf"\b{part}\b", text)]
    assert not missing, f"{name}: {', '.join(missing)} is not in {module or 'the packages'}"


def _words() -> set[str]:
    if not _found:
        for package in FOLDERS:
            for file in modules(package).values():
                _found.update(re.findall(r"\w+", file.read_text()))
    return _found


_found: set[str] = set()


@pytest.mark.parametrize("prefix, title", [*zip(ROOMS, ("ir", "transforms", "lowering", "runtime", "api, `laminax/_src`"), strict=True)])
def test_the_tables_of_rooms_are_those_that_imports_are_held_to(prefix, title):
    table = TEXT.partition(f"| {title} | holds |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = [re.findall(r"`([\w.]+)`", row.split("|")[1]) for row in table.splitlines()]
    assert [room.removesuffix(".py") for row in rows for room in row] == [room for rooms in ROOMS[prefix] for room in rooms.split()]
