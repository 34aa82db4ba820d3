"""Round trips of prompt objects to parts and back, and texts with JSON in single braces."""

from __future__ import annotations

import pytest
import yaml

from promptls.convert.formats import convert, guess
from promptls.dialects.ragas.prompt_object import FIRST_RELEASE, read_prompt_object, to_string
from promptls.text.errors import UserError

OBJECT = """\
name: question_generation
instruction: Generate a question for the given answer
examples:
  - {answer: "In Tokyo, Japan.", context: Every 4 years, output: {question: "Where?"}}
input_keys: [answer, context]
output_key: output
output_type: json
"""
PROMPT_V1 = """\
You categorize a short customer support ticket into (a) one or more labels and (b) a single priority.

Return exactly in JSON:
{"labels":[<labels>], "priority":"P0"|"P1"|"P2"}
"""


@pytest.mark.parametrize("release", ["", "ragas_version: 0.1.5\n", "ragas_version: 0.1.9\n"])
def test_a_round_trip_through_parts_does_not_duplicate_examples_and_inputs(release: str) -> None:
    parts = convert(OBJECT + release, "a.yml.j2", "object", "parts").text
    back = convert(parts, "b.yml.j2", "parts", "object").text
    found = yaml.safe_load(back)
    assert "Tokyo" not in found["instruction"]
    assert "{answer}" not in found["instruction"]
    assert found["examples"] == yaml.safe_load(OBJECT)["examples"]


def test_the_object_renders_as_before() -> None:
    parts = convert(OBJECT, "a.yml.j2", "object", "parts").text
    back = yaml.safe_load(convert(parts, "b.yml.j2", "parts", "object").text)
    texts = [to_string(read_prompt_object(each, FIRST_RELEASE)) for each in (back, yaml.safe_load(OBJECT))]
    assert texts[0] == texts[1]


def test_an_input_inside_of_the_text_is_reported_as_duplicate() -> None:
    made = convert("- name: a\n  content: Put {{ text }} in French.\n", "a.yml.j2", "parts", "object")
    assert any("again after" in lost for lost in made.lost)


def test_the_prompt_of_the_documentation_becomes_a_template() -> None:
    assert guess(PROMPT_V1, "promptv1.txt") == "f-string"
    made = convert(PROMPT_V1, "promptv1.txt", "f-string", "parts")
    (part,) = yaml.safe_load(made.text)
    assert part["content"].rstrip("\n") == PROMPT_V1.rstrip("\n")


def test_an_input_inside_of_json_stays_an_input() -> None:
    made = convert('Fill {"q": "{question}", "o": {}} for {who}', "a.txt", "f-string", "parts").text
    assert "input_keys:\n  question: {}\n  who: {}" in made
    assert '{"q": "{{ escape_special_characters(question | string) }}", "o": {}}' in made


@pytest.mark.parametrize("text", ['{x + 1} {"a": 1}', '{"a": 1}}', "a } b {"])
def test_other_braces_are_refused(text: str) -> None:
    with pytest.raises(UserError):
        convert(text, "a.txt", "f-string", "parts")
