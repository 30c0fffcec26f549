"""Annotations of functions, written so that they mean the same in a stub of another module."""

from __future__ import annotations

import ast
import builtins
import collections.abc
import importlib
import inspect
import re
from typing import Any

from stub_sources import Origin, home, is_table_of_contents, source_of

# Names whose meaning for users is more particular than that for the layers' own code, where a tracer is anything.
_PUBLIC = {
    "Array": Origin("laminax._array", "Array"),
    "ArrayLike": Origin("laminax.typing", "ArrayLike"),
    "DTypeLike": Origin("laminax.typing", "DTypeLike"),
}
_TYPING = ("Any", "NoReturn")


class Imports:
    """The imports that a stub needs, gathered while it is written.

    Two names that are equal and mean different things are told apart by an underscore.
    """

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._names: dict[str, Origin] = {}

    def name(self, wanted: str, origin: Origin) -> str:
        """The name under which the stub knows what `origin` says."""
        if origin.module == "typing" and origin.name in collections.abc.__all__:
            origin = Origin("collections.abc", origin.name)
        used = "_" + wanted if wanted in self._taken else wanted
        while self._names.setdefault(used, origin) != origin:
            used = "_" + used
        return used

    def is_taken(self, name: str) -> bool:
        """Whether the stub defines the name itself."""
        return name in self._taken

    def lines(self, text: str) -> list[str]:
        """The import statements for the names that `text` uses, in order."""
        words = set(re.findall(r"\w+", text))
        by_module: dict[str, list[str]] = {}
        plain = []
        for used, (module, name) in self._names.items():
            if used not in words:
                continue
            if name:
                by_module.setdefault(module, []).append(name if name == used else f"{name} as {used}")
            else:
                plain.append(f"import {module}" if module == used else f"import {module} as {used}")
        return sorted(plain) + [_import_from(module, sorted(names)) for module, names in sorted(by_module.items())]


def _import_from(module: str, names: list[str]) -> str:
    """An import statement, over several lines where one is too short."""
    line = f"from {module} import {', '.join(names)}"
    return line if len(line) <= 140 else f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"


def translated(annotation: Any, module: str, imports: Imports) -> str:
    """The text of an annotation that stands in `module`, with its names imported into the stub. What cannot be told is Any."""
    if annotation is inspect.Parameter.empty:
        return imports.name("Any", Origin("typing", "Any"))
    if annotation is None:
        return "None"
    if not isinstance(annotation, str):
        annotation = annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")
    try:
        tree = ast.parse(annotation, mode="eval")
    except SyntaxError:
        return imports.name("Any", Origin("typing", "Any"))
    return ast.unparse(_Renamer(module, imports).visit(_Parametrizer().visit(tree)).body)


def _static(name: str, origin: Origin) -> tuple[str, Origin]:
    """Where type checkers see what `origin` gives when it runs: not in a table of contents. Any where they see it nowhere."""
    if not origin.name or not is_table_of_contents(origin.module):
        return name, origin
    found = home(getattr(importlib.import_module(origin.module), origin.name), name)
    return (name, found) if found is not None else ("Any", Origin("typing", "Any"))


# What a generic class without parameters means.
_PARAMETERS = {"Callable": "..., Any", "Iterable": "Any", "Iterator": "Any", "Mapping": "Any, Any", "Sequence": "Any", "dict": "Any, Any",
               "frozenset": "Any", "list": "Any", "set": "Any", "tuple": "Any, ...", "type": "Any", "dtype": "Any", "ndarray": "Any, Any"}


class _Parametrizer(ast.NodeTransformer):
    """Writes `Callable` as `Callable[..., Any]`, and the like, since strict type checkers ask for it."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        node.slice = self.visit(node.slice)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._with_parameters(node, node.id if node.id not in ("dtype", "ndarray") else "")

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._with_parameters(node, node.attr if ast.unparse(node.value) == "np" else "")

    def _with_parameters(self, node: ast.expr, name: str) -> ast.expr:
        if (parameters := _PARAMETERS.get(name)) is None:
            return node
        return ast.parse(f"{ast.unparse(node)}[{parameters}]", mode="eval").body


class _Renamer(ast.NodeTransformer):
    """Replaces the names in an annotation by those that the stub imports."""

    def __init__(self, module: str, imports: Imports) -> None:
        self.module, self.imports = module, imports

    def visit_Name(self, node: ast.Name) -> ast.expr:
        name = node.id
        source = source_of(self.module)
        if name in _PUBLIC:
            origin = _PUBLIC[name]
        elif name in source.imported:
            origin = source.imported[name]
            name, origin = _static(name, origin)
        elif name in source.defined:
            origin = Origin(self.module, name)
        elif hasattr(builtins, name):
            if not self.imports.is_taken(name):
                return node
            origin = Origin("builtins", name)  # `bool`, where the module has a `bool` of its own
        elif name in _TYPING:
            origin = Origin("typing", name)
        else:
            origin = Origin("typing", "Any")
            name = "Any"
        return ast.copy_location(ast.Name(self.imports.name(name, origin)), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """`module.name`; where the module is a table of contents, what it has under that name."""
        if not isinstance(node.value, ast.Name):
            return node
        if node.attr in _PUBLIC:
            return ast.copy_location(ast.Name(self.imports.name(node.attr, _PUBLIC[node.attr])), node)
        origin = source_of(self.module).imported.get(node.value.id)
        if origin is None:
            return node
        module = f"{origin.module}.{origin.name}" if origin.name else origin.module
        if not module.startswith("laminax"):
            return ast.copy_location(ast.Attribute(ast.Name(self.imports.name(node.value.id, origin)), node.attr), node)
        name, origin = _static(node.attr, Origin(module, node.attr))
        return ast.copy_location(ast.Name(self.imports.name(name, origin)), node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """A quoted annotation inside of another; a string that is no annotation stands below `Literal`."""
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "Literal":
            node.value = self.visit_Name(node.value)
            return node
        return self.generic_visit(node)  # type: ignore[return-value]
