"""The reference's documentation of a public module: signatures from its stub, texts from its docstrings.

griffe, which reads sources for mkdocstrings, finds in a stub every public name of a module with its types, and the first line of its
docstring only, since that is what stubs have; the whole is on the object itself, which is asked for it here. Names that a stub takes from
another package are made known as the module's own. Names of laminax's in backticks become links to where the reference has them.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections import defaultdict
from typing import Any

import griffe

NAME = re.compile(r"(?<![`\[])`([A-Za-z_][\w.]*)(?:\(\))?`(?![`\]])")  # in backticks, and no link already


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
            complete(pkg, public_names(pkg))


def is_left_out(module: griffe.Module) -> bool:
    return any(part.startswith("_") for part in module.path.split(".")) or module.path.endswith("as_jax")


def public_names(module: griffe.Module) -> frozenset[str]:
    """The full names that the reference has: of modules, and of what they and their classes hold."""
    if is_left_out(module):
        return frozenset()
    found = {module.path}
    for name, member in module.members.items():
        if member.is_alias or name.startswith("_"):
            continue
        found.add(member.path)
        if member.is_module:
            found |= public_names(member)
        elif member.is_class:
            found |= {f"{member.path}.{method}" for method in member.members if not method.startswith("_")}
    return frozenset(found)


def complete(module: griffe.Module, names: frozenset[str]) -> None:
    if is_left_out(module):
        return
    value = importlib.import_module(module.path)
    module.exports = [name for name in dir(value) if not name.startswith("_") and not inspect.ismodule(getattr(value, name, None))]
    give_docstring(module, value, names)
    for name, member in list(module.members.items()):
        if member.is_alias:
            if not member.target_path.startswith("laminax"):  # NumPy's own, whose sources are not read
                del module.members[name]
            continue
        if member.is_module:
            complete(member, names)
        elif member.is_attribute:  # an option, say, which is an object with a docstring
            option = getattr(value, name, None)
            if option.__doc__ != type(option).__doc__:
                give_docstring(member, option, names)
                say_what_calls_return(member)
        elif member.is_function or member.is_class:
            give_docstring(member, getattr(value, name, None), names)
            if member.is_class:
                for method, of_class in member.members.items():
                    if not of_class.is_alias and not method.startswith("_"):
                        give_docstring(of_class, getattr(getattr(value, name, None), method, None), names)


def give_docstring(of: griffe.Object, value: object, names: frozenset[str]) -> None:
    text = inspect.getdoc(value)
    if text:
        of.docstring = griffe.Docstring(linked(as_google_style(text), of.path, names), parent=of, parser="google",
                                        parser_options={"warnings": False})  # else its sections are one paragraph


def say_what_calls_return(attribute: griffe.Attribute) -> None:
    """A function that is an object, such as `numpy.add`, returns arrays; griffe takes the attribute's own type."""
    for section in attribute.docstring.parsed if attribute.docstring else ():
        if section.kind is griffe.DocstringSectionKind.returns:
            for returned in section.value:
                returned.annotation = "Array"


def linked(text: str, path: str, names: frozenset[str]) -> str:
    """A docstring with links at names in backticks; examples stay as they are.

    Args:
      text: the docstring.
      path: the full name of what it documents.
      names: the full names that there are.
    """
    def link(match: re.Match[str]) -> str:
        target = resolved(match[1], path, names)
        return match[0] if target in (None, path) else f'<autoref identifier="{target}" optional><code>{match[1]}</code></autoref>'

    before, heading, examples = text.partition("Examples:\n")
    rest = re.search(r"^(?=\S)", examples, flags=re.MULTILINE)
    end = rest.start() if rest else len(examples)
    return NAME.sub(link, before) + heading + examples[:end] + NAME.sub(link, examples[end:])


def resolved(name: str, path: str, names: frozenset[str]) -> str | None:
    """The full name that a name means in the docstring of `path`: there, or in what that is a part of, up to laminax."""
    name = re.sub(r"^jnp\.", "numpy.", name)
    if name.startswith("laminax."):
        return name if name in names else None
    while path:
        if (full := f"{path}.{name}") in names:
            return full
        path = path.rpartition(".")[0]
    return None


def as_google_style(text: str) -> str:
    """Sections under the names that griffe knows; what stands under `Source` stays a paragraph."""
    text = re.sub(r"^Example:$", "Examples:", text, flags=re.MULTILINE)
    return re.sub(r"^Source: ", "**Source.** ", text, flags=re.MULTILINE)
