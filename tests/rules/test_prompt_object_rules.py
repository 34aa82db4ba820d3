from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from promptls.features.formatting import file_edits
from promptls.rules.checking.check import check
from promptls.rules.rule import Finding
from promptls.text.span import Span
from promptls.workspace.workspace import Workspace
from support.fixture import check_findings, check_fix

MAIN = "/project/main.yml.j2"
DO = "instruction: Answer.\n"
KEYS = "input_keys: [question]\noutput_key: answer\n"
EXAMPLES = "examples:\n  - {question: Why?, answer: null}\n"

FOUND = {
    "a misspelt key": (
        "instruction: Ask.\ninput_kyes: [a]\n^^^^^^^^^^ misspelt-object-key\noutput_key: b\nexamlpes: []\n"
        "^^^^^^^^ misspelt-object-key: Ragas ignores `examlpes`; did you mean `examples`?\nversion: 3\n"
    ),
    "keys that stand twice": (
        "instruction: Ask.\ninstruction: Ask again.\n^^^^^^^^^^^ duplicate-key\ninput_keys: [a]\n"
        "output_key: b\nexamples:\n- {a: 1, a: 2, b: 3}\n         ^ duplicate-key\n"
    ),
    "an instruction that is null": "instruction: null\n             ^^^^ empty-instruction\n" + KEYS,
    "an instruction that is a list": "instruction: [Ask.]\n             ^^^^^^ missing-instruction: the "
    "instruction is a list: Ragas takes a text\n" + KEYS,
    "a field behind a sign that begins a comment": "instruction: Answer #{question} now\n"
    "                    ^^^^^^^^^^^^^^^ swallowed-text\n" + KEYS,
    "input keys that are null": DO + "input_keys:\n^^^^^^^^^^ missing-input-keys\noutput_key: a\n",
    "no input keys for a release that has a default for them": "ragas_version: 0.1.21\n"
    "^^^^^^^^^^^^^ missing-input-keys: "
    "Ragas 0.1.21 loads this prompt object without `input_keys`, and cannot fill it in\n"
    + DO
    + "output_key: a\n",
    "no input keys and an example, for such a release": "ragas_version: 0.1.21\n"
    "^^^^^^^^^^^^^ missing-input-keys: "
    "this prompt object has no `input_keys`\n" + DO + "output_key: a\nexamples: [{a: '1'}]\n",
    "no input": DO + "input_keys: []\n            ^^ missing-input-keys\noutput_key: a\n",
    "an output key that is empty": DO
    + "input_keys: [a]\noutput_key: ''\n            ^^ missing-output-key\n",
    "an output key that is null": DO + "input_keys: [a]\noutput_key: ~\n            ^ missing-output-key\n",
    "examples that are null": DO + KEYS + "examples: null\n          ^^^^ null-examples\n",
    "a misspelt field": "instruction: Answer {qestion}.\n"
    "                    ^^^^^^^^^ unescaped-brace: `qestion` is no input; did you mean `question`?\n" + KEYS,
    "a brace that is never closed": "instruction: 'Answer {'\n                     ^ unescaped-brace\n"
    + KEYS,
    "braces in braces": 'instruction: |\n  {"a": {"b": 1}}\n  ^^^^^^^^^^^^^^^ unescaped-brace\n' + KEYS,
    "braces in an example of text": DO
    + KEYS
    + "output_type: str\nexamples:\n  - {question: 'a {b}', answer: c}\n"
    + "                  ^^^ unescaped-brace\n",
    "a missing key that is input and output": DO
    + "input_keys: [answer, question]\noutput_key: answer\n"
    + "            ^^^^^^ output-key-in-inputs\n"
    + "examples:\n  - question: Why?\n    ^^^^^^^^ missing-example-key\n",
    "an output type that an early release takes for text": DO
    + KEYS
    + "output_type: jsno\n             ^^^^ invalid-output-type: Ragas 0.1.0 takes `jsno` for plain text, "
    "and releases from 0.1.6 on refuse it\n",
    "an output type of another case for a later release": "ragas_version: 0.1.21\n"
    + DO
    + KEYS
    + "output_type: JSON\n             ^^^^ invalid-output-type: Ragas knows the output types `json` and "
    "`str`; did you mean `json`?\n",
    "a saved example without its output": "original_hash: 1\nlanguage: english\n"
    + DO
    + "examples: [{input: {a: 1}}]\n"
    + "            ^^^^^ invalid-saved-prompt: example 1 has no `output`\n",
    "a saved example with a slip in its output": "original_hash: 1\nlanguage: english\n"
    + DO
    + "examples: [{input: {a: 1}, outptu: {b: 1}}]\n"
    + "                           ^^^^^^ invalid-saved-prompt: example 1 has no `output`; "
    "did you mean `output`?\n",
    "a saved hash that is none": "original_hash: 2305843009213693951\n"
    "               ^^^^^^^^^^^^^^^^^^^ invalid-saved-prompt\n" + DO + "examples: []\n",
    "a simple prompt with JSON in braces": "format_version: '1.0'\ntype: Prompt\nexamples: []\n"
    "instruction: 'Grade {a} as {\"b\": 1}'\n"
    "             ^^^^^^^^^^^^^^^^^^^^^^^ invalid-saved-prompt: these braces fail when the prompt is used: "
    '`{"b"}` is no field with a name; text is written as `{{` and `}}`\n',
    "allowed values of another metric": "metric_type: NumericMetric\nname: a\n"
    "prompt: {type: Prompt, instruction: a, examples: []}\nconfig: {allowed_values: [pass, fail]}\n"
    "                         ^^^^^^^^^^^^ invalid-saved-prompt\n",
    "an output type that is null": DO
    + "input_keys: [b]\noutput_key: c\n"
    + "output_type:\n^^^^^^^^^^^ invalid-output-type: `output_type` is null, which Ragas refuses: write "
    "`json` or `str`\n",
    "a key that is the prompt itself": DO
    + "input_keys: [self]\n             ^^^^ invalid-input-name\noutput_key: c\n",
    "a key with an attribute": DO + "input_keys: [a.b]\n             ^^^ invalid-input-name\noutput_key: c\n",
}

