"""The site builds, and every link of every page of it leads to a page and a place that are there."""

import html.parser
import os
import pathlib
import re
import urllib.parse

import build_site
import pytest

CHECKOUT = pathlib.Path(__file__).absolute().parents[2]


class Addresses(html.parser.HTMLParser):
    """The links of a page, and the places in it that links may name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.places.add(value)
            elif name in ("href", "src") and value:
                self.links.append(value)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    site = tmp_path_factory.mktemp("site")
    folder = os.getcwd()
    try:
        build_site.build(site, CHECKOUT)
    finally:
        os.chdir(folder)
    return {page: Addresses(page.read_text()) for page in site.rglob("*.html")}, site


def test_links_lead_somewhere(pages):
    pages, site = pages
    lost = []
    for page, addresses in pages.items():
        if page.name == "404.html":  # served at any address, so its links begin at the root
            continue
        for link in addresses.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = pathlib.Path(os.path.normpath(page.parent / urllib.parse.unquote(parts.path))) if parts.path else page
            there = there / "index.html" if there.is_dir() else there
            if not there.exists() or (parts.fragment and there in pages and urllib.parse.unquote(parts.fragment) not in pages[there].places
                                      and parts.fragment != "__skip"):
                lost.append(f"{page.relative_to(site)}: {link}")
    assert not lost, "\n".join(lost[:50])


def test_the_reference_has_whole_docstrings(pages):
    """Not the first lines that stubs have: an argument, what is returned, an example, and functions that have overloads only."""
    text = (pages[1] / "reference" / "laminax" / "index.html").read_text()
    for words in ("id=\"laminax.jit\"", "static_argnums", "id=\"laminax.value_and_grad\"", "compile-time constants"):
        assert words in text
    assert (pages[1] / "errors" / "LeakedTracerError" / "index.html").exists()


def test_docstrings_have_sections(pages):
    """Arguments are lists and examples are programs, not paragraphs that begin with the section's name."""
    text = (pages[1] / "reference" / "laminax.scipy.linalg" / "index.html").read_text()
    assert "doc-section-item" in text and 'class="gp"' in text
    for page in pages[0]:
        assert not {"<p>Args:", "<p>Returns:", "<p>Examples:"} & set(re.findall(r"<p>\w+:", page.read_text())), page


def test_names_in_docstrings_are_links(pages):
    """Of the same module, of another one, of the module itself in a signature; and in the text of pages."""
    addresses, site = pages
    for page, links in {
        "reference/laminax.scipy.linalg": ["#laminax.scipy.linalg.cho_solve", "../laminax.numpy.linalg/#laminax.numpy.linalg.svd",
                                           "../laminax.typing/#laminax.typing.ArrayLike"],
        "reference/laminax.lax": ["#laminax.lax.scan"],
        "from_jax": ["../reference/laminax/#laminax.autojit"],
    }.items():
        for link in links:
            assert link in addresses[site / page / "index.html"].links, f"{page} has no link to {link}"


def test_notebooks_are_beside_the_pages(pages):
    assert "../notebooks/quickstart.ipynb" in pages[0][pages[1] / "quickstart" / "index.html"].links


def test_no_other_host_is_asked(pages):
    """Pictures, scripts, styles and fonts are the site's own: it works without a network."""
    for page, addresses in pages[0].items():
        for tag in ("<script src=\"http", "<link rel=\"stylesheet\" href=\"http", "<img src=\"http", "fonts.googleapis"):
            assert tag not in page.read_text(), page
