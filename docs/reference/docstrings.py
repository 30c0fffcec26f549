"""The reference's documentation of a public module: signatures from its stub, texts from its docstrings.

griffe, which reads sources for mkdocstrings, finds in a stub every public name of a module with its types, and the first line of its
docstring only, since that is what stubs have; the whole is on the object itself, which is asked for it here. Names that a stub takes from
another package are made known as the module's own.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections import defaultdict
from typing import Any

import griffe


class RuntimeDocstrings(griffe.Extension):
    """Completes modules of laminax when all of the package has been read; elsewhere only the sections' names are changed."""

    def __init__(self) -> None:
        super().__init__()
        self.overloads: defaultdict[str, list[griffe.Function]] = defaultdict(list)  # by path: griffe forgets those without a function

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if isinstance(obj, griffe.Function) and str(obj.filepath).endswith(".pyi"):
            self.overloads[obj.path].append(obj)
        if obj.docstring is not None:
            obj.docstring.value = as_google_style(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        if pkg.path == "laminax":
            for path, overloads in self.overloads.items():
                parent = pkg.modules_collection[path.rpartition(".")[0]]
                if overloads[-1].name not in parent.members and parent.is_module:
                    parent.set_member(overloads[-1].name, overloads[-1])
                    overloads[-1].overloads = overloads
            complete(pkg)


def complete(module: griffe.Module) -> None:
    if any(part.startswith("_") for part in module.path.split(".")) or module.path.endswith("as_jax"):
        return
    value = importlib.import_module(module.path)
    module.exports = [name for name in dir(value) if not name.startswith("_") and not inspect.ismodule(getattr(value, name, None))]
    give_docstring(module, value)
    for name, member in list(module.members.items()):
        if member.is_alias:
            if not member.target_path.startswith("laminax"):  # NumPy's own, whose sources are not read
                del module.members[name]
            continue
        if member.is_module:
            complete(member)
        elif member.is_attribute:  # an option, say, which is an object with a docstring
            option = getattr(value, name, None)
            if option.__doc__ != type(option).__doc__:
                give_docstring(member, option)
        elif member.is_function or member.is_class:
            give_docstring(member, getattr(value, name, None))
            if member.is_class:
                for method, of_class in member.members.items():
                    if not of_class.is_alias and not method.startswith("_"):
                        give_docstring(of_class, getattr(getattr(value, name, None), method, None))


def give_docstring(of: griffe.Object, value: object) -> None:
    text = inspect.getdoc(value)
    if text:
        of.docstring = griffe.Docstring(as_google_style(text), parent=of)


def as_google_style(text: str) -> str:
    """Sections under the names that griffe knows; what stands under `Source` stays a paragraph."""
    text = re.sub(r"^Example:$", "Examples:", text, flags=re.MULTILINE)
    return re.sub(r"^Source: ", "**Source.** ", text, flags=re.MULTILINE)