SILENT = {
    "fields of inputs": "instruction: 'Answer {question} and {question!r}.'\n" + KEYS,
    "braces that are written twice": "instruction: '{% raw %}{{a}} }}{% endraw %}'\n" + KEYS,
    "braces of Jinja": "instruction: 'Answer {{ question }}{% if x %}!{% endif %}'\n" + KEYS,
    "braces in examples of JSON": DO + KEYS + "examples:\n  - {question: 'a {b}', answer: {c: 1}}\n",
    "a file of a later release": "ragas_version: 0.4.3\noriginal_hash: 1\nlanguage: english\n"
    + DO
    + "examples:\n  - {input: {a: 1}, output: {b: 2}}\n",
}

FIXES = {
    "an instruction": (
        KEYS,
        "instruction: Say in plain language what the model is to do.\n" + KEYS,
        "Add `instruction: Say in plain language what the model is to do.`",
    ),
    "input keys": (
        DO + "output_key: answer\n" + EXAMPLES,
        DO + "output_key: answer\ninput_keys: [question]\n" + EXAMPLES,
        "Add `input_keys: [question]`",
    ),
    "input keys that were null": (
        DO + "input_keys: null\noutput_key: answer\n" + EXAMPLES,
        DO + "input_keys: [question]\noutput_key: answer\n" + EXAMPLES,
        "Add `input_keys: [question]`",
    ),
    "an output key": (
        DO + "input_keys: [question]\n" + EXAMPLES,
        DO + "input_keys: [question]\noutput_key: answer\n" + EXAMPLES,
        "Add `output_key: answer`",
    ),
    "an output key that was empty": (
        DO + 'input_keys: [question]\noutput_key: ""\n' + EXAMPLES,
        DO + "input_keys: [question]\noutput_key: answer\n" + EXAMPLES,
        "Change to `answer`",
    ),
    "examples": (DO + KEYS + "examples:\n", DO + KEYS + "examples: []\n", "Write an empty list"),
    "an input that is the output": (
        DO + "input_keys: [question, answer]\noutput_key: answer\n",
        DO + KEYS,
        "Remove `answer` from `input_keys`",
    ),
    "an input of a list that is the output": (
        DO + "input_keys:\n  - answer\n  - question\noutput_key: answer\n",
        DO + "input_keys:\n  - question\noutput_key: answer\n",
        "Remove `answer` from `input_keys`",
    ),
    "an input with a schema that is the output": (
        DO + "input_keys:\n  question: {type: string}\n  answer:\n    type: string\noutput_key: answer\n",
        DO + "input_keys:\n  question: {type: string}\noutput_key: answer\n",
        "Remove `answer` from `input_keys`",
    ),
    "a key of an example": (
        DO + KEYS + "examples:\n  - question: Why?\n",
        DO + KEYS + "examples:\n  - answer: null\n    question: Why?\n",
        "Add `answer`, to be filled in",
    ),
    "a key of an example in a header": (
        "{#---\ninput_keys: [a]\noutput_key: b\nexamples: [{a: 1}]\n---#}\n- name: c\n  content: '{{ a }}'\n",
        (
            "{#---\ninput_keys: [a]\noutput_key: b\nexamples: [{b: null, a: 1}]\n---#}\n"
            "- name: c\n  content: '{{ a }}'\n"
        ),
        "Add `b`, to be filled in",
    ),
    "an output type": (
        DO + KEYS + "output_type: string\n",
        DO + KEYS + "output_type: str\n",
        "Change to `str`",
    ),
    "braces": (
        "instruction: 'Answer as {\"a\": 1}.'\n" + KEYS,
        "instruction: 'Answer as {% raw %}{{\"a\": 1}}{% endraw %}.'\n" + KEYS,
        "Write the braces twice",
    ),
    "a field": (
        "instruction: Answer {qestion}.\n" + KEYS,
        "instruction: Answer {question}.\n" + KEYS,
        "Change to `question`",
    ),
}


