"""The site builds, and every link of every page of it leads to a page and a place that are there."""

import html.parser
import os
import pathlib
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


def test_no_other_host_is_asked(pages):
    """Pictures, scripts, styles and fonts are the site's own: it works without a network."""
    for page, addresses in pages[0].items():
        for tag in ("<script src=\"http", "<link rel=\"stylesheet\" href=\"http", "<img src=\"http", "fonts.googleapis"):
            assert tag not in page.read_text(), page
