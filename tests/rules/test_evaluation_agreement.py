"""An error is found in an evaluation prompt just where it fails, or loses its examples, when it is asked."""
# ruff: noqa: E501 - a mark stands with its message on one line

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from promptls.rendering.evaluation_asking import is_api
from promptls.rules.checking.check import check
from promptls.rules.rule import Finding
from promptls.systems.opencompass.evaluation_prompt import build_evaluation_prompt
from promptls.systems.opencompass.failure import OpenCompassError
from promptls.systems.opencompass.meta_template import build_meta_template, lay_out
from promptls.systems.opencompass.prompt_list import Messages, Prompt
from promptls.workspace.workspace import Workspace
from support.fixture import check_findings

pytestmark = pytest.mark.thorough

MAIN = "/project/main.yml.j2"
SHOWN = "EXAMPLE"
READER = {"input_columns": ["q"], "output_column": "a"}
TRAIN = [{"q": f"{SHOWN} 1", "a": "A"}, {"q": f"{SHOWN} 2", "a": "B"}]
TEST = [{"q": "asked", "a": "A"}]

ROLES = st.sampled_from(["HUMAN", "BOT", "SYSTEM"])
TEXTS = st.sampled_from(["Q: {q}", "</E>Q: {q}", "x {q}"])
TURNS = st.fixed_dictionaries(
    {"role": ROLES, "prompt": TEXTS}, optional={"fallback_role": st.sampled_from(["HUMAN", "NONE"])}
)
HUMAN = st.fixed_dictionaries({"role": st.just("HUMAN"), "prompt": TEXTS})
ITEMS = TURNS | st.just("</E>")
DIALOGUES = st.fixed_dictionaries(
    {"round": st.builds(lambda first, others: [first, *others], HUMAN, st.lists(ITEMS, max_size=2))},
    optional={
        "begin": st.lists(st.just("</E>") | TURNS.filter(lambda turn: turn["role"] != "BOT"), max_size=2),
        "end": st.lists(TURNS, min_size=1, max_size=1),
    },
)
BODIES = TEXTS | DIALOGUES
LABELS = st.fixed_dictionaries({"A": TEXTS, "B": TEXTS}) | st.fixed_dictionaries(
    {"A": DIALOGUES, "B": DIALOGUES}
)
MESSAGES = st.lists(st.just("</E>") | st.just({"role": "user", "content": "again"}), max_size=2).map(
    lambda items: [*items, {"role": "user", "content": "Q: {q}"}]
)
TEMPLATES = st.one_of(
    st.fixed_dictionaries({"template": BODIES | LABELS}, optional={"ice_token": st.just("</E>")}),
    st.fixed_dictionaries({"template": BODIES | LABELS, "ice_token": st.just("</E>")}),
    st.fixed_dictionaries({"type": st.just("RawPromptTemplate"), "messages": MESSAGES}),
)
RETRIEVERS = st.sampled_from(
    [
        {"type": "ZeroRetriever"},
        {"type": "ZeroRetriever", "ice_num": 1},
        {"type": "FixKRetriever"},
        {"type": "FixKRetriever", "fix_id_list": [0, 1]},
        {"type": "RandomRetriever", "ice_num": 1},
        {"type": "SlidingWindowRetriever", "k": 1},
    ]
)


@st.composite
def meta_templates(draw: st.DrawFn) -> dict[str, Any]:
    api = draw(st.booleans())
    roles = [
        {"role": role, **({"api_role": role} if api else {"begin": f"<{role}>"})} for role in ("HUMAN", "BOT")
    ]
    roles[-1]["generate"] = draw(st.booleans())
    made: dict[str, Any] = {"round": roles}
    if draw(st.booleans()):
        made["reserved_roles"] = [{"role": "SYSTEM", **({"api_role": "SYSTEM"} if api else {})}]
    return made


CONFIGS = st.fixed_dictionaries(
    {
        "retriever": RETRIEVERS,
        "inferencer": st.sampled_from([{"type": "GenInferencer"}, {"type": "PPLInferencer"}]),
        "prompt_template": TEMPLATES,
    },
    optional={"ice_template": TEMPLATES, "meta_template": meta_templates()},
) | st.fixed_dictionaries(
    {
        "retriever": RETRIEVERS,
        "inferencer": st.just({"type": "GenInferencer"}),
        "ice_template": TEMPLATES,
    },
    optional={"meta_template": meta_templates()},
)


