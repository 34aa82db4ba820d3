from __future__ import annotations

from pathlib import Path

import pytest

import promptls.lint
from promptls.docgen.generated_files import RULE_PAGES, stale_files
from promptls.lint.registry import RULES
from promptls.lint.rule import page_file

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_page_of_each_rule_lies_in_the_package_as_it_is_now(rule: object) -> None:
    file = page_file(rule.name)

    assert file is not None
    assert rule.page in file.read_text("utf-8")


def test_there_is_no_page_of_a_removed_rule() -> None:
    folder = Path(promptls.lint.__file__).parent / "pages"

    assert {file.stem for file in folder.iterdir()} == {rule.name for rule in RULES}


def test_what_is_no_rule_has_no_page() -> None:
    assert page_file("no-such-rule") is None


def test_docgen_writes_the_pages() -> None:
    assert Path(promptls.lint.__file__).parent / "pages" == CHECKOUT / RULE_PAGES
    assert [path for path in stale_files(CHECKOUT) if path.parent.name == "pages"] == []
