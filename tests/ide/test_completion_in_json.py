from __future__ import annotations

import json

import pytest

from promptls.ide.completion.documentation import documentation
from support.completing import completions, labels

OBJECT = """\
-- saved.json --
{
  "name": "judge",
  "instruction": "Is it so?",
  %s
  "input_keys": ["question", "context"],
  "output_key": "verdict",
  "examples": [
    {"question": "a", "context": "b", "verdict": {"score": 1, "reason": "so"}}%s
  ]
}
"""
SIMPLE = """\
-- saved.json --
{"format_version": "1.0", "type": "%s", "instruction": "Is {a} so?",
 "examples": [{"input": {"a": 1}, "output": {"label": 2}}, %s]%s}
"""
EVALUATION = """\
-- saved.json --
{
  "infer_cfg": {
    "ice_template": {"type": "PromptTemplate", "template": "Q: {question}"%s},
    "retriever": {"type": "%s"},
    "inferencer": {"type": "GenInferencer"%s}
  }%s
}
"""
OFFERED = [
    (OBJECT % ('"<CURSOR>",', ""), ["output_type", "language"], ["name", "type"]),
    (OBJECT % ('"<CURSOR>', ""), ["output_type"], ["input_keys"]),
    (OBJECT % ("out<CURSOR>", ""), ["output_type", "output_format_instruction"], []),
    (OBJECT % ('"output_type": "<CURSOR>",', ""), ["json", "str"], []),
    (OBJECT % ('"output_type": <CURSOR>', ""), ["json", "str"], []),
    (OBJECT % ("", ', {"question": "x", "<CURSOR>"}'), ["context", "verdict"], ["question", "score"]),
    (OBJECT % ("", ', {"verdict": {"<CURSOR>": 1, "reason": ""}}'), ["score"], ["reason", "question"]),
    (OBJECT % ('"output_type": "json",', ', {"<CURSOR>}'), ["question"], []),
    (SIMPLE % ("Prompt", "", ', "<CURSOR>"'), ["response_model_info"], ["type", "input_keys", "examples"]),
    (SIMPLE % ("Prompt", '{"<CURSOR>"}', ""), ["input", "output"], ["a"]),
    (SIMPLE % ("Prompt", '{"input": {"<CURSOR>"}}', ""), ["a"], ["label"]),
    (SIMPLE % ("Prompt", '{"output": {"<CURSOR>"}}', ""), ["label"], ["a"]),
    (SIMPLE % ("<CURSOR>Prompt", "", ""), ["Prompt", "DynamicFewShotPrompt"], []),
    (EVALUATION % ("", "ZeroRetriever", "", ', "<CURSOR>"'), ["reader_cfg"], ["infer_cfg", "ice_token"]),
    (
        EVALUATION % (', "<CURSOR>"', "ZeroRetriever", "", ""),
        ["ice_token"],
        ["template", "type", "infer_cfg"],
    ),
    (EVALUATION % ("", "<CURSOR>", "", ""), ["ZeroRetriever", "FixKRetriever"], ["GenInferencer"]),
    (EVALUATION % ("", "ZeroRetriever", ', "<CURSOR>"', ""), ["max_out_len"], ["type", "ice_token"]),
]


@pytest.mark.parametrize(("fixture", "expected", "unexpected"), OFFERED, ids=range(len(OFFERED)))
def test_keys_and_values_of_a_saved_prompt_are_offered(
    fixture: str, expected: list[str], unexpected: list[str]
) -> None:
    found = labels(fixture)

    assert set(expected) <= set(found), found
    assert not set(unexpected) & set(found)


@pytest.mark.parametrize(
    "fixture",
    [
        OBJECT % ('"language": "<CURSOR>",', ""),
        OBJECT % ('"language": "a"<CURSOR>,', ""),
        '-- a.json --\n{"name": "x", "<CURSOR>"}\n',
        '-- package.json --\n{"instruction": 1, "scripts": {"<CURSOR>"}}\n',
        '-- list.json --\n["instruction", "<CURSOR>"]\n',
    ],
)
def test_nothing_is_offered_where_nothing_is_known(fixture: str) -> None:
    assert labels(fixture) == []


@pytest.mark.parametrize(
    ("typed", "label", "text", "snippet"),
    [
        ('"<CURSOR>",', "language", '"language": ', '"language": "$0"'),
        ('"<CURSOR>"', "output_type", '"output_type": ', '"output_type": "$0",'),
        ('"lan<CURSOR>": "english",', "language", '"language"', ""),
        ('"output_type": <CURSOR>,', "str", '"str"', ""),
    ],
)
def test_what_is_chosen_takes_the_place_of_the_word_with_its_quotes(
    typed: str, label: str, text: str, snippet: str
) -> None:
    found, whole, snapshot, path = completions(OBJECT % (typed, ""))
    assert found is not None
    item = next(item for item in found.items if item.label == label)

    assert (item.text, item.snippet) == (text, snippet)
    after = whole[: found.replace.start] + (item.snippet or item.text) + whole[found.replace.end :]
    if label != "str":
        said = documentation(snapshot, path, label, found.source, found.path, found.insert.end)
        assert "english" in said or "JSON" in said
    assert isinstance(json.loads(after.replace("$0", "")), dict)


def test_a_text_that_is_too_long_is_not_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    fixture = OBJECT % ('"<CURSOR>",', "")
    assert labels(fixture)
    monkeypatch.setattr("promptls.syntax.source.MAX_CHARACTERS", 100)
    found, _, _, _ = completions(fixture)
    assert found is None
