"""An evaluation prompt has an error exactly if it fails, or loses its examples, when it is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from promptls.dialects.opencompass.evaluation_prompt import build_evaluation_prompt
from promptls.dialects.opencompass.meta_template import MetaTemplate, build_layout, lay_out
from promptls.dialects.opencompass.prompt_list import Messages, OpenCompassError, Prompt
from promptls.lint.rule import Finding
from promptls.lint.runner import check
from promptls.workspace.workspace import Workspace
from support.example_counts import examples

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


@examples(150)
@given(CONFIGS)
def test_errors_are_reported_exactly_for_failing_prompts(config: dict[str, Any]) -> None:
    errors = [finding for finding in findings(config) if finding.severity == "error"]
    assert bool(errors) == is_wrong(config)


def findings(config: dict[str, Any]) -> tuple[Finding, ...]:
    workspace = Workspace([Path("/project")])
    workspace.open(MAIN, yaml.safe_dump({**config, "reader_cfg": READER}, sort_keys=False), 1)
    return check(workspace.snapshot, MAIN)


def is_wrong(config: dict[str, Any]) -> bool:
    """Return whether running fails, loses the examples, or treats a dialogue's sections as labels."""
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
            prompts = [evaluation.labeled(TEST[0], examples, label) for label in labels]
        texts = [laid_out(prompt, config, weighs_labels=evaluation.weighs_labels) for prompt in prompts]
    except OpenCompassError:
        return True
    return bool(picked) and any(SHOWN not in text for text in texts)


def laid_out(prompt: Prompt, config: dict[str, Any], *, weighs_labels: bool) -> str:
    meta = config.get("meta_template")
    # Messages without a meta template are for an API.
    layout = (
        MetaTemplate(is_api=True) if meta is None and isinstance(prompt, Messages) else build_layout(meta)
    )
    made = lay_out(prompt, layout, "ppl" if weighs_labels else "gen")
    return made.text if made.text is not None else str(made.messages)
