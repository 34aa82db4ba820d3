"""promptls agrees with the recorded results of OpenCompass 0.5.4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from oracle import recorded
from promptls.dialects.opencompass.evaluation_prompt import EvaluationConfig, build_evaluation_prompt
from promptls.dialects.opencompass.meta_template import (
    LaidOut,
    MetaTemplate,
    Mode,
    build_meta_template,
    lay_out,
)
from promptls.dialects.opencompass.prompt_list import Messages, OpenCompassError, Prompt, PromptList
from support.opencompass_viewer import ViewedModel, viewer_lines

USUAL_CONTEXT = 2048
PYTHON_TYPES = {str: "str", PromptList: "PromptList", Messages: "list"}


@pytest.mark.parametrize("case", recorded.parameters("opencompass"))
def test_a_configuration_does_what_it_does_in_opencompass(case: dict[str, Any]) -> None:
    assert _outcome(case) == _with_types_of_errors(case["expected"])


def _with_types_of_errors(expected: Any) -> Any:
    """Return a recorded outcome without the texts of its errors, which promptls replaces by its own."""
    if isinstance(expected, list):
        return [_with_types_of_errors(each) for each in expected]
    if not isinstance(expected, dict):
        return expected
    if expected.keys() == {"type", "message"}:
        return expected["type"]
    return {key: _with_types_of_errors(each) for key, each in expected.items()}


def _outcome(data: dict[str, Any]) -> Any:
    try:
        evaluation = build_evaluation_prompt(data["infer_cfg"], data["reader_cfg"])
    except OpenCompassError as error:
        return {"error": error.cause}
    found: dict[str, Any] = {}
    if "viewer" in data["expected"]:
        found["viewer"] = _viewer(evaluation, data)
    templates = {"ice_template": evaluation.ice, "prompt_template": evaluation.prompt}
    found["prompt_type"] = {key: each.kind if each else None for key, each in templates.items()}
    meta = _tried(lambda: build_meta_template(data.get("meta_template"), is_api=data.get("api", False)))
    if isinstance(meta, dict):
        found["meta_template_error"] = meta["error"]
    train, test = data["train"], data["test"]
    pick = evaluation.picks(train, test)
    count = min(data.get("count", 1), len(test))
    found["ice_idx"] = [pick(index) for index in range(len(test))]
    found["items"] = [_item(evaluation, data, pick(index), index) for index in range(count)]
    return found


def _item(
    evaluation: EvaluationConfig, data: dict[str, Any], picked: list[int], index: int
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    ice = _tried(lambda: evaluation.joined(evaluation.examples(data["train"], picked)))
    found["ice"] = _shown(ice)
    if isinstance(ice, dict):
        return found
    found["ice_python_type"] = PYTHON_TYPES[type(ice)]
    if picked:
        found["ice_items"] = [_shown(each) for each in evaluation.examples(data["train"], picked)]
    row = data["test"][index]
    if not evaluation.weighs_labels:
        found["generate_item"] = _prompt(lambda: evaluation.generating(row, ice), data, "gen", "value")
        return found
    labels = evaluation.labels(data["test"])
    found["labels"] = {"value": labels}
    found["by_label"] = {
        str(label): _prompt(lambda label=label: evaluation.labeled(row, ice, label), data, "ppl", "prompt")  # type: ignore[misc]
        for label in labels
    }
    return found


def _prompt(make: Callable[[], Prompt], data: dict[str, Any], mode: Mode, key: str) -> dict[str, Any]:
    prompt = _tried(make)
    if isinstance(prompt, dict):
        return prompt
    found: dict[str, Any] = {}
    shown = _shown(prompt)
    found[key] = shown if key == "prompt" else shown["value"]
    if key == "value":
        found["python_type"] = PYTHON_TYPES[type(prompt)]
    is_api = data.get("api", False)
    found["no_meta"] = _laid_out(prompt, None, mode, is_api=False)
    if data.get("meta_template") and isinstance(
        _tried(lambda: build_meta_template(data["meta_template"], is_api=is_api)), MetaTemplate
    ):
        found["with_meta"] = _laid_out(prompt, data["meta_template"], mode, is_api=is_api)
    return found


def _laid_out(prompt: Prompt, meta: Any, mode: Mode, *, is_api: bool) -> Any:
    made = _tried(lambda: lay_out(prompt, build_meta_template(meta, is_api=is_api), mode))
    if isinstance(made, dict):
        return made
    assert isinstance(made, LaidOut)
    return {"value": made.text if made.messages is None else list(made.messages)}


def _viewer(evaluation: EvaluationConfig, data: dict[str, Any]) -> dict[str, Any]:
    lines: list[str] = []
    try:
        model = None
        if data.get("meta_template") or data.get("max_seq_len"):
            meta = build_meta_template(data.get("meta_template"), is_api=data.get("api", False))
            model = ViewedModel(meta, data.get("max_seq_len", USUAL_CONTEXT), lambda text: len(text.split()))
        train, test = data["train"], data["test"]
        pick = evaluation.picks(train, test)
        lines.extend(viewer_lines(evaluation, train, test, pick, model=model, rows=data.get("count", 1)))
    except OpenCompassError as error:
        return {"error": error.cause}
    return {"text": "".join(f"{line}\n" for line in lines)}


def _tried(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except OpenCompassError as error:
        return {"error": error.cause}


def _shown(prompt: Any) -> Any:
    if isinstance(prompt, str):
        return {"value": prompt}
    return prompt if isinstance(prompt, dict) else {"value": list(prompt.items)}
