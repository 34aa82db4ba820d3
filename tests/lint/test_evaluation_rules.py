from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from oracle import recorded
from promptls.lint.rule import Finding
from promptls.lint.runner import check
from promptls.workspace.workspace import Workspace

MAIN = "/project/main.yml.j2"


def test_a_byte_order_mark_hides_no_finding() -> None:
    text = "\ufeffice_template: {template: Q}\nretriever: {type: ZeroRetriever}\n"
    workspace = Workspace([Path("/project")])
    workspace.open(MAIN, text, 1)
    found = [each for each in check(workspace.snapshot, MAIN) if each.severity != "hint"]
    assert [(each.rule, text[each.span.start : each.span.end]) for each in found] == [
        ("missing-ice-token", "ice_template")
    ]


# -- the real library ---------------------------------------------------------------------

LOSES_WITHOUT_A_WORD = {
    "token-not-checked-in-dialogue-list",
    "dialogue-api-list-before-a-turn",
    "dialogue-api-text-as-begin",
}
DEPENDS_ON_THE_ROWS = {"ppl-few-shot-label-missing-in-ice"}
"""A training row has an answer without a label: nothing in the file is wrong."""
DEPENDS_ON_THE_MODEL = {
    "dialogue-with-a-list-as-meta-template",
    "dialogue-for-an-api-without-api-roles",
    "raw-with-a-list-of-other-roles",
}
"""The meta template fails for an API model, and the file names no model."""


@pytest.mark.parametrize("name", recorded.cases("opencompass"))
def test_an_error_is_found_where_opencompass_fails_or_loses_something(name: str) -> None:
    case = recorded.cases("opencompass")[name]
    expected = case["expected"]
    config = {key: case[key] for key in ("infer_cfg", "reader_cfg", "meta_template") if key in case}

    errors = [finding for finding in _found(config) if finding.severity == "error"]

    fails = "error" in expected or "meta_template_error" in expected or _fails(expected["items"])
    depends = name in DEPENDS_ON_THE_ROWS | DEPENDS_ON_THE_MODEL
    assert bool(errors) == ((fails or name in LOSES_WITHOUT_A_WORD) and not depends)


def _found(config: dict[str, Any]) -> tuple[Finding, ...]:
    workspace = Workspace([Path("/project")])
    text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
    if "{{" in text or "{%" in text:
        text = f"{{% raw %}}\n{text}{{% endraw %}}\n"
    workspace.open(MAIN, text, 1)
    return check(workspace.snapshot, MAIN)


def _fails(value: Any) -> bool:
    """Return whether building a prompt, or applying the model's meta template, ended with an error.

    Without a meta template, the program that recorded the results does not build messages.
    """
    if isinstance(value, list):
        return any(map(_fails, value))
    if not isinstance(value, dict):
        return False
    return "error" in value or any(_fails(its) for key, its in value.items() if key != "no_meta")
