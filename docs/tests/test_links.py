"""Links between the pages, and to files of the repository, lead somewhere; every page is in the site's contents."""

import os
import pathlib
import re

import pytest

DOCS = pathlib.Path(__file__).absolute().parents[1]
ROOT = DOCS.parent
PAGES = sorted(DOCS.rglob("*.md"))
LINK = re.compile(r"(?<!`)!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(page: pathlib.Path) -> set[str]:
    """The addresses of a page's headings, as Python-Markdown makes them."""
    titles = re.findall(r"^#+ +(.*?)\s*$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL), re.MULTILINE)
    given = {name for title in titles for name in re.findall(r"\{ *#([\w-]+) *\}", title)}
    return given | {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_links_of(page):
    for target in LINK.findall(without_code(page.read_text())):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = pathlib.Path(os.path.normpath(page.parent / path)) if path else page
        assert there.exists(), f"{page.name} links to {target}, which is not there"
        assert DOCS in there.parents, f"{page.name} links to {target}, which is no part of the site"
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), f"{page.name} links to {target}: {there.name} has no such heading"


def test_every_page_is_in_the_contents():
    contents = (ROOT / "mkdocs.yml").read_text()
    listed = set(re.findall(r"[\w/.-]+\.md", contents.partition("\nnav:")[2]))
    assert listed == {str(page.relative_to(DOCS)) for page in PAGES}
