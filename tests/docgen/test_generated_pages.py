from __future__ import annotations

from promptls.docgen.generated_files import rules_page, settings_page
from promptls.lint.registry import RULES
from promptls.settings.header import Header
from promptls.settings.project import Project


def test_every_rule_has_its_page() -> None:
    page = rules_page()
    assert [
        rule.name for rule in RULES if f"\n## {rule.name}\n\nSeverity: {rule.severity}." not in page
    ] == []


def test_the_headings_of_a_rule_page_are_below_the_rule() -> None:
    assert "\n### Why is this bad?\n" in rules_page()
    assert "\n## Why is this bad?\n" not in rules_page()


def test_examples_are_left_as_they_are() -> None:
    # A header's opening begins with `{#`, and a comment in YAML with `#`.
    assert "```yaml\n{#---\n" in rules_page()


def test_every_setting_and_every_header_key_has_its_row() -> None:
    page = settings_page()
    names = [*Project.model_fields, *Header.model_fields]
    rows = {line.split("`")[1] for line in page.splitlines() if line.startswith(("| `", "| [`"))}
    assert [name for name in names if name not in rows] == []


def test_a_default_that_is_a_list_is_shown() -> None:
    assert '| `roles` | array of strings | `["system",' in settings_page()


def test_a_table_of_settings_lists_keys_and_descriptions() -> None:
    page = settings_page()

    assert "\n## `ask_above`\n\nWhat a run may spend without asking.\n" in page
    assert "\n## `experiments.<name>.budget`\n" in page
    assert "| [`diagnostics`](#diagnostics) | object |  | Diagnostics in the editor. |" in page


def test_a_setting_with_a_table_of_its_own_links_to_it() -> None:
    page = settings_page()
    assert "| [`models`](#modelsname) | object | " in page
    assert "| [`budget`](#experimentsnamebudget) | object | " in page


def test_the_table_of_a_header_key_that_is_also_a_setting_is_shown_once() -> None:
    headings = [line for line in settings_page().splitlines() if line.startswith("#")]
    assert headings.count("## `experiments.<name>`") == 1
    assert len(headings) == len(set(headings))
