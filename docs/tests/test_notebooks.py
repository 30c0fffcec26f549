"""The notebooks have the form that Jupyter reads, and their cells, run from the top, print what the pages show.

Cells are run as IPython runs them: a cell shows what it prints, and the value of its last line. Those of one notebook share a process.
"""

import ast
import contextlib
import doctest
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import sys

import pytest

_spec = importlib.util.spec_from_file_location("notebooks", pathlib.Path(__file__).absolute().parents[1] / "notebooks.py")
notebooks = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(notebooks)
COMPARED = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("name", notebooks.PAGES)
def test_cells_print_what_the_page_shows(name, tmp_path):
    path = tmp_path / f"{name}.ipynb"
    path.write_text(notebooks.text_of(name))
    done = subprocess.run([sys.executable, __file__, str(path)], capture_output=True, text=True, cwd=tmp_path, timeout=600,
                          env={**os.environ, "LAMINAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))})
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", notebooks.PAGES)
def test_form(name):
    """What nbformat 4.5 asks for, and that nothing of the page is lost but links out of the notebooks."""
    made = json.loads(notebooks.text_of(name))
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])
    for cell in made["cells"]:
        wanted = {"id", "cell_type", "metadata", "source"} | ({"outputs", "execution_count"} if cell["cell_type"] == "code" else set())
        assert set(cell) == wanted and cell["source"].strip()
        assert cell["cell_type"] == "code" or ".md" not in cell["source"].replace("`", "")
    page = (notebooks.DOCS / f"{name}.md").read_text()
    text = "\n".join(cell["source"] for cell in made["cells"])
    assert all(line in text for line in page.split("\n") if line.startswith("#"))
    code = "\n".join(cell["source"] for cell in made["cells"] if cell["cell_type"] == "code")
    assert all(line[4:] in code for line in page.split("\n") if line.startswith(">>> "))


PAGE = """\
# Title

Text with [a page](quickstart.md#arrays), [another](performance.md) and [a site](https://example.org).

![A picture](pictures/x.svg){ width=1 }

```python
>>> x = 1
>>> x + 1
2
>>> print(x)
1
>>> 1 / 0
Traceback (most recent call last):
  ...
ZeroDivisionError: division by zero
```

<!-- not run: a reason -->
```python
torch
```

<!-- a process of its own -->
```python
print(3)
```

```output
3
```
"""


def test_a_page_becomes_cells():
    cells = notebooks.notebook(PAGE)["cells"]
    assert [cell["cell_type"] for cell in cells] == ["markdown", "code", "code", "code", "markdown", "code"]
    text, value, printed, error, not_run, apart = cells
    assert text["source"] == "# Title\n\nText with [a page](quickstart.ipynb#arrays), another and [a site](https://example.org)."
    assert value["source"] == "x = 1\nx + 1" and value["outputs"][0]["data"] == {"text/plain": "2"}
    assert printed["outputs"] == [{"output_type": "stream", "name": "stdout", "text": "1\n"}]
    assert error["metadata"] == {"tags": ["raises-exception"]} and error["outputs"][0]["ename"] == "ZeroDivisionError"
    assert not_run["source"] == "```python\ntorch\n```"
    assert apart["source"].startswith("%%script ") and apart["outputs"][0]["text"] == "3\n"


def run(cell, names):
    """What a cell shows."""
    source = cell["source"]
    if source.startswith(notebooks.OWN_PROCESS):
        return subprocess.run([sys.executable, "-"], input=source.partition("\n")[2], capture_output=True, text=True, check=True).stdout
    printed, body = io.StringIO(), ast.parse(source, "<stdin>").body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.Module(body, []), "<stdin>", "exec"), names)
            value = None if last is None else eval(compile(ast.Expression(last.value), "<stdin>", "eval"), names)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return printed.getvalue() + ("" if value is None else repr(value))


def expected(output):
    """What an output of a notebook shows."""
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}"
    return output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"]


def main(path):
    names = {"__name__": "__main__"}
    for cell in json.loads(pathlib.Path(path).read_text())["cells"]:
        if cell["cell_type"] == "code":
            seen, wanted = run(cell, names), "".join(map(expected, cell["outputs"]))
            if not doctest.OutputChecker().check_output(wanted + "\n", seen + "\n", COMPARED):
                sys.exit(f"{cell['source']}\nshould show\n{wanted}\nand shows\n{seen}")


if __name__ == "__main__":
    main(sys.argv[1])
