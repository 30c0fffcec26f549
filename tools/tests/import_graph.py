"""Which module of a package imports which, read from the source files: imports inside functions included.

What stands under `if TYPE_CHECKING` is for annotations, is never executed, and is left out.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import pathlib
from collections.abc import Iterator, Mapping

REPOSITORY = pathlib.Path(__file__).absolute().parents[2]
FOLDERS = {
    "laminax_ir": "packages/ir",
    "laminax_transforms": "packages/transforms",
    "laminax_lowering": "packages/lowering",
    "laminax_runtime": "packages/runtime",
    "laminax": "packages/api",
}


@dataclasses.dataclass(frozen=True)
class Import:
    """One imported module: `source` imports `target`, or `name` of it; `is_local` says that it does so inside a function."""

    source: str
    target: str
    name: str | None
    line: int
    is_local: bool


@functools.cache
def modules(package: str) -> Mapping[str, pathlib.Path]:
    """The file of each module of a package, by the module's name."""
    root = REPOSITORY / FOLDERS[package]
    found = {}
    for file in sorted((root / package).rglob("*.py")):
        parts = file.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


@functools.cache
def all_modules() -> frozenset[str]:
    """The names of the modules of all packages."""
    return frozenset(name for package in FOLDERS for name in modules(package))


@functools.cache
def imports_of(package: str) -> tuple[Import, ...]:
    """What the modules of a package import of the five packages."""
    return tuple(found for name, file in modules(package).items() for found in _imports(name, file))


def _imports(module: str, file: pathlib.Path) -> Iterator[Import]:
    def visit(node: ast.AST, is_local: bool) -> Iterator[Import]:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse:
                yield from visit(other, is_local)
            return
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in all_modules():
                    yield Import(module, alias.name, None, node.lineno, is_local)
        elif isinstance(node, ast.ImportFrom):
            origin = _origin(module, file, node)
            for alias in node.names:
                if (below := f"{origin}.{alias.name}") in all_modules():
                    yield Import(module, below, None, node.lineno, is_local)
                elif origin in all_modules():
                    yield Import(module, origin, alias.name, node.lineno, is_local)
        inside = is_local or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inside)

    yield from visit(ast.parse(file.read_text(), str(file)), False)


def _origin(module: str, file: pathlib.Path, node: ast.ImportFrom) -> str:
    """The absolute name of the module that a `from` statement names."""
    if not node.level:
        return node.module or ""
    parts = module.split(".") if file.name == "__init__.py" else module.split(".")[:-1]
    base = parts[: len(parts) - (node.level - 1)]
    return ".".join([*base, node.module] if node.module else base)


def circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of modules that reach each other: strongly connected components of more than one.

    Source: Tarjan, "Depth-first search and linear graph algorithms", 1972.
    """
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def connect(module: str) -> None:
        index[module] = lowest[module] = len(index)
        stack.append(module)
        for target in sorted(edges.get(module, ())):
            if target not in index:
                connect(target)
                lowest[module] = min(lowest[module], lowest[target])
            elif target in stack:
                lowest[module] = min(lowest[module], index[target])
        if lowest[module] == index[module]:
            start = stack.index(module)
            component, stack[start:] = stack[start:], []
            if len(component) > 1:
                found.append(sorted(component))

    for module in sorted(edges):
        if module not in index:
            connect(module)
    return found
