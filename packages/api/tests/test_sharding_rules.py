"""Sharding rules of custom_partitioning, written as Shardy's documentation of `op_sharding_rule` does."""

import pytest

from laminax.experimental.custom_partitioning import BATCHING, ArrayMapping, CompoundFactor, SdyShardingRule, custom_partitioning


def rule_of(text, **options):
    f = custom_partitioning(lambda *args: args)
    f.def_partition(partition=print, sharding_rule=text, **options)
    return f.sharding_rule


@pytest.mark.parametrize("text, options, operands, results, expected", [
    ("i j, j k -> i k", {}, [(16, 32), (32, 8)], [(16, 8)], "([i, j], [j, k])->([i, k]) {i=16, j=32, k=8}, custom"),
    ("i j, j k -> i k", {"reduction_factors": ("j",)}, [(16, 32), (32, 8)], [(16, 8)],
     "([i, j], [j, k])->([i, k]) {i=16, j=32, k=8} reduction={j}, custom"),
    ("a b -> (a b)", {}, [(2, 4)], [(8,)], "([i, j])->([ij]) {i=2, j=4}, custom"),
    ("(a b) -> a b", {}, [(8,)], [(2, 4)], "([ij])->([i, j]) {i=2, j=4}, custom"),
    ("(i k) j, (i k j) -> (i k j)", {"i": 2, "k": 2, "need_replication_factors": ("k",)}, [(4, 2), (8,)], [(8,)],
     "([ij, k], [ijk])->([ijk]) {i=2, j=2, k=2} need_replication={j}, custom"),
    ("... i -> ... i", {}, [(2, 3, 4)], [(2, 3, 4)], "([i, j, k])->([i, j, k]) {i=2, j=3, k=4}, custom"),
    ("..., i -> i", {}, [(), (3,)], [(3,)], "([], [i])->([i]) {i=3}, custom"),
    ("i j -> ", {"permutation_factors": ("i",)}, [(2, 3)], [()], "([i, j])->([]) {i=2, j=3} permutation={i}, custom"),
])
def test_rules_as_shardy_writes_them(text, options, operands, results, expected):
    assert rule_of(text, **options).text(operands, results) == f"#sdy.op_sharding_rule<{expected}>"


def test_a_rule_of_mappings_is_the_rule_as_text():
    made = SdyShardingRule(((BATCHING, "i"), ArrayMapping(CompoundFactor("i", "j"))), (("i",),), j=2)
    shapes = [(3, 4), (8,)], [(4,)]
    assert made.text(*shapes) == rule_of("... i, (i j) -> i", j=2).text(*shapes)
    assert made.factor_sizes == {"j": 2} and made.result_mappings == (("i",),)
    assert str(made) == "SdyShardingRule((('...', 'i'), (('i', 'j'),)), (('i',),), {'j': 2})"
    assert str(rule_of("i j -> i", reduction_factors=("j",))) == "SdyShardingRule((('i', 'j'),), (('i',),), {} reduction_factors=('j',))"


def test_many_factors_have_numbered_names():
    names = [f"f{i}" for i in range(20)]
    text = rule_of(f"{' '.join(names)} -> {' '.join(names)}").text([(2,) * 20], [(2,) * 20])
    assert "z=2, z_1=2, z_2=2}" in text


@pytest.mark.parametrize("wrong, error, message", [
    (lambda: rule_of("i j"), ValueError, "one '->' between them, got 'i j'"),
    (lambda: rule_of("i + j -> i"), ValueError, r"cannot read '\+ j' in 'i \+ j -> i'"),
    (lambda: rule_of("i ... -> i"), ValueError, r"\.\.\. stands for leading axes, got it at position 1"),
    (lambda: rule_of("(i) -> i"), ValueError, r"compound factor should contain at least two factors, got \('i',\)"),
    (lambda: rule_of("i -> i", reduction_factors=("j",)), ValueError, r"Factor j is not used: in no mapping; the factors are \['i'\]"),
    (lambda: ArrayMapping(3), ValueError, "must be a str or CompoundFactor, got 3 of type int"),
    (lambda: CompoundFactor("i", 3), ValueError, "element of CompoundFactor must be a str, got 3 of type int"),
    (lambda: CompoundFactor(BATCHING, "i"), ValueError, r"Ellipsis can't be used in a compound factor, got \('...', 'i'\)"),
    (lambda: ArrayMapping("3i"), ValueError, "Factor names have to start with a letter.* got '3i'"),
    (lambda: rule_of("i -> i", i=3), ValueError, "Factor i represents a whole dimension; do not specify its size, got 3"),
    (lambda: rule_of("i, i -> i").text([(2,), (3,)], [(2,)]), ValueError, "the factor 'i' has size 2 in one place and 3 in another"),
    (lambda: rule_of("i -> i").text([(2,), (2,)], [(2,)]), ValueError, "it has 1 operand mappings, and the function 2 operands"),
    (lambda: rule_of("i -> i").text([(2, 2)], [(2,)]), ValueError, r"has 1 axes, and its shape is \(2, 2\)"),
    (lambda: rule_of("(i j) -> (i j)"), ValueError, "Factor i is only used in compound factors; must specify its size"),
    (lambda: rule_of("(i j) -> i j").text([(4,)], [(2, 3)]), ValueError, "whose product is not the axis' size 4"),
])
def test_rules_that_do_not_fit_are_refused(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()
