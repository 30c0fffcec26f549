"""Each class of `laminax.errors` has a page, which shows it being raised, and each message leads to its class's page."""

import copy
import pathlib
import pickle
import traceback

import pytest

from laminax_ir.types.errors import PAGES, DocumentedError

from laminax import errors

DOCS = pathlib.Path(__file__).absolute().parents[1]
NAMES = sorted(name for name in dir(errors) if isinstance(getattr(errors, name), type))
ONE_CLASS = {"XlaRuntimeError": "JaxRuntimeError"}
ITSELF_NOT_RAISED = ("JAXTypeError", "JAXIndexError", "UnexpectedTracerError")


@pytest.mark.parametrize("name", NAMES)
def test_each_class_has_a_page(name):
    text = (DOCS / PAGES / f"{ONE_CLASS.get(name, name)}.md").read_text()
    assert f"# {ONE_CLASS.get(name, name)}\n" in text and name in text
    if name not in ITSELF_NOT_RAISED:
        assert "Traceback (most recent call last):" in text
    assert f"({ONE_CLASS.get(name, name)}.md)" in (DOCS / PAGES / "index.md").read_text()


@pytest.mark.parametrize("name", sorted({ONE_CLASS.get(name, name) for name in NAMES} - {"JaxRuntimeError"}))
def test_messages_lead_there(name):
    """The address is a note: what programs look for in messages, and print of them, is as it was."""
    error = getattr(errors, name)("the message")
    assert isinstance(error, DocumentedError) and str(error) == "the message"
    assert f"See {PAGES}{name} in laminax's documentation.\n" in traceback.format_exception_only(error)


def test_subclasses_of_others_lead_to_the_page_of_their_base():
    class Mine(errors.ShapeError):
        pass

    assert Mine("x").__notes__ == errors.ShapeError("x").__notes__


def test_copies_have_one_note():
    error = errors.DeletedArrayError("gone")
    assert pickle.loads(pickle.dumps(error)).__notes__ == copy.copy(error).__notes__ == error.__notes__


def test_the_error_of_symbolic_sizes_is_one_class():
    from laminax_ir.symbolic import symbolic_dims

    import laminax.core
    import laminax.extend.core

    for module in (laminax.core, laminax.extend.core, symbolic_dims):
        assert module.InconclusiveDimensionOperation is errors.InconclusiveDimensionOperation