@settings(max_examples=150, deadline=None)
@given(CONFIGS)
def test_errors_are_found_where_asking_fails_and_nowhere_else(config: dict[str, Any]) -> None:
    errors = [finding for finding in findings(config) if finding.severity == "error"]
    assert bool(errors) == is_wrong(config)


def findings(config: dict[str, Any]) -> tuple[Finding, ...]:
    workspace = Workspace([Path("/project")])
    workspace.open(MAIN, yaml.safe_dump({**config, "reader_cfg": READER}, sort_keys=False), 1)
    return check(workspace.snapshot, MAIN)


def is_wrong(config: dict[str, Any]) -> bool:
    """Whether asking fails, loses the examples, or weighs a dialogue's sections as labels."""
    try:
        evaluation = build_evaluation_prompt(config, READER)
        picked = evaluation.picks(TRAIN, TEST)(0)
        examples = evaluation.joined(evaluation.examples(TRAIN, picked))
        if not evaluation.weighs_labels:
            prompts = [evaluation.generating(TEST[0], examples)]
        else:
            labels = evaluation.labels(TEST)
            if "round" in labels:
                return True
            prompts = [evaluation.labelled(TEST[0], examples, label) for label in labels]
        asked = [laid_out(prompt, config, weighs_labels=evaluation.weighs_labels) for prompt in prompts]
    except OpenCompassError:
        return True
    return bool(picked) and any(SHOWN not in text for text in asked)


def laid_out(prompt: Prompt, config: dict[str, Any], *, weighs_labels: bool) -> str:
    meta = config.get("meta_template")
    # Messages without a meta template are for an API.
    for_api = is_api(meta) or (meta is None and isinstance(prompt, Messages))
    made = lay_out(prompt, build_meta_template(meta, is_api=for_api), "ppl" if weighs_labels else "gen")
    return made.text if made.text is not None else str(made.messages)


ZERO = "retriever: {type: ZeroRetriever}\ninferencer: {type: GenInferencer}\n"
FIXED = "retriever: {type: FixKRetriever, fix_id_list: [0]}\ninferencer: {type: GenInferencer}\n"
API = "meta_template: {round: [{role: HUMAN, api_role: U}, {role: BOT, api_role: B, generate: true}]}\n"
BASE = API.replace("api_role", "begin")
DIALOGUES_SHOWN = "ice_template: {template: {round: [{role: HUMAN, prompt: Q}]}}\n"
CASES = {
    "texts between turns, which no API gets": "prompt_template:\n  ice_token: </E>\n  template:\n    begin: [</E>]\n"
    "            ^^^^ retriever-mismatch\n    round: [{role: HUMAN, prompt: Q}]\nice_template: {template: Q}\n" + FIXED + API,
    "dialogues within a round": "prompt_template:\n  ice_token: </E>\n  template:\n    round: [</E>, {role: HUMAN, prompt: Q}]\n"
    "            ^^^^ retriever-mismatch\n" + DIALOGUES_SHOWN + FIXED + BASE,
    "dialogues for one template that writes the question too": "ice_template:\n  ice_token: </E>\n  template:\n"
    "    round: [{role: HUMAN, prompt: </E>Q}]\n                                  ^^^^^ retriever-mismatch\n" + FIXED,
    "messages without a place for examples": "ice_template: {type: RawPromptTemplate, messages: [{role: user, content: Q}]}\n"
    "^^^^^^^^^^^^ missing-ice-token\n" + FIXED,
    "messages whose labels are weighed": "prompt_template: {type: RawPromptTemplate, messages: [{role: user, content: Q}]}\n"
    "^^^^^^^^^^^^^^^ invalid-ppl-template\n" + ZERO.replace("Gen", "PPL"),
    "messages for a base model": "prompt_template: {type: RawPromptTemplate, messages: [{role: user, content: Q}]}\n" + ZERO
    + "meta_template: {round: [{role: HUMAN, begin: 'Q'}]}\n^^^^^^^^^^^^^ invalid-meta-template\n",
    "a list for an API": "prompt_template: {template: Q}\n" + ZERO
    + "meta_template:\n  round:\n    - {role: HUMAN, api_role: U, begin: [a]}\n                                 ^^^^^ invalid-meta-template\n",
    "a template class of a data set's own": "prompt_template: {type: OlympiadBenchTemplate}\n" + ZERO,
}  # fmt: skip


@pytest.mark.parametrize("fixture", CASES.values(), ids=CASES)
def test_what_does_not_go_together_is_found(fixture: str) -> None:
    check_findings(fixture)
