"""docs/rule_table.md is what tools/rule_table.py prints, and every gap in it has its reason."""

import importlib.util
import pathlib

import pytest

REPOSITORY = pathlib.Path(__file__).absolute().parents[2]


@pytest.fixture(scope="module")
def rule_table():
    spec = importlib.util.spec_from_file_location("rule_table", REPOSITORY / "tools/rule_table.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_missing_rule_has_a_reason(rule_table):
    missing = [line for line in rule_table.lines() if "**missing**" in line]
    assert not missing, "write the rule, or its reason into tools/rule_table.py:\n" + "\n".join(missing)


def test_no_reason_is_given_for_a_rule_that_is_there(rule_table):
    tested = rule_table.tested_words()
    rows = {(column, str(p)): cell for found in rule_table.primitives().values() for p in found
            for column, cell in rule_table.row(p, tested).items()}
    needless = [key for key in rule_table.REASONS if not rows.get(key, "(").startswith("(")]
    assert not needless


def test_the_committed_table_is_up_to_date(rule_table):
    committed = (REPOSITORY / "docs/rule_table.md").read_text().splitlines()
    printed = list(rule_table.lines())
    changed = [line for line in printed if line not in committed] + [line for line in committed if line not in printed]
    assert committed == printed, ("write it again, as the docstring of tools/rule_table.py says; these lines differ:\n"
                                  + "\n".join(changed))
