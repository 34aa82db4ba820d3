# ruff: noqa: E501 - a text stands on one line with what is found in it
"""Mistakes in declarations where they are seldom looked for: other line ends, blocks, JSON, merged keys, branches."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.rules.checking.check import check
from promptls.workspace.workspace import Workspace
from support.cases import cases
from support.fixture import check_findings

EVALUATIONS = cases("unusual_evaluations")
OBJECTS = cases("unusual_objects")

OTHER_TEXTS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "json without infer_cfg": ('{"ice_template": {"template": "Q {question}"}, "retriever": {"type": "ZeroRetriever"}, "inferencer": {"type": "GenInferencer"}}\n', [("missing-ice-token", '"ice_template"')]),
    "json of another program": ('{"prompt_template": {"template": 5}, "retriever": {"type": "bm25"}, "llm": "x"}\n', []),
    "json of another program, with less": ('{"prompt_template": {"template": 5}}\n', []),
    "json": ('{"infer_cfg": {"prompt_template": {"template": "Q\\n{qestion}"}, "retriever": {"type": "ZeroRetriever"}, "inferencer": {"type": "GenInferencer"}}, "reader_cfg": {"input_columns": ["question"], "output_column": "answer"}}', [("unknown-field", "{qestion}")]),
    "json latex": ('{"infer_cfg": {"prompt_template": {"template": "Q\\n\\\\text{qestion} {question}"}, "retriever": {"type": "ZeroRetriever"}, "inferencer": {"type": "GenInferencer"}}, "reader_cfg": {"input_columns": ["question"], "output_column": "answer"}}', []),
    "crlf block": ("prompt_template:\r\n  template: |-\r\n    é😀 {question}\r\n    {qestion}\r\nreader_cfg: {input_columns: [question], output_column: answer}\r\nretriever: {type: ZeroRetriever}\r\ninferencer: {type: GenInferencer}\r\n", [("unknown-field", "{qestion}")]),
    "block tok": ("prompt_template:\n  ice_token: |-\n    </E>\n  template: |\n    Q\nice_template: {template: '{question} {answer}'}\nretriever: {type: FixKRetriever, fix_id_list: [0]}\ninferencer: {type: GenInferencer}\n", [("missing-ice-token", "|-\n    </E>")]),
    "crlf": ("ice_template:\r\n  template: |\r\n    Q\r\nretriever: {type: ZeroRetriever}\r\ninferencer: {type: GenInferencer}\r\n", [("missing-ice-token", "ice_template")]),
    "bom": ("\ufeffice_template: {template: Q}\nretriever: {type: ZeroRetriever}\ninferencer: {type: GenInferencer}\n", [("missing-ice-token", "ice_template")]),
    "ex crlf": ("instruction: Answer.\r\ninput_keys: [question]\r\noutput_key: answer\r\nexamples:\r\n- question: |\r\n    é😀\r\n  anwser: b\r\n", [("unknown-example-key", "anwser")]),
    "hdr ex crlf": ("{#---\r\ninput_keys: [a]\r\noutput_key: b\r\nexamples:\r\n- {a: 1, c: 3, b: 2}\r\n---#}\r\n- name: x\r\n  content: '{{ a }}'\r\n", [("unknown-example-key", "c")]),
    "out block": ('instruction: Answer.\ninput_keys: [question]\noutput_key: answer\noutput_type: json\nexamples:\n- question: a\n  answer: |\n    {"a": 1\n', [("invalid-example-output", '|\n    {"a": 1')]),
    "out fence": ('instruction: Answer.\ninput_keys: [question]\noutput_key: answer\noutput_type: json\nexamples:\n- question: a\n  answer: |\n    ```json\n    {"a": 1}\n    ```\n', [("invalid-example-output", '|\n    ```json\n    {"a": 1}\n    ```')]),
    "json fixk": ('{"infer_cfg":{"prompt_template":{"template":"Q"},"retriever":{"type":"FixKRetriever","fix_id_list":[0]},"inferencer":{"type":"GenInferencer"}}}', [("retriever-mismatch", "FixKRetriever")]),
    "meta json": ('{"infer_cfg":{"prompt_template":{"template":"Q"},"retriever":{"type":"ZeroRetriever"},"inferencer":{"type":"GenInferencer"}},"meta_template":{"round":[{"role":"HUMAN"},{"begin":"x"}]}}', [("invalid-meta-template", '"begin"')]),
    "instr json": ('{"instruction": "", "input_keys": ["a"], "output_key": "b", "examples": []}', [("empty-instruction", '""')]),
    "brace json": ('{"instruction": "Q:\\n{qestion} {question}", "input_keys": ["question"], "output_key": "answer", "examples": []}', [("unescaped-brace", "{qestion}")]),
    "brace crlf": ("instruction: |\r\n  é😀\r\n  {qestion}\r\ninput_keys: [question]\r\noutput_key: answer\r\n", [("unescaped-brace", "{qestion}")]),
    "null ex json": ('{"instruction": "a", "input_keys": ["q"], "output_key": "b", "examples": null}', [("null-examples", "null")]),
    "dup json": ('{"instruction": "a", "input_keys": ["q"], "output_key": "b", "examples": [], "output_key": "c"}', [("duplicate-key", '"output_key"')]),
    "hdr list": ("{#---\n- a\n- b\n---#}\n- name: x\n  content: '{{ a }}'\n", [("invalid-header", "- a\n- b")]),
    "hdr tab": ("{#---\ninput_keys:\n\ta: {}\n---#}\n- name: x\n  content: '{{ a }}'\n", [("invalid-header", "\ta: {}")]),
    "hdr crlf typo": ("{#---\r\ninput_keys: [a]\r\ntokn_limit: 5\r\n---#}\r\n- name: x\r\n  content: '{{ a }}'\r\n", [("invalid-header", "tokn_limit")]),
    "json saved no out": ('{"original_hash": 1, "language": "english", "instruction": "x", "examples": [{"input": {"a": 1}}]}', [("invalid-saved-prompt", '"input"')]),
    "json saved ok": ('{"original_hash": 1, "language": "english", "instruction": "{x", "examples": [{"input": {"a": "{"}, "output": {"b": 2}}]}', []),
    "json saved ex list": ('{"original_hash": 1, "language": "english", "instruction": "x", "examples": {"input": 1}}', [("invalid-header", '"examples"')]),
    "json simple brace": ('{"format_version": "1.0", "type": "Prompt", "instruction": "a\\n{b} {\\"c\\"}", "examples": []}', [("invalid-saved-prompt", '"a\\n{b} {\\"c\\"}"')]),
    "json metric num": ('{"metric_type": "NumericMetric", "name": "a", "prompt": {"type": "Prompt", "instruction": "a", "examples": []}, "config": {"allowed_values": ["a"]}}', [("invalid-saved-prompt", '["a"]')]),
    "json metric disc ok": ('{"metric_type": "DiscreteMetric", "name": "a", "prompt": {"type": "Prompt", "instruction": "a", "examples": []}, "config": {"allowed_values": ["a"]}}', []),
    "json metric type": ('{"metric_type": "DiscretMetric", "name": "a", "prompt": {"type": "Prompt", "instruction": "a", "examples": []}, "config": {"allowed_values": ["a"]}}', [("invalid-saved-prompt", '"DiscretMetric"')]),
    "json fmt version": ('{"format_version": "2.0", "type": "Prompt", "instruction": "a", "examples": []}', []),
    "json wrong type": ('{"format_version": "1.0", "type": "Promt", "instruction": "a", "examples": []}', [("invalid-saved-prompt", '"Promt"')]),
    "json type in small letters": ('{"type": "prompt", "instruction": "a {b}", "examples": []}', [("invalid-saved-prompt", '"prompt"')]),
    "json few shot type": ('{"format_version": "1.0", "type": "DynamicFewshotPrompt", "instruction": "a {b}", "examples": []}', [("invalid-saved-prompt", '"DynamicFewshotPrompt"')]),
    "json no type": ('{"format_version": "1.0", "instruction": "a {b}", "examples": [], "response_model_info": null}', [("invalid-saved-prompt", '"format_version"')]),
    "json type in a list": ('{"format_version": "1.0", "type": ["Prompt"], "instruction": "a", "examples": [], "response_model_info": null}', [("invalid-saved-prompt", '["Prompt"]')]),
    "json type without a version": ('{"type": "Prompt", "instruction": "a {b}", "examples": []}', []),
    "json of an agent with examples": ('{"name": "a", "instruction": "x", "examples": [{"q": 1}], "model": "y"}', []),
    "json of one row": ('{"instruction": "x", "input": "y", "output": "z"}', []),
    "json of an agent": ('{"format_version": "1.0", "type": "agent", "instruction": "a {b}"}', []),
    "json object with a type": ('{"type": "Promt", "instruction": "a", "examples": [], "input_keys": ["a"], "output_key": "b"}', []),
    "json ex out": ('{"instruction": "a", "input_keys": ["q"], "output_key": "b", "output_type": "json", "examples": [{"q": "😀", "b": "{\\"x\\": }"}]}', [("invalid-example-output", '"{\\"x\\": }"')]),
    "json ex miss": ('{"instruction": "a", "input_keys": ["q", "r"], "output_key": "b", "examples": [{"q": 1, "b": 2}]}', [("missing-example-key", '"q"')]),
    "json ex unknown": ('{"instruction": "a", "input_keys": ["q"], "output_key": "b", "examples": [{"q": 1, "b": 2, "c": 3}]}', [("unknown-example-key", '"c"')]),
    "json dup ex": ('{"instruction": "a", "input_keys": ["q"], "output_key": "b", "examples": [{"q": [1, {"x": 2}], "b": 2}, {"q": [1, {"x": 2}], "b": 3}]}', [("duplicate-example", '"q"')]),
    "json typo": ('{"instruction": "a", "inputkeys": ["q"], "output_key": "b", "examples": []}', [("misspelt-object-key", '"inputkeys"')]),
    "json otype": ('{"instruction": "a", "input_keys": ["q"], "output_key": "b", "output_type": "JSN", "output_format_instruction": "x"}', [("invalid-output-type", '"JSN"')]),
    "json out in": ('{"instruction": "a", "input_keys": ["q", "b"], "output_key": "b", "examples": []}', [("output-key-in-inputs", '"b"')]),
}  # fmt: skip
"""Texts that cannot stand in a file of cases, with the rules and the words that they find."""


@pytest.mark.parametrize("fixture", EVALUATIONS.values(), ids=EVALUATIONS)
def test_an_evaluation_prompt_is_judged_however_it_is_written(fixture: str) -> None:
    check_findings(fixture)


@pytest.mark.parametrize("fixture", OBJECTS.values(), ids=OBJECTS)
def test_a_declaration_is_judged_however_it_is_written(fixture: str) -> None:
    check_findings(fixture)


@pytest.mark.parametrize(("text", "expected"), OTHER_TEXTS.values(), ids=OTHER_TEXTS)
def test_a_text_with_other_lines_or_in_json_is_judged_as_one_in_yaml(
    text: str, expected: list[tuple[str, str]]
) -> None:
    path = "/project/saved.json" if text.startswith('{"') else "/project/main.yml.j2"
    workspace = Workspace([Path("/project")])
    workspace.open(path, text, 1)
    found = [each for each in check(workspace.snapshot, path) if each.severity != "hint"]
    assert [(each.rule, text[each.span.start : each.span.end]) for each in found] == expected


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ('{"type": "Promt", "instruction": "a", "examples": []}', '"type": "Prompt"'),
        ('{"instruction": "a", "inputkeys": ["q"], "output_key": "b"}', '"input_keys": ["q"]'),
    ],
)
def test_a_fix_in_json_is_json(text: str, mended: str) -> None:
    path = "/project/saved.json"
    workspace = Workspace([Path("/project")])
    workspace.open(path, text, 1)
    (finding,) = check(workspace.snapshot, path)
    ((edit,),) = [fix.edits for fix in finding.fixes]

    after = text[: edit.span.start] + edit.text + text[edit.span.end :]

    assert mended in after
    workspace.open(path, after, 2)
    assert check(workspace.snapshot, path) == ()
