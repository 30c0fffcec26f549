"""mkdocs' hook that makes the reference: one page for each public module, found by its stub, and the table of them all."""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator
from typing import Any

from mkdocs.structure.files import File, Files

import laminax

PACKAGE = pathlib.Path(laminax.__file__).parent
NAME = re.compile(r"(?<![`\[])`(laminax\.[\w.]+)`(?![`\]])")
TABLE = "<!-- the table of modules -->"
FIRST = ("laminax", "laminax.numpy", "laminax.lax", "laminax.random", "laminax.nn", "laminax.scipy", "laminax.sharding", "laminax.errors")


def modules() -> dict[str, str]:
    """Public module to the first line of its docstring; those that most programs use come first."""
    found = {}
    for stub in [*PACKAGE.rglob("*.pyi"), PACKAGE / "typing.py"]:  # which needs no stub
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
    """The table of modules, where a page asks for it, and links from names of laminax's to the reference.

    Programs with prompts are coloured as such; copying leaves out what they print.
    """
    markdown = "\n".join(with_links(markdown)).replace("```python\n>>>", "```pycon\n>>>")
    rows = "".join(f"| [`{name}`]({name}.md) | {line.replace('|', chr(92) + '|')} |\n" for name, line in modules().items())
    return markdown.replace(TABLE, f"| module | |\n|---|---|\n{rows}")


def with_links(markdown: str) -> Iterator[str]:
    """The lines of a page; names such as `laminax.jit`, outside of headings and programs, lead to where the reference has them."""
    is_program = False
    for line in markdown.split("\n"):
        is_program ^= line.lstrip().startswith("```")
        if is_program or line.startswith(("#", ":::")):
            yield line
        else:
            yield NAME.sub(r'<autoref identifier="\1" optional><code>\1</code></autoref>', line)
