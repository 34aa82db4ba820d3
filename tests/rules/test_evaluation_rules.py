# ruff: noqa: E501 - a mark stands with its message on one line
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from promptls.rules.checking.check import check
from promptls.rules.rule import Finding
from promptls.workspace.workspace import Workspace
from support.fixture import check_findings, check_fix

MAIN = "/project/main.yml.j2"
GEN = "inferencer: {type: GenInferencer}\n"
PPL = "inferencer: {type: PPLInferencer}\n"
ZERO = "retriever: {type: ZeroRetriever}\n" + GEN
FIXED = "retriever: {type: FixKRetriever, fix_id_list: [0]}\n" + GEN
READER = "reader_cfg: {input_columns: [question], output_column: answer}\n"
ICE = 'ice_template: {template: "{question} {answer}"}\n'
META = (
    "meta_template:\n  round:\n    - {role: HUMAN, begin: 'Q: '}\n"
    "    - {role: BOT, begin: 'A: ', generate: true}\n"
)
API = (
    "meta_template:\n  round:\n    - {role: HUMAN, api_role: HUMAN}\n"
    "    - {role: BOT, api_role: BOT, generate: true}\n  reserved_roles:\n    - {role: SYSTEM, api_role: SYSTEM}\n"
)

FOUND = {
    "a retriever without its class": "prompt_template: {template: Q}\nretriever: {fix_id_list: [0]}\n"
    "^^^^^^^^^ retriever-mismatch: a retriever needs a `type`, which names its class\n" + GEN,
    "an argument of a retriever that is being typed": "ice_template:\n  template: 'Q: {question}'\nprompt_template:\n  template: '</E>Q: {question}'\n  ice_token: '</E>'\nretriever: {type: FixKRetriever, fix_id\n           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ yaml-syntax\n",
    "another name for `template` is one mistake": "prompt_template:\n  type: PromptTemplate\n  prompt: Q\n"
    "  ^^^^^^ unknown-evaluation-key: `PromptTemplate` takes no `prompt`; did you mean `template`?\n" + ZERO,
    "a slip of `round` is one mistake": "prompt_template:\n  template:\n    begin: x\n    rounds: [{role: HUMAN, prompt: Q}]\n"
    "    ^^^^^^ invalid-ppl-template: this key makes the dialogue a mapping from labels; did you mean `round`?\n" + ZERO,
    "one label to choose from": "prompt_template:\n  template:\n  ^^^^^^^^ invalid-ppl-template: `PPLInferencer` has one label to choose from, `A`: every row gets it\n"
    "    A: Q\n" + ZERO.replace(GEN, PPL),
    "a slip of `round` in a meta template": "prompt_template: {template: Q}\nmeta_template:\n  rounds: []\n"
    "  ^^^^^^ invalid-meta-template: a meta template needs a `round`; did you mean `round`?\n" + ZERO,
    "a list that begins a meta template": "prompt_template: {template: Q}\n" + META + "  begin: [a, b]\n"
    "  ^^^^^ invalid-meta-template: OpenCompass takes no list for `begin`: write one text\n" + ZERO,
    "a mark for examples that is no text is one mistake": "ice_template:\n  template: '</E>Q: {question}'\n  ice_token: 5\n             ^ invalid-evaluation-template\n" + FIXED,
    "both templates and no token in the prompt": ICE
    + 'prompt_template: {template: "Q"}\n'
    + "^^^^^^^^^^^^^^^ missing-ice-token\n"
    + FIXED,
    "a token that is not in the text": "prompt_template:\n  template: Q\n  ice_token: </E>\n"
    "             ^^^^ missing-ice-token: `</E>`, the `ice_token`, does not stand in this text\n" + ICE + FIXED,
    "a token that is not in one label's text": "prompt_template:\n  ice_token: </E>\n  template:\n"
    "    A: </E>x\n    B: y\n    ^ missing-ice-token\n" + ICE + FIXED.replace(GEN, PPL),
    "a dialogue that loses its examples": "prompt_template:\n  ice_token: </E>\n"
    "             ^^^^ missing-ice-token: `</E>`, the `ice_token`, stands in no turn: the examples are lost without a word\n"
    "  template:\n    round:\n      - {role: HUMAN, prompt: Q}\n" + ICE + FIXED,
    "a mark without a token": "prompt_template:\n  template: '</E>Q'\n"
    "             ^^^^ missing-ice-token: `</E>` reaches the model as it stands: `prompt_template` has no `ice_token`\n" + ZERO,
    "an ice token beside a prompt template": "prompt_template: {template: </E>Q, ice_token: </E>}\n"
    "ice_template: {template: </E>Q, ice_token: </E>}\n"
    "                                ^^^^^^^^^ unused-ice-token\n" + FIXED,
    "a field that no column has": "prompt_template:\n  template: Q {anything}\n"
    "              ^^^^^^^^^^ unknown-field: the reader names no column `anything`: it is filled in only if the data set has it\n" + READER + ZERO,
    "a column in Jinja's braces": "prompt_template:\n  template: |\n    Q {{ question }}\n"
    "      ^^^^^^^^^^^^^^ unknown-field: Jinja prints `question` before OpenCompass fills the column in; a field is `{question}`\n" + READER + ZERO,
    "a field in a dialogue": "prompt_template:\n  template:\n    round:\n      - role: HUMAN\n"
    "        prompt: >\n          {questoin}\n"
    "          ^^^^^^^^^^ unknown-field: the reader has no column `questoin`; did you mean `question`?\n" + READER + ZERO,
    "an answer in a label's prompt": "prompt_template:\n  template:\n    A: '{question} A {answer}'\n"
    "                     ^^^^^^^^ output-column-leak\n    B: '{question} B'\n" + READER + ZERO.replace(GEN, PPL),
    "a role in lower case": "prompt_template:\n  template:\n    round:\n      - {role: human, prompt: Q}\n"
    "               ^^^^^ unknown-dialogue-role: `human` is no role that dialogues use; did you mean `HUMAN`?\n" + ZERO,
    "a message's role in OpenCompass's words": "prompt_template:\n  type: RawPromptTemplate\n  messages:\n"
    "    - {role: HUMAN, content: Q}\n"
    "             ^^^^^ unknown-dialogue-role: a message's role is one of `system`, `user`, `assistant`; did you mean `user`?\n" + ZERO,
    "a role without fallback ahead of a dialogue": "prompt_template:\n  template:\n    begin:\n"
    "      - {role: SYSTEM, prompt: S}\n               ^^^^^^ unknown-dialogue-role\n"
    "    round:\n      - {role: HUMAN, prompt: Q}\n" + ZERO + META,
    "a fallback that models without an API do not take": "prompt_template:\n  template:\n    round:\n"
    "      - {role: SYSTEM, fallback_role: HUMAN, prompt: S}\n               ^^^^^^ unknown-dialogue-role\n" + ZERO + META,
    "a label that is no text": "prompt_template:\n  template:\n    A: 5\n       ^ invalid-ppl-template\n    B: six\n"
    + ZERO.replace(GEN, PPL),
    "a dialogue that is taken for labels": "prompt_template:\n  template:\n  ^^^^^^^^ invalid-ppl-template\n"
    "    round:\n      - {role: HUMAN, prompt: Q}\n" + ZERO.replace(GEN, PPL),
    "labels that all have the same text": "prompt_template:\n  template: Q\n  ^^^^^^^^ invalid-ppl-template\n"
    + ZERO.replace(GEN, PPL),
    "labels that are not compared": "prompt_template:\n  template:\n  ^^^^^^^^ invalid-ppl-template: `GenInferencer` uses the first label only, `A`\n"
    "    A: x\n    B: y\n" + ZERO,
    "a label without a template for its examples": "prompt_template:\n  ice_token: </E>\n  template: {A: </E>x, B: </E>y}\n"
    "ice_template:\n  template: {A: x, UNKNOWN: y}\n  ^^^^^^^^ invalid-ppl-template\n" + FIXED.replace(GEN, PPL),
    "an answer in a text whose labels are compared": "prompt_template:\n  template: '{question} {answer}'\n"
    "                        ^^^^^^^^ output-column-leak\n" + READER + ZERO.replace(GEN, "inferencer: {type: PPLInferencer, labels: [a]}\n"),
    "rows that are no list": "retriever: {type: FixKRetriever, fix_id_list: 3}\n"
    "                                              ^ retriever-mismatch: `fix_id_list` is a list of row numbers\n"
    + GEN + "ice_template: {template: </E>Q}\nprompt_template: {template: </E>Q, ice_token: </E>}\n",
    "rows that are not named": "retriever: {type: FixKRetriever}\n"
    "                  ^^^^^^^^^^^^^ retriever-mismatch: `FixKRetriever` needs `fix_id_list`\n"
    "prompt_template: {template: </E>Q, ice_token: </E>}\n" + ICE + GEN,
    "rows for a retriever that takes none": "retriever: {type: ZeroRetriever, fix_id_list: [0]}\n"
    "                                 ^^^^^^^^^^^ retriever-mismatch: `ZeroRetriever` takes no `fix_id_list`\n"
    "prompt_template: {template: Q}\n" + GEN,
    "a retriever that is misspelt": "retriever: {type: ZeroRetreiver}\n"
    "                  ^^^^^^^^^^^^^ retriever-mismatch: OpenCompass has no retriever `ZeroRetreiver`; did you mean `ZeroRetriever`?\n"
    "prompt_template: {template: Q}\n" + GEN,
    "dialogues for a mark inside a turn": "prompt_template:\n  ice_token: </E>\n  template:\n    round:\n"
    "      - {role: HUMAN, prompt: </E>Q}\n                              ^^^^^ retriever-mismatch\n"
    "ice_template: {template: {round: [{role: HUMAN, prompt: Q}]}}\n" + FIXED,
    "texts for messages": "prompt_template: {type: RawPromptTemplate, messages: [</E>, {role: user, content: Q}]}\n"
    + ICE + "^^^^^^^^^^^^ retriever-mismatch\n" + FIXED,
    "no template": "infer_cfg:\n^^^^^^^^^ invalid-evaluation-template\n  retriever: {type: ZeroRetriever}\n  " + GEN,
    "a message without content": "prompt_template:\n  type: RawPromptTemplate\n  messages:\n    - {role: user}\n"
    "       ^^^^ invalid-evaluation-template: this message has no `content`\n" + ZERO,
    "an empty dialogue": "prompt_template:\n  template: {}\n  ^^^^^^^^ invalid-evaluation-template\n" + ZERO,
    "an end": "prompt_template:\n  template:\n    round: [{role: HUMAN, prompt: Q}]\n    end: bye\n"
    "    ^^^ invalid-evaluation-template: OpenCompass 0.5.4 fails at `end` with every model that has a meta template\n" + ZERO,
    "a list in a meta template": "prompt_template: {template: Q}\n" + ZERO
    + "meta_template:\n  round:\n    - {role: HUMAN, begin: [a, 5]}\n                    ^^^^^ invalid-meta-template\n",
    "a slip in a turn": "prompt_template:\n  template:\n    round:\n      - {role: HUMAN, promt: Q}\n"
    "                      ^^^^^ unknown-evaluation-key: unknown key `promt`; did you mean `prompt`?\n" + ZERO,
    "a slip in the reader": "prompt_template: {template: Q}\n"
    "reader_cfg: {input_column: [question], output_column: answer}\n"
    "             ^^^^^^^^^^^^ unknown-evaluation-key\n" + ZERO,
    "a misspelt inferencer": "prompt_template: {template: Q}\nretriever: {type: ZeroRetriever}\n"
    "inferencer: {type: GenInfrencer}\n                   ^^^^^^^^^^^^ unknown-evaluation-key\n",
}  # fmt: skip

