from __future__ import annotations

import pytest

from promptls.semantic.few_shot import few_shots
from promptls.semantic.template import Template
from promptls.workspace.disk import source_of

BLOCK = """\
instruction: Sort it.
examples:
  - text: one
    label: a
  # about the second
  - text: two
    label: b
input_keys: [text]
"""
FLOW = "instruction: Sort it.\nexamples: [{text: one}, {text: two}, {text: three}]\n"
LISTED = """\
{# set examples = [ {"a": "a comment"} ] #}
{% set few_shot_examples = [
  {"words": ["x, y", 'it\\'s'], "text": "the first"},
  ("the second", [1, 2]),
] %}
{% set other = [1, 2] %}
- name: a
  content: x
"""
HEADER = "{#---\nexamples: [{text: one}]\n---#}\n- name: a\n  content: x\n"


def without(text: str) -> list[tuple[str, str]]:
    """Return the text of each example, and the template without it."""
    return [(each.label, each.without(text)) for each in few_shots(Template(source_of("/a.yml.j2", text)))]


def test_an_item_of_a_block_list_goes_with_its_lines() -> None:
    first, second = without(BLOCK)

    assert first == ("one", BLOCK.replace("  - text: one\n    label: a\n  # about the second\n", ""))
    assert second == ("two", BLOCK.replace("  - text: two\n    label: b\n", ""))


def test_an_item_of_a_flow_list_goes_with_one_comma() -> None:
    lists = [text.partition("examples: ")[2].strip() for _, text in without(FLOW)]

    assert lists == [
        "[{text: two}, {text: three}]", "[{text: one}, {text: three}]", "[{text: one}, {text: two}]",
    ]  # fmt: skip


def test_the_only_item_goes_with_its_key_or_leaves_an_empty_list() -> None:
    block = "instruction: Sort it.\nexamples:\n  - text: one\ninput_keys: [text]\n"

    assert without(block) == [("one", "instruction: Sort it.\ninput_keys: [text]\n")]
    assert without("instruction: Sort it.\nexamples: [{text: one}]\n") == [
        ("one", "instruction: Sort it.\nexamples: []\n")
    ]


def test_items_of_a_list_that_a_template_goes_over_are_examples() -> None:
    first, second = without(LISTED)

    assert first[0] == "the first"
    assert '= [\n  ("the second", [1, 2]),\n] %}' in first[1]
    assert second[0] == "the second"
    assert '"text": "the first"},\n] %}' in second[1]


@pytest.mark.parametrize(
    "text",
    [HEADER, "- name: a\n", "{% set examples = [1, 'open", "{% set examples = [1 %}{% set x = 2 %}]", ""],
)
def test_what_no_model_sees_or_is_broken_is_no_example(text: str) -> None:
    assert without(text) == []
