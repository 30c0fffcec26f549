"""Inside each package imports go one way: from rooms to those below them, never in a circle, and inside functions only for laziness."""

from __future__ import annotations

import pytest
from import_graph import FOLDERS, Import, circles, imports_of, modules
from lazy_imports import LAZY
from rooms import ROOMS

PACKAGES = {"laminax._src": "laminax"}  # the rooms of the api are in its private folder


def edges(package: str, with_local: bool) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {name: set() for name in modules(package)}
    for each in imports_of(package):
        if each.target in found and each.target != each.source and (with_local or not each.is_local):
            found[each.source].add(each.target)
    return found


@pytest.mark.parametrize("with_local", [False, True], ids=["at_the_top", "in_functions_too"])
@pytest.mark.parametrize("package", FOLDERS)
def test_no_module_reaches_itself(package, with_local):
    found = circles(edges(package, with_local))
    assert not found, f"modules of {package} import each other in a circle:\n" + "\n".join(", ".join(circle) for circle in found)


def height(prefix: str, module: str) -> int | None:
    """How high the room of a module stands, None for what lies in no room."""
    if not module.startswith(prefix + "."):
        return None
    room = module.removeprefix(prefix + ".").partition(".")[0]
    return next((i for i, rooms in enumerate(ROOMS[prefix]) if room in rooms.split()), None)


@pytest.mark.parametrize("prefix", ROOMS)
def test_every_folder_is_a_room(prefix):
    folders = {name.removeprefix(prefix + ".").partition(".")[0] for name in modules(PACKAGES.get(prefix, prefix))
               if name.startswith(prefix + ".") and "." in name.removeprefix(prefix + ".")}
    assert folders <= {room for rooms in ROOMS[prefix] for room in rooms.split()}


@pytest.mark.parametrize("prefix", ROOMS)
def test_rooms_import_what_stands_below_them(prefix):
    wrong = []
    for each in imports_of(PACKAGES.get(prefix, prefix)):
        source, target = height(prefix, each.source), height(prefix, each.target)
        if source is not None and target is not None and target > source:
            wrong.append(f"{each.source}:{each.line} imports {each.target}")
    assert not wrong, f"rooms of {prefix}, lowest first: {', '.join(ROOMS[prefix])}. These imports go up:\n" + "\n".join(sorted(wrong))


def local_imports(package: str) -> list[Import]:
    return [each for each in imports_of(package) if each.is_local]


@pytest.mark.parametrize("package", FOLDERS)
def test_an_import_inside_a_function_has_a_reason(package):
    wrong = [f"{each.source}:{each.line} imports {each.target}" for each in local_imports(package)
             if (each.source, each.target) not in LAZY]
    assert not wrong, "import at the top of the module, or name the reason in lazy_imports.py:\n" + "\n".join(sorted(set(wrong)))


def test_every_reason_is_for_an_import_that_exists():
    there = {(each.source, each.target) for package in FOLDERS for each in local_imports(package)}
    assert LAZY.keys() <= there, f"these imports inside functions are gone: {sorted(LAZY.keys() - there)}"


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == [["b", "c"]]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
