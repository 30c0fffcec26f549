"""Every page's programs run and print what is written there; the tool that says so notices when they do not."""

import codeop
import doctest
import pathlib

import pytest
from page_blocks import PageError, processes, python_blocks, run_block, run_page

DOCS = pathlib.Path(__file__).absolute().parents[1]
PAGES = sorted(page for page in DOCS.rglob("*.md") if "```python" in page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_page(page):
    assert run_page(page) or "<!-- not run" in page.read_text()


def test_the_quickstart_can_be_typed_at_the_prompt():
    """Line by line; after the indented lines of a statement at a prompt an empty one, as a reader types it there."""
    compiler, kept = codeop.CommandCompiler(), []
    for block in python_blocks((DOCS / "quickstart.md").read_text()):
        examples = doctest.DocTestParser().get_examples(block.text)
        sources = [e.source + "\n" * ("\n" in e.source.strip()) for e in examples] or [block.text]
        for line in "".join(sources).rstrip("\n").split("\n"):
            kept.append(line)
            if compiler("\n".join(kept)) is not None:  # raises SyntaxError for what Python refuses there
                kept.clear()
    assert not kept


def run(text):
    names = {}
    for group in processes(python_blocks(text)):
        for block in group:
            run_block(block, names, "page.md")
    return names


SHARED = """\
```python
x = 3
print(x)
```

```output
3
```
text
```python
>>> x + 1
4
>>> [x, 'a']
[...]
```
"""
RAISES = """\
```python
>>> int('a')
Traceback (most recent call last):
  ...
ValueError: invalid literal for int() with base 10: 'a'
```
"""
REMARKS = """\
<!-- not run: reason -->
```python
1 / 0
```

<!-- a process of its own -->

```python
a = 1
```

```python
a = 2
```
"""


def test_blocks_share_names():
    assert run(SHARED)["x"] == 3


@pytest.mark.parametrize("right, wrong", [("\n3\n", "\n5\n"), ("\n4\n", "\n5\n"), ("x + 1", "y"), ("```output\n3\n```\n", "")])
def test_outputs_are_compared(right, wrong):
    with pytest.raises(PageError, match=r"page\.md:"):
        run(SHARED.replace(right, wrong))


def test_errors_are_shown_by_type_and_message():
    run(RAISES)
    for right, wrong in (("Value", "Type"), ("'a'", "'1'")):
        with pytest.raises(PageError):
            run(RAISES.replace(right, wrong))


def test_remarks():
    assert [[block.text for block in group] for group in processes(python_blocks(REMARKS))] == [["a = 1\n", "a = 2\n"]]
    with pytest.raises(PageError, match="say why"):
        processes(python_blocks(REMARKS.replace(": reason", "")))


def test_an_output_belongs_to_a_program():
    with pytest.raises(PageError, match="line 2"):
        python_blocks("```output\n3\n```\n")
