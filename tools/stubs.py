"""Writes the stubs (`.pyi`) of laminax's public modules: what editors and type checkers read, since they cannot follow a table of contents.

    python tools/stubs.py           # writes packages/api/laminax/**/*.pyi anew
    python tools/stubs.py --check   # says which are not current

Each public module that finds its names when they are first used gets a stub, with the signature and the first paragraph of the docstring
of every function, and an import for every class; a function that several modules offer is written once. Signatures come from the
functions themselves; where a result's type depends on an argument, the text of `tools/given_stubs/` stands in their place.
`tools/tests/test_stubs.py` holds that the stubs are current.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import inspect
import pathlib
import sys
import textwrap
import types
from collections.abc import Iterator
from typing import Any

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from stub_annotations import Imports, translated  # noqa: E402
from stub_sources import Origin, home, needs_stub, source_of  # noqa: E402

REPOSITORY = pathlib.Path(__file__).absolute().parents[1]
API = REPOSITORY / "packages" / "api"
GIVEN = pathlib.Path(__file__).parent / "given_stubs"
_BUILTINS = (bool, int, float, str, tuple, frozenset, set, dict)
ANY = Origin("typing", "Any")
ARRAY = Origin("laminax._array", "Array")


# --- which modules, and where their values come from ---


def public_modules() -> Iterator[str]:
    """The public modules of laminax, loaded."""
    for path in sorted((API / "laminax").rglob("*.py")):
        parts = path.relative_to(API).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if not any(part.startswith("_") for part in parts):
            importlib.import_module(module := ".".join(parts))
            yield module


def stub_path(module: str) -> pathlib.Path:
    """Where the stub of a module lies."""
    base = API / pathlib.Path(*module.split("."))
    return base / "__init__.pyi" if base.is_dir() else base.with_suffix(".pyi")


# --- one stub ---


def stub(module: str) -> str:
    """The text of a module's stub."""
    value = importlib.import_module(module)
    head = f'# Written by tools/stubs.py.\n"""{_first_paragraph(value.__doc__)}"""\n'
    if "contents_of_bindings" in source_of(module).imported:
        return f"{head}\nfrom jaxlib{module.removeprefix('laminax.extend')} import *\n"
    names = sorted(set(value.__all__))
    given, given_names, given_imports = _given(module)
    imports = Imports(taken=set(names))
    for used, origin in given_imports.items():
        imports.name(used, origin)
    entries = []
    reexports = []
    for name in names:
        if name in given_names:
            continue
        member = getattr(value, name)
        if isinstance(member, types.ModuleType):
            package, _, own_name = member.__spec__.name.rpartition(".") if member.__spec__ else member.__name__.rpartition(".")
            reexports.append(_reexport(Origin(package, own_name), name))  # `__name__` is JAX's where as_jax was imported
        elif (origin := _class_or_alias(member, name)) is not None:
            reexports.append(_reexport(origin, name))
        elif inspect.isfunction(member) and (origin := _stub_of(member, name)).module != module:
            reexports.append(_reexport(origin, name))
        elif inspect.isfunction(member):
            entries.append(_function(name, member, imports))
        else:
            entries.append(f"{name}: {_type_of(member, imports)}")
    body = "\n".join([*([given] if given else []), *entries, ""])
    return "\n".join([head, *imports.lines(body), *sorted(reexports), "", "__all__: list[str]", "", body])


