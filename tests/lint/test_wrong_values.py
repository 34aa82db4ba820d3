"""Values of the wrong type in every key: each has at most one finding, and no rule fails."""

from __future__ import annotations

import pytest

from promptls.dialects.opencompass.vocabulary import (
    EVALUATION_KEYS,
    INFER_KEYS,
    INFERENCER_KEYS,
    META_KEYS,
    READER_KEYS,
    RETRIEVER_KEYS,
    TEMPLATE_KEYS,
)
from promptls.dialects.prompt_poet.vocabulary import PART_KEYS
from promptls.dialects.ragas.prompt_object import PROMPT_KEYS
from promptls.settings.header import Header
from support.fixture import MAIN, found_in, opened

VALUES = (
    *("[[a], {b: c}]", "{a: [b], [c, d]: e}", "3", "true", "null", "x", "2024-01-01", "&a [*a]", '""'),
    # Keys of several kinds in one mapping, and what holds itself.
    "[{~: a, b: c, 1: d}, {~: a, b: c, 1: d}, {2024-01-01: {2024-01-01: e, ~: 1, [x]: 1, z: 2}}]",
    "[{text: &a [*a]}, {text: &b {c: *b}}, {text: &b {c: *b}}]",
    # Names that no file can have.
    *(r'"\uD800/a.csv"', r'"\0/a.csv"', r'{a: {dataset: "\uD800/a.csv", metrics: ["\0.py:b"]}}'),
)
HEADER = "input_keys: [text]\noutput_key: answer\nexamples: [{text: a, answer: b, token_limit: 1}]\n"
PARTS = "- name: a\n  role: user\n  content: '{{ text }}'\n"
OBJECT = "name: a\ninstruction: Answer.\n" + HEADER
READER = "reader_cfg: {input_columns: [q], output_column: a}\n"
PROMPT = READER + "prompt_template: 'Q {q}'\n"

# Where the key with its value goes, the keys that stand beside it, and which keys are tried.
PLACES = {
    "header": ("{#---\nTRIED---#}\n" + PARTS, HEADER, Header.model_fields),
    "prompt object": ("TRIED", OBJECT, {**Header.model_fields, **PROMPT_KEYS}),
    "evaluation prompt": ("TRIED", PROMPT, EVALUATION_KEYS),
    "part": ("- name: a\n  role: user\n  content: b\n  TRIED", "", PART_KEYS),
    "infer_cfg": (READER + "infer_cfg:\n  TRIED", "", INFER_KEYS),
    "retriever": (PROMPT + "retriever:\n  TRIED", "", RETRIEVER_KEYS),
    "inferencer": (PROMPT + "inferencer:\n  TRIED", "", INFERENCER_KEYS),
    "reader_cfg": ("prompt_template: 'Q {q}'\nreader_cfg:\n  TRIED", "", READER_KEYS),
    "prompt_template": (READER + "prompt_template:\n  TRIED", "", TEMPLATE_KEYS),
    "meta_template": (PROMPT + "meta_template:\n  TRIED", "", META_KEYS),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("place", PLACES)
def test_no_rule_fails_on_a_value_of_a_wrong_kind(place: str, value: str) -> None:
    around, beside, keys = PLACES[place]
    for key in keys:
        lines = [line for line in beside.splitlines(keepends=True) if not line.startswith(f"{key}:")]
        text = around.replace("TRIED", "".join([*lines, f"{key}: {value}\n"]))
        snapshot, files = opened(f"-- {MAIN} --\n{text}")
        found = found_in(snapshot, f"/project/{MAIN}", with_rendering=False)
        assert all(0 <= each.span.start <= each.span.end <= len(files[MAIN].text) for each in found)


@pytest.mark.parametrize("name", ["\ud800/a.yml.j2", "\0/a.yml.j2", "a" * 5000, "/".join("a" * 2000)])
def test_no_rule_fails_on_a_name_that_no_file_can_have(name: str) -> None:
    text = f"{{% import '{name}' as m %}}\n{{% include ['{name}', 'b'] %}}\n- name: a\n  content: b\n"
    snapshot, _ = opened(f"-- {MAIN} --\n{text}")
    found = {each.rule for each in found_in(snapshot, f"/project/{MAIN}", with_rendering=False)}
    assert {"unresolved-import", "unresolved-include"} <= found
