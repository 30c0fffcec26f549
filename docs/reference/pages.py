"""mkdocs' hook that makes the reference: one page for each public module, found by its stub, and the table of them all."""

from __future__ import annotations

import ast
import pathlib
from typing import Any

from mkdocs.structure.files import File, Files

import laminax

PACKAGE = pathlib.Path(laminax.__file__).parent
TABLE = "<!-- the table of modules -->"
FIRST = ("laminax", "laminax.numpy", "laminax.lax", "laminax.random", "laminax.nn", "laminax.scipy", "laminax.sharding", "laminax.errors")


def modules() -> dict[str, str]:
    """Public module to the first line of its docstring; those that most programs use come first."""
    found = {}
    for stub in PACKAGE.rglob("*.pyi"):
        parts = [part for part in stub.relative_to(PACKAGE.parent).with_suffix("").parts if part != "__init__"]
        if not any(part.startswith("_") for part in parts):
            found[".".join(parts)] = (ast.get_docstring(ast.parse(stub.read_text())) or "").partition("\n")[0]
    order = sorted(found, key=lambda name: (FIRST.index(name) if name in FIRST else len(FIRST), name.startswith("laminax.exper"), name))
    return {name: found[name].replace(" A table of contents: names load on first use.", "") for name in order}


def on_config(config: Any) -> Any:
    for section in config.nav:
        if "Reference" in section:
            section["Reference"] += [{name: f"reference/{name}.md"} for name in modules()]
    return config


def on_files(files: Files, config: Any) -> Files:
    for name in modules():
        files.append(File.generated(config, f"reference/{name}.md", content=f"# {name}\n\n::: {name}\n"))
    return files


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """The table of modules, where a page asks for it. Programs with prompts are coloured as such; copying leaves out what they print."""
    markdown = markdown.replace("```python\n>>>", "```pycon\n>>>")
    rows = "".join(f"| [`{name}`]({name}.md) | {line.replace('|', chr(92) + '|')} |\n" for name, line in modules().items())
    return markdown.replace(TABLE, f"| module | |\n|---|---|\n{rows}")
