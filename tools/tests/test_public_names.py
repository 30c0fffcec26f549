"""The comparison of two packages by name and signature, on two small packages made for it."""

from __future__ import annotations

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).absolute().parents[1]))

import public_names  # noqa: E402

REFERENCE = {
    "__init__.py": "from ref._src.core import *\nfrom ref._src.core import first as other\nimport os\nfrom typing import Any\nNUMBER = "
                   "LAZY = 3\n",
    "_src/__init__.py": "",
    "_src/core.py": "def first(x, y=1, *, z=2): ...\ndef second(x): ...\nclass Box:\n    def get(self, key): ...\n    def put(self, key, "
                    "value): ...\n    _hidden = 1\n",
    "lib.py": "import ref\ndef only(a): ...\n", "broken.py": "import no_such_module_anywhere\n", "sub/__init__.py": "def deep(): ...\n"}
OURS = {
    "__init__.py": "def first(x, y, *, w=2): ...\nfirst_again = first\ndef __getattr__(name):\n    if name == 'LAZY': return 5\n    raise "
                   "AttributeError(name)\ndef second(x, /): ...\nclass Box:\n    def get(self): ...\ndef other(x, y=1, *, z=2): ...\n",
    "lib.py": "def only(a, b=2): ...\n"}


@pytest.fixture
def found(tmp_path, monkeypatch):
    for package, files in (("ref", REFERENCE), ("ours", OURS)):
        for path, text in files.items():
            file = tmp_path / package / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    reference = public_names.listed_by(sys.executable, "ref")
    return [reference, public_names.listed_by(sys.executable, "ours", reference)]


def test_what_is_listed(found):
    reference, _ = found
    assert set(reference) == {"", "lib", "sub"}  # neither what is private nor what cannot be imported
    assert set(reference[""]) >= {"first", "second", "Box", "other", "NUMBER"} and not {"os", "Any"} & set(reference[""])
    assert set(reference["lib"]) == {"only"}
    assert reference[""]["first"]["parameters"] == [["x", "POSITIONAL_OR_KEYWORD", False], ["y", "POSITIONAL_OR_KEYWORD", True],
                                                    ["z", "KEYWORD_ONLY", True]]
    assert set(reference[""]["Box"]["members"]) == {"get", "put"}


def test_what_differs(found):
    differences = {(d.kind, d.where, d.text) for d in public_names.compare(*found)}
    assert differences >= {
        ("parameter", "first", "has no 'z'"), ("default", "first", "'y' has a default there"),
        ("parameter", "second", "takes 'x' by position only"),
        ("__name__", "other", "is 'first' there, 'other' here"), ("member", "Box.put", "is missing"),
        ("parameter", "Box.get", "has no 'key'"), ("name", "NUMBER", "is missing (a value)"), ("module", "sub", "is missing, with 1 names")}
    assert not [d for d in differences if d[1] == "LAZY"]  # which is there, though dir does not tell it
    assert not [d for d in differences if d[1].startswith("lib")]  # more parameters than there are no difference


def test_a_package_that_cannot_be_listed_is_an_error():
    with pytest.raises(RuntimeError, match="could not list no_such_package_anywhere"):
        public_names.listed_by(sys.executable, "no_such_package_anywhere")


def test_reasons_cover_what_they_name():
    (reason, other) = public_names.reasons_in("# Title\n\n| kind | where | reason |\n|---|---|---|\n"
                                              "| member name | `core.Box.*`, `lib.old_?` | kept apart |\n| parameter | `f:x` | no x |\n")
    assert reason.text == "kept apart" and other.patterns == ("f:x",)
    missing = public_names.Difference
    assert reason.covers(missing("member", "core.Box.put", "is missing")) and reason.covers(missing("name", "lib.old_f", "is missing"))
    assert not reason.covers(missing("parameter", "core.Box.put", "has no 'x'")) and not reason.covers(missing("name", "lib.new", ""))
    assert other.covers(missing("parameter", "f", "has no 'x'")) and not other.covers(missing("parameter", "f", "has no 'y'"))


def test_the_committed_reasons_are_read():
    reasons = public_names.reasons_in(public_names.REASONS.read_text())
    kinds = {"module", "name", "parameter", "default", "__name__", "member", "kind"}
    assert reasons and all(reason.patterns and set(reason.kinds) <= kinds and len(reason.text) > 20 for reason in reasons)
