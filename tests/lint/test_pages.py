import re
from pathlib import Path

import pytest

from promptls.lint.registry import RULES
from promptls.lint.rule import Rule
from support.fixture import check_findings, parse

CODE = re.compile(r"```yaml\n(.*?)```", re.DOTALL)
NAMES = [rule.name for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_the_first_example_of_a_page_shows_the_finding(rule: Rule, tmp_path: Path) -> None:
    wrong = CODE.findall(rule.page)[0]

    assert any(mark.label == rule.name for marked in parse(wrong).values() for mark in marked.marks)
    check_findings(wrong, rule.name, tmp_path)


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_the_second_example_of_a_page_has_no_finding(rule: Rule, tmp_path: Path) -> None:
    right = CODE.findall(rule.page)[1]

    check_findings(right, root=tmp_path, with_rendering=rule.needs == "rendering")


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_a_page_says_what_the_rule_does_and_why(rule: Rule) -> None:
    for heading in ("## Why is this bad?", "## Example", "Use instead:"):
        assert heading in rule.page


def test_rules_are_sorted_and_named_once() -> None:
    assert sorted(set(NAMES)) == NAMES
