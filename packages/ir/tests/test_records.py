"""Records behave as frozen dataclasses with the same fields do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest

from laminax_ir.options.records import Record


class Span(Record):
    """A record."""

    start: int
    stop: int = 10
    step: Any = None

    def length(self) -> int:
        return self.stop - self.start


class Named(Span):
    """A record with a further field."""

    name: str = "?"


@dataclasses.dataclass(frozen=True)
class Model:
    """What a span is to behave as."""

    start: int
    stop: int = 10
    step: Any = None


@pytest.mark.parametrize("args, kwargs", [((1,), {}), ((1, 2), {}), ((1, 2, "x"), {}), ((), {"start": 3}), ((4,), {"step": (1,)}),
                                          ((), {"step": 5, "stop": 6, "start": 7})])
def test_a_record_has_the_values_text_and_hash_of_a_dataclass(args: tuple, kwargs: dict[str, Any]) -> None:
    span, model = Span(*args, **kwargs), Model(*args, **kwargs)
    assert (span.start, span.stop, span.step) == (model.start, model.stop, model.step)
    assert repr(span) == repr(model).replace("Model", "Span")
    assert hash(span) == hash(model)
    assert span == Span(model.start, model.stop, model.step) and span != model


def test_fields_of_a_parent_come_first() -> None:
    named = Named(1, 2, 3, "x")
    assert (named.start, named.stop, named.step, named.name, named.length()) == (1, 2, 3, "x", 1)
    assert named == Named(1, 2, 3, name="x") != Named(1, 2, 3)
    assert Span(1, 2, 3) != Named(1, 2, 3)
    assert repr(Named(1)) == "Named(start=1, stop=10, step=None, name='?')"


def test_replace_changes_some_fields_of_another_record() -> None:
    named = Named(1, name="x")
    assert named.replace(stop=5, name="y") == Named(1, 5, None, "y")
    assert named == Named(1, 10, None, "x")


def test_records_are_copied_and_pickled() -> None:
    named = Named(1, step=[2])
    assert copy.copy(named) == named and copy.copy(named).step is named.step
    assert copy.deepcopy(named) == named and copy.deepcopy(named).step is not named.step
    assert pickle.loads(pickle.dumps(named)) == named


@pytest.mark.parametrize("make, message", [
    (lambda: Span(), r"Span\(\) needs a value for start; its fields are start, stop, step"),
    (lambda: Span(1, 2, 3, 4), r"Span\(\) takes the 3 fields start, stop, step, got 4 values"),
    (lambda: Span(1, start=2), r"Span\(\) got two values for start"),
    (lambda: Span(1, end=2), r"Span\(\) got a value for the unknown field end; its fields are start, stop, step"),
    (lambda: Span(1).replace(end=2), r"Span\(\) got a value for the unknown field end"),
])
def test_wrong_fields_are_refused(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_a_record_cannot_be_changed() -> None:
    span = Span(1)
    with pytest.raises(AttributeError, match="Span cannot be changed: start is set when it is made"):
        span.start = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="Span cannot be changed: stop cannot be deleted"):
        del span.stop
    assert span == Span(1)
