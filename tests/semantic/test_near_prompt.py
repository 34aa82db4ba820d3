from __future__ import annotations

import time

import pytest

from promptls.lint.rule import apply_edits
from promptls.lint.rules.parts.unanalyzed_files import near_prompt
from promptls.semantic.kind import Kind, kind_of
from promptls.syntax.source import Source

OBJECT = "Instruction: Answer.\nInput_keys: [question]\nOutput_key: answer\n"


def test_the_capitalized_keys_of_a_prompt_object_are_reported() -> None:
    near = near_prompt(OBJECT)
    assert near is not None
    assert [edit.text for edit in near.edits] == ["instruction", "input_keys", "output_key"]


PART = "- name: a\n  role: user\n  content: Where is my invoice?\n"
NEAR = {
    "a tag with white space": (
        "{ % if a %}\n" + PART + "{% endif %}\n",
        "{% if a %}\n" + PART + "{% endif %}\n",
    ),
    "a key of another program": (PART.replace("content", "text"), PART),
    "no dash in front of the first part": (PART.replace("- name", "  name") + PART, PART + PART),
    "an en dash": (PART.replace("- name", "\u2013 name"), PART),
}


@pytest.mark.parametrize(("text", "meant"), NEAR.values(), ids=NEAR)
def test_the_edits_make_it_a_prompt(text: str, meant: str) -> None:
    near = near_prompt(text)
    assert near is not None
    text = apply_edits(text, near.edits)
    assert text == meant


def test_marks_of_a_merge_conflict_are_reported_without_an_edit() -> None:
    near = near_prompt(f"<<<<<<< HEAD\n{PART}=======\n{PART}>>>>>>> other\n")
    assert near is not None
    assert (near.span.start, near.span.end, near.edits) == (0, 12, ())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "You answer questions about invoices.\n",
        "instructions: Call the customer.\ndescription: A task\n",
        "template:\n  - name: a\n    src: b\n",
        "name: a\nvalue: b\n",
        "- name: a\n  text: b\n",
    ],
)
def test_other_texts_are_left_alone(text: str) -> None:
    assert near_prompt(text) is None


@pytest.mark.parametrize(
    "line", ["  \n", "\n", "  - x\n", "{% if a %}\n", "  a: b\n", "  - x\r\n", "\r\n", "  x\r"]
)
def test_a_long_text_takes_no_long_time(line: str) -> None:
    start = time.perf_counter()
    near_prompt("messages:\n  - a: b\n" + line * 5_000 + "0")
    assert time.perf_counter() - start < 20


def test_a_prompt_stays_one() -> None:
    text = "- name: a\n  role: user\n  content: Where is my invoice?\n"
    assert kind_of(Source.of(text), has_header=False) is Kind.PARTS