SILENT = {
    "a template without any examples": "prompt_template: {template: Q}\n" + ZERO,
    "examples by a mark in the text": "prompt_template: {template: </E>Q, ice_token: </E>}\n" + ICE + FIXED,
    "examples by a mark that is an item": "prompt_template:\n  ice_token: </E>\n  template:\n"
    "    begin:\n      - {role: SYSTEM, fallback_role: HUMAN, prompt: S}\n      - </E>\n"
    "    round:\n      - {role: HUMAN, prompt: Q}\n"
    "ice_template: {template: {round: [{role: HUMAN, prompt: Q}]}}\n" + FIXED + META,
    "classes of one's own": "prompt_template: {template: </E>Q, ice_token: </E>}\nice_template: {template: Q}\n"
    "retriever: {type: MyFixKRetriever, foo: 1}\ninferencer: {type: MyGenInferencer, foo: 1}\n",
    "a module before the class": "prompt_template: {type: opencompass.PromptTemplate, template: Q}\n"
    "retriever: {type: opencompass.openicl.ZeroRetriever}\n" + GEN,
    "columns in one text": "prompt_template: {template: '{a} {b} {c}'}\n"
    "reader_cfg: {input_columns: a b, output_column: c}\n" + ZERO,
    "a role in lower case that has a fallback": "prompt_template:\n  template:\n"
    "    round: [{role: system, fallback_role: HUMAN, prompt: Q}]\n" + ZERO,
    "a field that the inferencer fills in": "prompt_template: {template: '{adv_prompt} {question}'}\n" + READER
    + ZERO.replace("Gen", "Attack"),
    "no reader": "prompt_template: {template: '{a} {b}'}\n" + ZERO,
    "braces of LaTeX": "prompt_template: {template: '{question} \\boxed{ANSWER} \\frac{a}{b} x^{n}'}\n" + READER + ZERO,
    "braces in a tag": "prompt_template:\n  template: |\n    {question} {% set x = {'a': 1} %}{{ {'b': x} }}\n" + READER + ZERO,
    "an input that the file declares for Jinja": "input_keys: [question]\nprompt_template:\n  template: |\n    {{ question }}\n" + READER + ZERO,
    "a masked answer": "prompt_template: {template: '{question} {answer}'}\n" + READER + ZERO,
    "a system role that the meta template reserves": "prompt_template:\n  template:\n    begin: [{role: SYSTEM, prompt: S}]\n"
    "    round: [{role: HUMAN, prompt: Q}]\n" + ZERO + API,
    "a fallback in a round, behind an API": "prompt_template:\n  template:\n"
    "    round: [{role: DEV, fallback_role: HUMAN, prompt: Q}]\n" + ZERO + API,
    "roles of one's own": "prompt_template:\n  template:\n    round: [{role: JUDGE, prompt: Q}]\n" + ZERO,
    "a file of which Jinja prints a part": "{% if shots %}\n" + ICE + "{% endif %}\nprompt_template: {template: Q}\n" + FIXED,
    "labels": "prompt_template:\n  template:\n    0: 'no {question}'\n    1: 'yes {question}'\n" + READER + ZERO.replace(GEN, PPL),
    "rows that are none": "prompt_template: {template: Q}\nretriever: {type: FixKRetriever, fix_id_list: []}\n" + GEN,
}  # fmt: skip


