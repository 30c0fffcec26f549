"""What a module's source says of its names, without running it: where each comes from, and which are visible to type checkers."""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import pathlib
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple


class Origin(NamedTuple):
    """Where a name of a module comes from: an import of `name` from `module`, or of `module` itself where `name` is empty."""
    module: str
    name: str


class Source(NamedTuple):
    """The names of one module: those that it defines, by the kind of the statement, and those that it imports."""
    defined: dict[str, str]  # "class", "function", "alias" (of another name) or "value"
    imported: dict[str, Origin]


@functools.cache
def source_of(module: str) -> Source:
    """The names at the top level of a module, those under `if TYPE_CHECKING` too."""
    defined: dict[str, str] = {}
    imported: dict[str, Origin] = {}
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return Source(defined, imported)
    for node in _statements(ast.parse(pathlib.Path(spec.origin).read_text()).body):
        if isinstance(node, ast.ClassDef):
            defined[node.name] = "class"
        elif isinstance(node, ast.FunctionDef):
            defined[node.name] = "function"
        elif isinstance(node, ast.Assign):
            kind = "alias" if isinstance(node.value, (ast.Name, ast.Attribute)) else "value"
            defined.update((name.id, kind) for target in node.targets for name in _targets(target))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            defined[node.target.id] = "value"
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.update((alias.asname or alias.name, Origin(node.module, alias.name)) for alias in node.names)
        elif isinstance(node, ast.Import):
            imported.update((alias.asname or alias.name, Origin(alias.name if alias.asname else alias.name.partition(".")[0], ""))
                            for alias in node.names)
    return Source(defined, imported)


def _targets(target: ast.expr) -> Iterator[ast.Name]:
    """The names that an assignment to `target` defines."""
    if isinstance(target, ast.Name):
        yield target
    elif isinstance(target, ast.Tuple):
        for element in target.elts:
            yield from _targets(element)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module's body, with those inside `if` and `try`."""
    for node in body:
        yield node
        for inner in ("body", "orelse", "finalbody"):
            if isinstance(node, (ast.If, ast.Try)):
                yield from _statements(getattr(node, inner, []))


def is_table_of_contents(module: str) -> bool:
    """Whether a module finds its names when they are first used, which type checkers cannot follow."""
    return "__getattr__" in source_of(module).defined


def needs_stub(module: str) -> bool:
    """Whether type checkers miss names of a module, which is loaded: it is a table of contents, or functions are what calls return."""
    if is_table_of_contents(module):
        return True
    members = vars(sys.modules[module])
    return any(inspect.isfunction(members.get(name)) and _kind(module, name) == "value" for name in members.get("__all__", ()))


def _kind(module: str, name: str) -> str:
    """By what kind of statement a name is defined, in the module itself or in the one that it is imported from."""
    source = source_of(module)
    if name in source.imported and (origin := source.imported[name]).name:
        return _kind(origin.module, origin.name)
    return source.defined.get(name, "")


def is_public(module: str) -> bool:
    """Whether users import a module by its name."""
    return module.partition(".")[0] == "laminax" and not any(part.startswith("_") for part in module.split("."))


@functools.cache
def _homes() -> dict[int, list[Origin]]:
    """By identity, where a class or an alias is defined in a statement that type checkers see, in the modules that are loaded."""
    found: dict[int, list[Origin]] = {}
    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0].startswith("laminax") and isinstance(module, types.ModuleType):
            for defined in source_of(name).defined:
                if (value := vars(module).get(defined)) is not None:
                    found.setdefault(id(value), []).append(Origin(name, defined))
    return found


def home(value: Any, name: str) -> Origin | None:
    """The module in whose source a value is defined, under the same name if there is such a one."""
    if isinstance(value, type):
        module = sys.modules.get(value.__module__)
        if not value.__module__.startswith(("laminax", "jaxlib")) and getattr(module, name, None) is value:
            return Origin(value.__module__, name)
    kinds = ("class", "alias") if isinstance(value, type) else ("alias", "value")
    origins = [origin for origin in _homes().get(id(value), ()) if source_of(origin.module).defined[origin.name] in kinds
               and not (is_public(origin.module) and is_table_of_contents(origin.module))]
    origins.sort(key=lambda origin: (source_of(origin.module).defined[origin.name] != "class", origin.name != name))
    return origins[0] if origins else None
