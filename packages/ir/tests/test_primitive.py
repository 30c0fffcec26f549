"""Primitives and the tables of their rules."""

from __future__ import annotations

import pickle
import sys
import types

import numpy as np
import pytest

from laminax_ir.ops import elementwise, indexing
from laminax_ir.programs.primitive import Primitive, RuleTable, shape_rule
from laminax_ir.recording.staging import stage
from laminax_ir.reference.evaluate import reference_rule
from laminax_ir.types.avals import ShapedArray


def in_module(name: str, function):
    function.__module__ = name
    return function


def test_a_second_rule_is_refused_and_the_first_ones_module_named():
    table = RuleTable("batching", "no_such_package")
    primitive = Primitive("twice")
    table.add(primitive, in_module("rules.first", lambda x: x))
    with pytest.raises(ValueError, match=r"twice: a second batching rule, in rules\.second; the first is in rules\.first"):
        table(primitive)(in_module("rules.second", lambda x: x))
    assert table[primitive](3) == 3


def test_a_second_shape_rule_is_refused():
    primitive = Primitive("shaped_twice")
    shape_rule(primitive)(in_module("first", lambda x: x))
    with pytest.raises(ValueError, match="shaped_twice: a second shape rule, in second; the first is in first"):
        shape_rule(primitive)(in_module("second", lambda x: x))


def test_a_missing_rule_says_what_to_do():
    table = RuleTable("batching", "no_such_package", "Register one with batching_rule.")
    primitive = Primitive("lonely")
    with pytest.raises(NotImplementedError, match=r"^Batching rule for 'lonely' not implemented\. Register one with batching_rule\.$"):
        table[primitive]
    assert table.find(primitive) is None
    with pytest.raises(NotImplementedError, match="Reference rule for 'lonely' not implemented"):
        reference_rule[primitive]


def test_a_primitive_without_a_shape_rule_cannot_be_traced():
    with pytest.raises(NotImplementedError, match="Abstract evaluation for 'lonely' not implemented.*def_abstract_eval"):
        stage(lambda x: [Primitive("lonely").bind(x)], [ShapedArray((), np.dtype("float32"))])


@pytest.mark.parametrize("multiple_results, rule", [(False, lambda x: [x]), (True, lambda x: x)])
@pytest.mark.parametrize("has_effects", [False, True])
def test_a_shape_rule_returns_a_list_if_there_are_several_results(multiple_results, rule, has_effects):
    primitive = Primitive("confused", multiple_results=multiple_results)
    if has_effects:
        primitive.def_effectful_abstract_eval(lambda x: (rule(x), set()))
    else:
        primitive.def_abstract_eval(rule)
    with pytest.raises(ValueError, match=f"confused.abstract_eval.* return a tuple or list if, and only if.* It is {multiple_results}"):
        stage(lambda x: [primitive.bind(x)], [ShapedArray((), np.dtype("float32"))])


def test_rules_are_imported_when_first_looked_up(monkeypatch):
    package, module = types.ModuleType("rules_of_test"), types.ModuleType("rules_of_test.family")
    package.__path__ = []
    primitive = Primitive("late", family="family")
    table = RuleTable("test", "rules_of_test")
    imported = []

    def import_module(name):
        imported.append(name)
        table.add(primitive, lambda: "found")
        return module

    monkeypatch.setattr("importlib.util.find_spec", lambda name: object() if name == "rules_of_test.family" else None)
    monkeypatch.setattr("importlib.import_module", import_module)
    assert table[primitive]() == "found" and table.find(primitive)() == "found"
    assert imported == ["rules_of_test.family"]


def test_every_elementwise_primitive_has_a_shape_rule_and_a_meaning():
    for name, value in vars(elementwise).items():
        if isinstance(value, Primitive):
            assert name == f"{value.name}_p" and value.family == "elementwise"
            assert value.shape_rule is not None and reference_rule.find(value) is not None, name


def test_primitives_are_pickled_by_name():
    for primitive in (elementwise.sin_p, indexing.scatter_add_p):
        assert pickle.loads(pickle.dumps(primitive)) is primitive
    assert repr(elementwise.sin_p) == "sin"


def test_a_primitive_of_ones_own_can_be_staged():
    double_p = Primitive("double_of_test")
    shape_rule(double_p)(lambda x, *, times: x)
    closed = stage(lambda x: [double_p.bind(x, times=2)], [ShapedArray((2,), np.dtype(np.float32))])
    assert str(closed) == "{ lambda ; a:f32[2]. let b:f32[2] = double_of_test[times=2] a in (b,) }"
    assert "double_of_test" not in sys.modules
