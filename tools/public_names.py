"""Compares the public modules of laminax with those of another package by name and signature, and prints what differs.

    PYTHONPATH=... python tools/public_names.py --reference-python=/path/to/python [--reference=jax] [--kinds=name,parameter] [MODULE ...]

Each package is listed by a process of its own (`--list PACKAGE`), since both of them in one process would share their registries.
The list has each public module and, for each of its names, the kind of the value, its `__name__`, its parameters, and for a class its
public members with theirs. A name is public if it has no underscore in front and is not that of a module from elsewhere.

A difference that is meant to be is in `docs/public-names.md`, with its reason; only the others are printed, and the reasons for what
is no difference any more. It ends with status 1 if there are such.
"""

from __future__ import annotations

import argparse
import fnmatch
import importlib
import inspect
import json
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

Listing = dict[str, dict[str, dict[str, Any]]]  # by module, without the package's name, and by name in it

# Subpackages of the reference that are not compared: kernels' languages, its own tests and build.
LEFT_OUT = ("_src", *[f"experimental.pallas.{name}" for name in ("fuser", "mosaic_gpu", "ops", "tpu_sc")], "experimental.mosaic",
            "experimental.jax2tf", "experimental._private_mm", "tools", "jaxlib", "version", "experimental.slab",
            "experimental.source_mapper", "experimental.key_reuse")



REASONS = pathlib.Path(__file__).absolute().parents[1] / "docs" / "public-names.md"


class Difference(NamedTuple):
    """One thing that the reference has and laminax has not, or has otherwise."""
    kind: str  # "module", "name", "parameter", "default", "__name__", "member" or "kind"
    where: str
    text: str


# --- one package, in a process of its own ---


def public_modules(package: str) -> Iterator[str]:
    """The names of a package's public modules, without its own, that can be imported."""
    root = importlib.import_module(package)
    yield ""
    for module in sorted(m.name for m in pkgutil.walk_packages(root.__path__, package + ".", onerror=lambda name: None)):
        name = module.removeprefix(package + ".")
        if any(name == left or name.startswith(left + ".") for left in LEFT_OUT) or any(part.startswith("_") for part in name.split(".")):
            continue
        try:
            importlib.import_module(module)
        except Exception:  # what needs a package that is not there
            continue
        yield name


def listing(package: str, asked: dict[str, list[str]] | None = None) -> Listing:
    """The names in a package's public modules; names that are asked for by module are listed also where `dir` does not tell them."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in public_modules(package):
            module = importlib.import_module(f"{package}.{name}" if name else package)
            found[name] = dict(_entries(module, package)) if asked is None else dict(_public_entries(module, package, asked.get(name, ())))
    return found


def _entries(module: Any, package: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The names in a module. In a module that is no table of contents, but defines things, only these count: the rest are its imports."""
    is_table = "__all__" in vars(module) or not any(_is_defined_in(module, value) for name, value in vars(module).items()
                                                    if not name.startswith("_"))
    for name, entry in _public_entries(module, package):
        if (is_table or _is_defined_in(module, getattr(module, name))
                or inspect.isclass(value := getattr(module, name)) and value.__module__ == module.__name__):
            yield name, entry


def _is_defined_in(module: Any, value: Any) -> bool:
    """Whether a function's code is in the module's file: what `__module__` says may be where it is meant to be found."""
    code = getattr(inspect.unwrap(value), "__code__", None) if inspect.isroutine(value) or hasattr(value, "__wrapped__") else None
    return code is not None and code.co_filename == getattr(module, "__file__", None)