def _given(module: str) -> tuple[str, set[str], dict[str, Origin]]:
    """What is written by hand for a module: its text, the names that it defines, and those that it imports."""
    path = GIVEN / (module + ".pyi")
    if not path.exists():
        return "", set(), {}
    lines = path.read_text().splitlines()
    imported: dict[str, Origin] = {}
    for node in ast.parse("\n".join(lines)).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            imported |= {alias.asname or alias.name: Origin(node.module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            imported |= {alias.name: Origin(alias.name, "") for alias in node.names}
    text = "\n".join(line for line in lines if not line.startswith(("import ", "from ", "# "))).strip("\n") + "\n"
    return text, {name for node in ast.parse(text).body for name in _defined(node)}, imported


def _defined(node: ast.stmt) -> Iterator[str]:
    """The names that a statement of a stub defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _reexport(origin: Origin, name: str) -> str:
    """An import that type checkers take for public: `from m import x as x`."""
    return f"from {origin.module} import {origin.name} as {name}"


def _class_or_alias(value: Any, name: str) -> Origin | None:
    """The place of a class, or of an alias of types, in the sources."""
    is_alias = isinstance(value, types.UnionType) or getattr(value, "__origin__", None) is not None
    if value is _array_type():
        return ARRAY
    return home(value, name) if isinstance(value, type) or is_alias else None


@functools.cache
def _offered() -> dict[int, list[Origin]]:
    """By identity, the modules with stubs that offer a function, and its name there."""
    found: dict[int, list[Origin]] = {}
    for module in filter(needs_stub, public_modules()):
        for name in sorted(set(sys.modules[module].__all__)):
            if inspect.isfunction(member := getattr(sys.modules[module], name)):
                found.setdefault(id(member), []).append(Origin(module, name))
    return found


def _stub_of(function: Any, name: str) -> Origin:
    """Where a function's signature is written: in the module of this name for it that has most parts in common with its source."""
    source = set(inspect.unwrap(function).__module__.split("."))
    offers = [origin for origin in _offered()[id(function)] if origin.name == name]
    return max(offers, key=lambda origin: (len(source & set(origin.module.split("."))), -origin.module.count("."), origin.module))


def _array_type() -> type:
    """The type of arrays, whose members no source has in one place."""
    return importlib.import_module("laminax").Array


def _type_of(value: Any, imports: Imports) -> str:
    """The type of a constant."""
    if isinstance(value, type):
        return f"type[{imports.name('Any', ANY)}]"
    for kind in type(value).__mro__:
        if kind.__module__ == "builtins":
            return translated(kind.__name__, "builtins", imports) if kind in _BUILTINS else imports.name("Any", ANY)
        if not kind.__name__.startswith("_") and (origin := home(kind, kind.__name__)) is not None:
            return imports.name(origin.name, origin)
        if (origin := home(kind, kind.__name__)) is not None and callable(value):
            return imports.name(origin.name, origin)
    return imports.name("Any", ANY)


def _function(name: str, function: Any, imports: Imports) -> str:
    """A function's signature with its documentation's first paragraph."""
    signature = inspect.signature(function)
    inner = inspect.unwrap(function)
    module = inner.__globals__["__name__"] if inspect.isfunction(inner) else function.__module__
    parameters = list(_parameters(signature, module, imports))
    result = translated(signature.return_annotation, module, imports)
    head = f"def {name}({', '.join(parameters)}) -> {result}:"
    if len(head) > 140:
        head = f"def {name}(\n" + "".join(f"    {each},\n" for each in parameters) + f") -> {result}:"
    documentation = _first_paragraph(function.__doc__)
    return f"{head}\n{_docstring(documentation)}" if documentation else f"{head} ..."


def _parameters(signature: inspect.Signature, module: str, imports: Imports) -> Iterator[str]:
    """The parameters of a function as they are written, with the marks for those by position or by keyword only."""
    had_positional_only = is_keyword_only = False
    for parameter in signature.parameters.values():
        if had_positional_only and parameter.kind is not parameter.POSITIONAL_ONLY:
            yield "/"
        had_positional_only = parameter.kind is parameter.POSITIONAL_ONLY
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword_only:
            yield "*"
        is_keyword_only |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        text = f"{stars}{parameter.name}: {translated(parameter.annotation, module, imports)}"
        yield text if parameter.default is parameter.empty else f"{text} = {_default(parameter.default)}"
    if had_positional_only:
        yield "/"


def _default(value: Any) -> str:
    """A default as a stub shows it: itself where it is a plain literal."""
    is_plain = value is None or isinstance(value, (bool, int, str)) or isinstance(value, float) and value == value and abs(value) < 1e300
    return repr(value) if is_plain and type(value) in (type(None), bool, int, str, float) else "..."


def _first_paragraph(documentation: str | None) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(inspect.cleandoc(documentation or "").partition("\n\n")[0].split()).replace("\\", "\\\\").replace('"""', "'''")


def _docstring(text: str) -> str:
    """A docstring in a function's body."""
    text = text + " " if text.endswith('"') else text
    return textwrap.fill(f'"""{text}"""', width=140, initial_indent="    ", subsequent_indent="    ", break_long_words=False,
                         break_on_hyphens=False)


# --- all of them ---


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, and say which stubs are not current")
    is_check = parser.parse_args().check
    stale = stale_stubs()
    for path, text in stale.items():
        print(path.relative_to(REPOSITORY))
        if not is_check:
            path.write_text(text)
    return int(is_check and bool(stale))


def stale_stubs() -> dict[pathlib.Path, str]:
    """The stubs that are missing or not current, with what they should say."""
    importlib.import_module("laminax._src")
    modules = [module for module in public_modules() if needs_stub(module)]
    for module in modules:
        for name in vars(sys.modules[module]).get("__all__", ()):
            getattr(sys.modules[module], name)  # loads what defines it
    texts = {stub_path(module): stub(module) for module in modules}
    return {path: text for path, text in texts.items() if not path.exists() or path.read_text() != text}


if __name__ == "__main__":
    sys.exit(main())