@pytest.mark.parametrize("fixture", FOUND.values(), ids=FOUND)
def test_a_mistake_in_a_prompt_object_is_found(fixture: str) -> None:
    check_findings(fixture)


@pytest.mark.parametrize("fixture", SILENT.values(), ids=SILENT)
def test_a_right_prompt_object_has_no_finding(fixture: str) -> None:
    check_findings(fixture)


@pytest.mark.parametrize(("before", "after", "title"), FIXES.values(), ids=FIXES)
def test_a_fix_makes_a_prompt_object_right(before: str, after: str, title: str) -> None:
    check_fix(before, after, title)


@pytest.mark.parametrize(
    "saved",
    [
        {"format_version": "1.0", "type": "Prompt", "instruction": "{a} {{b}}", "examples": []},
        {
            "metric_type": "RankingMetric",
            "name": "rank",
            "prompt": {"type": "string", "instruction": "Rank {results}"},
            "config": {"allowed_values": 3},
        },
        {"original_hash": 5, "instruction": "A {% if } {{", "examples": [], "language": "x"},
        {"instruction": "No file of Ragas", "input": "{{", "output": "x"},
        [{"name": "a", "content": "{{"}],
    ],
)
def test_json_that_is_right_or_no_prompt_is_left_alone(saved: Any) -> None:
    workspace = Workspace([Path("/project")])
    workspace.open("/project/saved.json", json.dumps(saved), 1)
    assert check(workspace.snapshot, "/project/saved.json") == ()


def test_json_is_checked_and_neither_mended_nor_laid_out_as_yaml() -> None:
    path = "/project/saved.json"
    workspace = Workspace([Path("/project")])
    workspace.open(path, '{"instruction":   "a", "output_key": "b", "examples": []}', 1)
    workspace.edit(path, 2, [(Span(18, 19), '"{% '), (Span(22, 23), "")])
    (finding,) = check(workspace.snapshot, path)
    assert (finding.rule, finding.fixes) == ("missing-input-keys", ())
    assert file_edits(workspace.snapshot, path) == ()


# -- the real library ---------------------------------------------------------------------

OTHER_RELEASES = {"10-no-name-0.1.0"}
"""A name may be missing in a file, as in later releases."""


def _folder() -> Path | None:
    for parent in Path(__file__).resolve().parents:
        folder = parent / "shared"
        if (folder / "oracle" / "ragas").is_dir():
            return folder
    return None


SHARED = _folder()
HERE = pytest.mark.skipif(SHARED is None, reason="the recorded results are not here")


def _paths(below: str, pattern: str) -> list[Any]:
    if SHARED is None:
        return [pytest.param(None, marks=HERE)]
    return [pytest.param(path, id=path.stem) for path in sorted((SHARED / below).glob(pattern))]


def found_in(mapping: dict[str, Any]) -> tuple[Finding, ...]:
    text = yaml.safe_dump(mapping, sort_keys=False, allow_unicode=True)
    if "{{" in text or "{%" in text or "{#" in text:
        text = f"{{% raw %}}\n{text}{{% endraw %}}\n"
    workspace = Workspace([Path("/project")])
    workspace.open(MAIN, text, 1)
    return check(workspace.snapshot, MAIN)


@pytest.mark.oracle
@pytest.mark.parametrize("path", _paths("oracle/ragas", "*.prompt.json"))
def test_an_error_is_found_where_ragas_refuses_a_prompt(path: Path) -> None:
    name = path.name.removesuffix(".prompt.json")
    if name in OTHER_RELEASES:
        pytest.skip("other releases of Ragas see it in another way")
    expected = json.loads(path.with_name(f"{name}.expected.json").read_text())
    data = json.loads(path.with_name(f"{name}.data.json").read_text())
    mapping = json.loads(path.read_text())

    findings = found_in({**mapping, "ragas_version": expected["system"].split()[1]})

    assert any(finding.severity == "error" for finding in findings) == (not expected["ok"])
    if expected["ok"] and set(data.get("format", {})) == set(mapping["input_keys"]):
        cannot_be_filled = "error" in expected.get("format", {})
        assert any(finding.severity == "warning" for finding in findings) == (
            cannot_be_filled or mapping["output_key"] in mapping["input_keys"]
        )


@pytest.mark.oracle
@pytest.mark.parametrize("path", _paths("corpus/ragas", "prompts_0.*/*.json"))
def test_the_prompts_that_ragas_itself_ships_have_no_finding(path: Path) -> None:
    assert [finding for finding in found_in(json.loads(path.read_text())) if finding.severity != "hint"] == []