@pytest.mark.parametrize("fixture", FOUND.values(), ids=FOUND)
def test_a_mistake_in_an_evaluation_prompt_is_found(fixture: str) -> None:
    check_findings(fixture)


@pytest.mark.parametrize("fixture", SILENT.values(), ids=SILENT)
def test_a_right_evaluation_prompt_has_no_finding(fixture: str) -> None:
    check_findings(fixture)


META = f'prompt_template: {{template: "{{question}}"}}\n{READER}{ZERO}'
FIXES = {
    "a token": (
        "ice_template:\n  template: 'Q'\n" + ZERO,
        "ice_template:\n  ice_token: \"</E>\"\n  template: '</E>Q'\n" + ZERO,
        "Add an `ice_token`, `</E>`",
    ),
    "a token in braces": (
        "ice_template: {template: Q}\n" + ZERO,
        'ice_template: {ice_token: "</E>", template: </E>Q}\n' + ZERO,
        "Add an `ice_token`, `</E>`",
    ),
    "a token and a block": (
        "ice_template:\n  template: |\n    Q\n" + ZERO,
        'ice_template:\n  ice_token: "</E>"\n  template: |\n    </E>Q\n' + ZERO,
        "Add an `ice_token`, `</E>`",
    ),
    "a token and a dialogue": (
        "prompt_template:\n  template:\n    round:\n      - {role: HUMAN, prompt: Q}\n" + ICE + FIXED,
        'prompt_template:\n  ice_token: "</E>"\n  template:\n    begin:\n      - "</E>"\n'
        "    round:\n      - {role: HUMAN, prompt: Q}\n" + ICE + FIXED,
        "Add an `ice_token`, `</E>`",
    ),
    "an item": (
        "prompt_template:\n  ice_token: </E>\n  template:\n    begin:\n      - hello\n    round:\n"
        "      - {role: HUMAN, prompt: Q}\n" + ICE + FIXED,
        'prompt_template:\n  ice_token: </E>\n  template:\n    begin:\n      - hello\n      - "</E>"\n    round:\n'
        "      - {role: HUMAN, prompt: Q}\n" + ICE + FIXED,
        "Begin the dialogue with `</E>`",
    ),
    "a token for a mark": (
        "prompt_template:\n  template: '</E>Q'\n" + ZERO,
        "prompt_template:\n  ice_token: \"</E>\"\n  template: '</E>Q'\n" + ZERO,
        "Add the `ice_token`",
    ),
    "a token that is unused": (
        "prompt_template:\n  ice_token: </E>\n  template: </E>Q\n" + ZERO,
        "prompt_template:\n  template: Q\n" + ZERO,
        "Remove the `ice_token` and `</E>`",
    ),
    "a field": (
        "prompt_template: {template: '{qestion}'}\n" + READER + ZERO,
        "prompt_template: {template: '{question}'}\n" + READER + ZERO,
        "Change to `question`",
    ),
    "a column": (
        "prompt_template: {template: '{{ question }}'}\n" + READER + ZERO,
        "prompt_template: {template: '{question}'}\n" + READER + ZERO,
        "Change to `{question}`",
    ),
    "no examples": (
        "prompt_template: {template: Q}\nretriever: {type: FixKRetriever, fix_id_list: [0, 1]}\n" + GEN,
        "prompt_template: {template: Q}\nretriever: {type: ZeroRetriever}\n" + GEN,
        "Change to `ZeroRetriever`",
    ),
    "an argument": (
        "prompt_template: {template: Q}\nretriever:\n  type: ZeroRetriever\n  fix_id_list: [0]\n" + GEN,
        "prompt_template: {template: Q}\nretriever:\n  type: ZeroRetriever\n" + GEN,
        "Remove `fix_id_list`",
    ),
    "a role": (
        "prompt_template:\n  template: {round: [{role: Human, prompt: Q}]}\n" + ZERO,
        "prompt_template:\n  template: {round: [{role: HUMAN, prompt: Q}]}\n" + ZERO,
        "Change to `HUMAN`",
    ),
    "a leak": (
        "prompt_template: {type: RawPromptTemplate, messages: [{role: user, content: '{question}{answer}'}]}\n"
        + READER + ZERO,
        "prompt_template: {type: RawPromptTemplate, messages: [{role: user, content: '{question}'}]}\n"
        + READER + ZERO,
        "Remove `{answer}`",
    ),
    "a round that is no list": (
        META + "meta_template:\n  round:\n    role: HUMAN\n    begin: x\n",
        META + "meta_template:\n  round:\n    - role: HUMAN\n      begin: x\n",
        "Make it a list",
    ),
    "a meta template without a round": (
        META + "meta_template: {begin: x}\n",
        META + "meta_template: {begin: x, round: [{role: HUMAN}, {role: BOT, generate: true}]}\n",
        "Add `round`, to be filled in",
    ),
    "a role that is there already": (
        META + "meta_template:\n  round: [{role: HUMAN}, {role: HUMAN}]\n",
        META + "meta_template:\n  round: [{role: HUMAN}, {role: BOT}]\n",
        "Change to `BOT`",
    ),
    "a turn without a role": (
        META + "meta_template:\n  round: [{role: HUMAN}, {begin: x}]\n",
        META + "meta_template:\n  round: [{role: HUMAN}, {begin: x, role: BOT}]\n",
        "Add `role`, to be filled in",
    ),
    "a role without a role of the API": (
        META + "meta_template:\n  round: [{role: HUMAN, api_role: HUMAN}, {role: BOT}]\n",
        META + "meta_template:\n  round: [{role: HUMAN, api_role: HUMAN}, {role: BOT, api_role: BOT}]\n",
        "Add `api_role`, to be filled in",
    ),
    "a list with one text": (
        META + "meta_template:\n  round: [{role: HUMAN, begin: ['x']}]\n",
        META + "meta_template:\n  round: [{role: HUMAN, begin: 'x'}]\n",
        "Write the text alone",
    ),
    "a template that is missing": (
        "prompt_template:\n  type: PromptTemplate\n" + READER + ZERO,
        "prompt_template:\n  type: PromptTemplate\n  template: …\n" + READER + ZERO,
        "Add `template`, to be filled in",
    ),
    "a list of turns": (
        "prompt_template: {template: [{role: HUMAN, prompt: '{question}'}]}\n" + READER + ZERO,
        "prompt_template: {template: {round: [{role: HUMAN, prompt: '{question}'}]}}\n" + READER + ZERO,
        "Put it below `round`",
    ),
    "a message without content": (
        "prompt_template: {type: RawPromptTemplate, messages: [{role: user}]}\n" + READER + ZERO,
        "prompt_template: {type: RawPromptTemplate, messages: [{role: user, content: …}]}\n" + READER + ZERO,
        "Add `content`, to be filled in",
    ),
    "messages that are no list": (
        "prompt_template: {type: RawPromptTemplate, messages: {role: user, content: x}}\n" + READER + ZERO,
        "prompt_template: {type: RawPromptTemplate, messages: [{role: user, content: x}]}\n" + READER + ZERO,
        "Make it a list",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "title"), FIXES.values(), ids=FIXES)
