"""Every page's programs run and print what is written there; the tool that says so notices when they do not."""

import pathlib

import pytest
from page_blocks import PageError, processes, python_blocks, run_block, run_page

DOCS = pathlib.Path(__file__).absolute().parents[1]
PAGES = sorted(page for page in DOCS.rglob("*.md") if "```python" in page.read_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_page(page):
    assert run_page(page) or "<!-- not run" in page.read_text()


def run(text):
    names = {}
    for group in processes(python_blocks(text)):
        for block in group:
            run_block(block, names, "page.md")
    return names


def test_blocks_share_names_and_outputs_are_compared():
    text = "```python\nx = 3\nprint(x)\n```\n\n```output\n3\n```\ntext\n```python\n>>> x + 1\n4\n>>> [x, 'a']\n[...]\n```\n"
    assert run(text)["x"] == 3
    for wrong in (text.replace("\n3\n", "\n5\n"), text.replace("\n4\n", "\n5\n"), text.replace("x + 1", "y"), text.replace("```output\n3\n```\n", "")):
        with pytest.raises(PageError, match=r"page\.md:"):
            run(wrong)


def test_errors_are_shown_by_type_and_message():
    text = "```python\n>>> int('a')\nTraceback (most recent call last):\n  ...\nValueError: invalid literal for int() with base 10: 'a'\n```\n"
    run(text)
    with pytest.raises(PageError):
        run(text.replace("Value", "Type"))
    with pytest.raises(PageError):
        run(text.replace("'a'", "'1'"))


def test_remarks():
    text = "<!-- not run: reason -->\n```python\n1 / 0\n```\n\n<!-- a process of its own -->\n\n```python\na = 1\n```\n\n```python\na = 2\n```\n"
    assert [[block.text for block in group] for group in processes(python_blocks(text))] == [["a = 1\n", "a = 2\n"]]
    with pytest.raises(PageError, match="say why"):
        processes(python_blocks(text.replace(": reason", "")))


def test_an_output_belongs_to_a_program():
    with pytest.raises(PageError, match="line 2"):
        python_blocks("```output\n3\n```\n")
