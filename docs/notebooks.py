"""The first pages as Jupyter notebooks: their text in cells of Markdown, their programs in cells of code, with what these print.

    python docs/notebooks.py --to=/tmp/notebooks

The pages are the only source. mkdocs calls the functions `on_...` when it makes the site, which has the notebooks beside the pages. A
statement at a prompt with a result is a cell of its own, since a notebook shows the last value of a cell. A program that needs a process of
its own gets one, by IPython's `%%script`.
"""

from __future__ import annotations

import argparse
import ast
import doctest
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

DOCS = pathlib.Path(__file__).absolute().parent
PAGES = ("quickstart", "transformations", "from_jax", "from_numpy_and_pytorch", "sharp_bits")
OWN_PROCESS = "%%script {__import__('sys').executable}\n"
BLOCK = re.compile(r"(?:^<!-- *(?P<remark>[^\n]*?) *-->\n+)?^```python\n(?P<code>.*?)^```\n(?:\n*^```output\n(?P<output>.*?)^```\n)?",
                   re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?![a-z]+:)([^)\s]*)\)")
PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\)(\{[^}]*\})?\n?", re.MULTILINE)


def notebook(page: str) -> dict[str, Any]:
    """A page of Markdown as a notebook, in the format nbformat 4.5."""
    cells, end = [], 0
    for block in BLOCK.finditer(page):
        remark = block["remark"] or ""
        if remark.startswith("not run"):  # it stays in the text
            continue
        cells += [*markdown_cells(page[end:block.start()]), *code_cells(block["code"], block["output"], bool(remark))]
        end = block.end()
    cells += markdown_cells(page[end:])
    numbered = [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells)]
    return {"cells": numbered, "nbformat": 4, "nbformat_minor": 5,
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                         "language_info": {"name": "python"}}}


def markdown_cells(text: str) -> list[dict[str, Any]]:
    """The text, if there is any: without remarks and pictures, with links to other notebooks only."""
    text = PICTURE.sub("", re.sub(r"^<!--.*?-->\n", "", text, flags=re.MULTILINE))
    text = LINK.sub(lambda link: linked(link[1], link[2]), text).strip()
    return [{"cell_type": "markdown", "metadata": {}, "source": text}] if text else []


def linked(words: str, target: str) -> str:
    """A link of a page as it stands in a notebook: to the notebook of that page, or its words alone."""
    path, hash_sign, anchor = target.partition("#")
    name = path.removesuffix(".md")
    return f"[{words}]({name}.ipynb{hash_sign}{anchor})" if name in PAGES else words


def code_cells(code: str, output: str | None, is_apart: bool) -> Iterator[dict[str, Any]]:
    """The cells of a block: of a program one, of statements at a prompt one for each that prints something."""
    if ">>>" not in code:
        yield code_cell((OWN_PROCESS if is_apart else "") + code.rstrip("\n"), stream(output) if output else [])
        return
    pending = ""
    for example in doctest.DocTestParser().get_examples(code):
        pending += example.source
        if example.exc_msg is not None:
            kind, _, message = example.exc_msg.strip().partition(": ")
            yield code_cell(pending.rstrip("\n"), [{"output_type": "error", "ename": kind.rpartition(".")[2], "evalue": message,
                                                    "traceback": [example.exc_msg.strip()]}])
        elif example.want:
            yield code_cell(pending.rstrip("\n"), result(example.want) if is_value(example.source) else stream(example.want))
        else:
            continue
        pending = ""
    if pending:
        yield code_cell(pending.rstrip("\n"), [])


def code_cell(source: str, outputs: list[dict[str, Any]]) -> dict[str, Any]:
    raises = any(output["output_type"] == "error" for output in outputs)
    return {"cell_type": "code", "execution_count": None, "metadata": {"tags": ["raises-exception"]} if raises else {}, "source": source,
            "outputs": outputs}


def is_value(source: str) -> bool:
    """Whether a statement is an expression whose value is shown, and no call of print."""
    (statement,) = ast.parse(source).body
    return isinstance(statement, ast.Expr) and not (
        isinstance(statement.value, ast.Call) and isinstance(statement.value.func, ast.Name) and statement.value.func.id == "print")


def result(text: str) -> list[dict[str, Any]]:
    return [{"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": {"text/plain": text.rstrip("\n")}}]


def stream(text: str) -> list[dict[str, Any]]:
    return [{"output_type": "stream", "name": "stdout", "text": text}]


def text_of(name: str) -> str:
    """The file of a page's notebook."""
    return json.dumps(notebook((DOCS / f"{name}.md").read_text()), indent=1, ensure_ascii=False) + "\n"


# --- for mkdocs ---


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File  # where mkdocs calls it, and it is not needed otherwise

    for name in PAGES:
        files.append(File.generated(config, f"notebooks/{name}.ipynb", content=text_of(name)))
    return files


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """A link to the notebook, below a page's title."""
    name = page.file.src_uri.removesuffix(".md")
    if name not in PAGES:
        return markdown
    title, _, rest = markdown.partition("\n")
    return f'{title}\n\n[This page as a notebook](notebooks/{name}.ipynb){{ download="{name}.ipynb" }}\n{rest}'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=pathlib.Path, default=pathlib.Path("notebooks"), help="the folder of the notebooks")
    to = parser.parse_args().to
    to.mkdir(parents=True, exist_ok=True)
    for name in PAGES:
        (to / f"{name}.ipynb").write_text(text_of(name))


if __name__ == "__main__":
    main()