def test_a_fix_makes_an_evaluation_prompt_right(before: str, after: str, title: str) -> None:
    check_fix(before, after, title)


# -- the real library ---------------------------------------------------------------------

LOSES_WITHOUT_A_WORD = {"22-token-not-checked-in-dialogue-list"}
DEPENDS_ON_THE_ROWS = {"13-ppl-few-shot-label-missing-in-ice"}
"""A training row has an answer that no label names: nothing in the file is wrong."""


def _recorded() -> list[Any]:
    for parent in Path(__file__).resolve().parents:
        folder = parent / "shared" / "oracle" / "opencompass"
        if folder.is_dir():
            return [
                pytest.param(path, id=path.name.removesuffix(".infer_cfg.json"))
                for path in sorted(folder.glob("*.infer_cfg.json"))
            ]
    return [pytest.param(None, marks=pytest.mark.skip(reason="the recorded results are not here"))]


@pytest.mark.oracle
@pytest.mark.parametrize("path", _recorded())
def test_an_error_is_found_where_opencompass_fails_or_loses_something(path: Path) -> None:
    name = path.name.removesuffix(".infer_cfg.json")
    expected = json.loads(path.with_name(f"{name}.expected.json").read_text())
    data = json.loads(path.with_name(f"{name}.data.json").read_text())
    config = {"infer_cfg": json.loads(path.read_text())}
    config |= {key: data[key] for key in ("reader_cfg", "meta_template") if key in data}

    errors = [finding for finding in _found(config) if finding.severity == "error"]

    fails = not expected["ok"] or "meta_template_error" in expected or _fails(expected["items"])
    assert bool(errors) == ((fails or name in LOSES_WITHOUT_A_WORD) and name not in DEPENDS_ON_THE_ROWS)


def _found(config: dict[str, Any]) -> tuple[Finding, ...]:
    workspace = Workspace([Path("/project")])
    text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
    if "{{" in text or "{%" in text:
        text = f"{{% raw %}}\n{text}{{% endraw %}}\n"
    workspace.open(MAIN, text, 1)
    return check(workspace.snapshot, MAIN)


def _fails(value: Any) -> bool:
    """Whether building a prompt, or laying it out for the model, ended with an error.

    Without a meta template messages are not laid out by the harness that recorded the results.
    """
    if isinstance(value, list):
        return any(map(_fails, value))
    if not isinstance(value, dict):
        return False
    return "error" in value or any(_fails(its) for key, its in value.items() if key != "no_meta")