def _public_entries(module: Any, package: str, asked: Sequence[str] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in sorted({*dir(module), *getattr(module, "__all__", ()), *asked}):
        if name.startswith("_") or name == "annotations":
            continue
        try:
            value = getattr(module, name)
        except Exception:  # a deprecated name that raises
            continue
        if inspect.ismodule(value):
            if value.__name__.split(".")[0] == package:
                yield name, {"is": "module"}
        elif name in asked or _is_own(value, package):
            yield name, described(value)


def _is_own(value: Any, package: str) -> bool:
    """Whether the module's name is for something of the package, and not for an import of its implementation."""
    origin = str(getattr(value, "__module__", None) or type(value).__module__).split(".")[0]
    return (origin not in ("typing", "collections", "functools", "abc", "__future__", "contextlib", "dataclasses", "enum", "warnings",
                           "operator")
            or origin == package)


def described(value: Any) -> dict[str, Any]:
    """The kind of a value, its `__name__`, parameters and, for a class, members."""
    if inspect.isclass(value):
        return {"is": "class", "__name__": value.__name__, "parameters": parameters(value), "members": dict(_members(value))}
    if callable(value):
        return {"is": "function", "__name__": getattr(value, "__name__", None), "parameters": parameters(value)}
    return {"is": "value"}


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    for name in sorted({*dir(kind), *_instance_attributes(kind)}):
        if not name.startswith("_"):
            value = inspect.getattr_static(kind, name, None)  # None for what __dir__ or the metaclass answers
            function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
            yield name, parameters(function) if inspect.isfunction(function) else None


def _instance_attributes(kind: type) -> Iterator[str]:
    """The attributes that a class declares for its instances, or that its constructor sets."""
    for base in kind.__mro__:
        declared = vars(base).get("__annotations__")
        yield from declared if isinstance(declared, dict) else ()
        if inspect.isfunction(constructor := vars(base).get("__init__")):
            try:
                source = inspect.getsource(constructor)
            except (OSError, TypeError):  # made by a call, as those of dataclasses are
                continue
            yield from re.findall(r"\bself\.([a-z]\w*)(?:: [^=\n]+)? = ", source)
            yield from re.findall(r"\bself\._set\(\"(\w+)\"", source)


def parameters(function: Any) -> list[list[Any]] | None:
    """The names, kinds and defaults (whether there is one) of a function's parameters; None if they are not known."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return None
    return [[p.name, p.kind.name, p.default is not p.empty] for p in signature.parameters.values()]


# --- two packages ---


def listed_by(python: str, package: str, reference: Listing | None = None) -> Listing:
    """The listing of a package by a process of an interpreter, which is asked for the names of a reference if there is one."""
    asked = None if reference is None else {module: list(names) for module, names in reference.items()}
    environment = {name: value for name, value in os.environ.items() if python == sys.executable or name != "PYTHONPATH"}
    done = subprocess.run([python, os.path.abspath(__file__), "--list", package], env=environment, capture_output=True, text=True,
                          check=False, input=json.dumps(asked))
    if done.returncode:
        raise RuntimeError(f"{python} could not list {package}:\n{done.stderr}")
    return json.loads(done.stdout)


def compare(reference: Listing, ours: Listing) -> list[Difference]:
    """The differences: what the reference has and laminax has not, in the order of modules and names."""
    found = []
    for module, names in reference.items():
        if module not in ours:
            found.append(Difference("module", module, f"is missing, with {len(names)} names"))
            continue
        for name, expected in names.items():
            where = f"{module}.{name}" if module else name
            if name not in ours[module]:
                found.append(Difference("name", where, f"is missing (a {expected['is']})"))
            else:
                found.extend(_differences(where, expected, ours[module][name]))
    return found


def _differences(where: str, expected: dict[str, Any], got: dict[str, Any]) -> Iterator[Difference]:
    if "value" in (expected["is"], got["is"]) or "module" in (expected["is"], got["is"]):
        if expected["is"] != got["is"]:
            yield Difference("kind", where, f"is a {expected['is']} there, a {got['is']} here")
        return
    if expected["__name__"] is not None and expected["__name__"] != got["__name__"]:
        yield Difference("__name__", where, f"is {expected['__name__']!r} there, {got['__name__']!r} here")
    yield from parameter_differences(where, expected["parameters"], got["parameters"])
    for name, of_member in expected.get("members", {}).items():
        if "members" in got:
            if name not in got["members"]:
                yield Difference("member", f"{where}.{name}", "is missing")
            else:
                yield from parameter_differences(f"{where}.{name}", of_member, got["members"][name])


def parameter_differences(where: str, expected: Sequence | None, got: Sequence | None) -> Iterator[Difference]:
    """Which parameters a call may give there and not here: by name, or by position."""
    if expected is None or got is None or [p[:2] for p in expected[-2:]] == [["args", "VAR_POSITIONAL"], ["kwargs", "VAR_KEYWORD"]]:
        return
    kinds = {name: kind for name, kind, _ in got}
    has_rest, has_more = "VAR_POSITIONAL" in kinds.values(), "VAR_KEYWORD" in kinds.values()
    for name, kind, _ in expected:
        if name.startswith("_") or kind in ("VAR_KEYWORD", "VAR_POSITIONAL", "POSITIONAL_ONLY"):
            continue
        if name not in kinds and not has_more:
            yield Difference("parameter", where, f"has no {name!r}")
        elif kinds.get(name) == "POSITIONAL_ONLY":
            yield Difference("parameter", where, f"takes {name!r} by position only")
    by_position = [[n for n, kind, _ in each if kind in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")] for each in (expected, got)]
    if len(by_position[1]) < len(by_position[0]) and not has_rest and all(name in kinds for name in by_position[0]):
        yield Difference("parameter", where, f"takes {by_position[0][len(by_position[1]):]} by keyword only")
    required = [name for name, kind, is_optional in got if not is_optional and kind not in ("VAR_POSITIONAL", "VAR_KEYWORD")]
    optional = {name for name, _, is_optional in expected if is_optional}
    for name in required:
        if name in optional:
            yield Difference("default", where, f"{name!r} has a default there")


class Reason(NamedTuple):
    """Why differences are meant to be: a row of the table in the document."""
    kinds: tuple[str, ...]
    patterns: tuple[str, ...]  # of where they are, as `fnmatch` has them, with the differing parameter behind a colon
    text: str

    def covers(self, difference: Difference) -> bool:
        quoted = re.search(r"'(\w+)'", difference.text)
        place = f"{difference.where}:{quoted[1]}" if quoted and difference.kind in ("parameter", "default") else difference.where
        return difference.kind in self.kinds and any(fnmatch.fnmatchcase(place, pattern) for pattern in self.patterns)


def reasons_in(document: str) -> list[Reason]:
    """The rows `| kinds | places | reason |` of a document."""
    rows = [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in document.splitlines() if line.startswith("| ")]
    return [Reason(tuple(kinds.split()), tuple(re.findall(r"`([^`]+)`", places)), text) for kinds, places, text in rows
            if places != "where" and not kinds.startswith("---")]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--list", metavar="PACKAGE", help="print the listing of a package and stop")
    parser.add_argument("--reference", default="jax", help="the package to compare with")
    parser.add_argument("--reference-python", help="an interpreter that has it")
    parser.add_argument("--kinds", help="which differences, separated by commas; by default all")
    parser.add_argument("--all", action="store_true", help="print also what has a reason")
    parser.add_argument("modules", nargs="*", help="which modules, without the package's name; by default all")
    given = parser.parse_args(arguments)
    if given.list:
        asked = json.loads(sys.stdin.read() or "null") if not sys.stdin.isatty() else None
        output, sys.stdout = sys.stdout, sys.stderr  # what imports print
        json.dump(listing(given.list, asked), output)
        return 0
    if not given.reference_python:
        parser.error("--reference-python is needed: an interpreter that has the reference")
    reference = listed_by(given.reference_python, given.reference)
    ours = listed_by(sys.executable, "laminax", reference)
    differences = compare(reference, ours)
    reasons = reasons_in(REASONS.read_text()) if REASONS.exists() and not given.all else []
    found = [d for d in differences if not any(reason.covers(d) for reason in reasons)]
    stale = [pattern for reason in reasons for pattern in reason.patterns
             if not any(reason._replace(patterns=(pattern,)).covers(d) for d in differences)]
    if given.kinds:
        found = [d for d in found if d.kind in given.kinds.split(",")]
    if given.modules:
        found = [d for d in found if any(d.where == m or d.where.startswith(m + ".") for m in given.modules)]
    for difference in found:
        print(f"{difference.kind:10} {difference.where} {difference.text}")
    for pattern in stale:
        print(f"reason     {pattern} is for no difference")
    counts = {kind: sum(d.kind == kind for d in found) for kind in sorted({d.kind for d in found})}
    names = sum(map(len, reference.values()))
    print(f"\n{len(reference)} modules and {names} names of {given.reference}: {len(differences)} differences, "
          f"{len(found)} of them without a reason {counts}")
    return 1 if found or stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
