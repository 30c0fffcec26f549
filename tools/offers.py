"""The names that each layer offers to the packages above it: `OFFERS` in the layer's `offers.py`, printed in its README.

    python tools/offers.py          # writes the table of each README anew from offers.py
    python tools/offers.py --count  # prints how many names each package takes of the rooms of the layers below it

`tools/tests/test_offers.py` holds that no other package imports more of a layer than it offers, that the offered names exist and are used,
and that the READMEs are current. A name that is offered keeps its meaning through 0.2.x; all others may change.
"""

from __future__ import annotations

import ast
import collections
import functools
import importlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "tests"))

from import_graph import FOLDERS, REPOSITORY, all_modules, imports_of, modules  # noqa: E402

LAYERS = [package for package in FOLDERS if package != "laminax"]
BEGIN, END = "<!-- what it offers: written by tools/offers.py -->", "<!-- end of what it offers -->"
WHOLE = "*"  # of a module all of whose public names are offered: the operations


@functools.cache
def used(layer: str) -> dict[str, set[str]]:
    """The names that other packages take of a layer, by module."""
    found: dict[str, set[str]] = collections.defaultdict(set)
    for package in FOLDERS:
        for module, names in taken(package, layer).items():
            found[module] |= names
    return found


@functools.cache
def taken(package: str, layer: str) -> dict[str, set[str]]:
    """The names that a package takes of a layer, by module: imported, in a table of contents, or attributes of an imported module."""
    found: dict[str, set[str]] = collections.defaultdict(set)
    if package == layer:
        return found
    for each in imports_of(package):
        if each.name is not None and (each.target == layer or each.target.startswith(layer + ".")):
            found[each.target].add(each.name)
    for name, file in modules(package).items():
        for module, attribute in [*_attributes(file, layer), *_contents(file, layer)]:
            found[module].add(attribute)
    return found


def counts(package: str, layer: str) -> dict[str, int]:
    """How many names a package takes of each room of a layer."""
    by_room: collections.Counter[str] = collections.Counter()
    for module, names in taken(package, layer).items():
        by_room[module.removeprefix(layer).removeprefix(".").partition(".")[0]] += len(names - {WHOLE})
    return dict(by_room.most_common())


def _attributes(file: pathlib.Path, layer: str) -> set[tuple[str, str]]:
    """(module, name) for each `alias.name` where `alias` is an imported module of the layer."""
    tree = ast.parse(file.read_text())
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level and node.module.partition(".")[0] == layer:
            aliases |= {alias.asname or alias.name: full for alias in node.names
                        if (full := f"{node.module}.{alias.name}") in all_modules()}
        elif isinstance(node, ast.Import):
            aliases |= {alias.asname: alias.name for alias in node.names if alias.asname and alias.name.partition(".")[0] == layer}
    return {(aliases[node.value.id], node.attr) for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases
            and not node.attr.startswith("__")}


def _contents(file: pathlib.Path, layer: str) -> set[tuple[str, str]]:
    """(module, name) for each name in a table of contents: a dictionary from modules to names, separated by spaces."""
    items = [item for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Dict) for item in zip(node.keys, node.values)]
    texts = [(key.value, value.value) for key, value in items if isinstance(key, ast.Constant) and isinstance(value, ast.Constant)]
    return {(module, name) for module, names in texts if module in all_modules() and module.partition(".")[0] == layer
            for name in names.split()}


def offered(layer: str) -> dict[str, str]:
    """The layer's `OFFERS`: for each module below it the names it offers, separated by spaces, or `*`."""
    return importlib.import_module(f"{layer}.offers").OFFERS


def table(layer: str) -> str:
    """The section of the README."""
    rows = ["| module | offers |", "|---|---|"]
    for module, names in offered(layer).items():
        text = "every public name" if names.strip() == WHOLE else ", ".join(f"`{name}`" for name in names.split())
        rows.append(f"| `{layer}.{module}` | {text} |" if module else f"| `{layer}` | {text} |")
    return "\n".join([BEGIN, "", *rows, "", END])


def readme(layer: str) -> pathlib.Path:
    return REPOSITORY / FOLDERS[layer] / "README.md"


def with_table(text: str, layer: str) -> str:
    """The text of a README with the section written anew."""
    before, _, rest = text.partition(BEGIN)
    return before + table(layer) + rest.partition(END)[2]


def print_counts() -> None:
    """Prints how many names each package takes of each layer, and of which rooms."""
    for package in FOLDERS:
        for layer in LAYERS:
            if found := counts(package, layer):
                rooms = ", ".join(f"{room or 'the package itself'} {count}" for room, count in found.items())
                print(f"{package} takes {sum(found.values())} names of {layer}: {rooms}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--count"]:
        print_counts()
    else:
        for each in LAYERS:
            readme(each).write_text(with_table(readme(each).read_text(), each))
