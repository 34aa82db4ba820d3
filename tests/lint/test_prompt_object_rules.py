from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from oracle import recorded
from promptls.format.prompt_file import file_edits
from promptls.lint.rule import Finding
from promptls.lint.runner import check
from promptls.text.positions import Span
from promptls.workspace.workspace import Workspace
from support.corpus import corpus

MAIN = "/project/main.yml.j2"


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


def test_json_is_checked_and_neither_fixed_nor_laid_out_as_yaml() -> None:
    path = "/project/saved.json"
    workspace = Workspace([Path("/project")])
    workspace.open(path, '{"instruction":   "a", "output_key": "b", "examples": []}', 1)
    workspace.edit(path, 2, [(Span(18, 19), '"{% '), (Span(22, 23), "")])
    (finding,) = check(workspace.snapshot, path)
    assert (finding.rule, finding.fixes) == ("invalid-prompt-object", ())
    assert file_edits(workspace.snapshot, path) == ()


# -- the real library ---------------------------------------------------------------------

OTHER_RELEASES = {"no-name-0.1.0"}
"""A name may be missing in a file, as in later releases."""


def found_in(mapping: dict[str, Any]) -> tuple[Finding, ...]:
    text = yaml.safe_dump(mapping, sort_keys=False, allow_unicode=True)
    if "{{" in text or "{%" in text or "{#" in text:
        text = f"{{% raw %}}\n{text}{{% endraw %}}\n"
    workspace = Workspace([Path("/project")])
    workspace.open(MAIN, text, 1)
    return check(workspace.snapshot, MAIN)


@pytest.mark.parametrize("name", sorted(recorded.cases("ragas").keys() - OTHER_RELEASES))
def test_an_error_is_found_where_ragas_refuses_a_prompt(name: str) -> None:
    case = recorded.cases("ragas")[name]
    mapping, expected = case["prompt"], case["expected"]

    findings = found_in({**mapping, "ragas_version": case["release"]})

    assert any(finding.severity == "error" for finding in findings) == ("error" in expected)
    if "error" not in expected and set(case["inputs"]) == set(mapping["input_keys"]):
        cannot_be_filled = "error" in expected["format"]
        assert any(finding.severity == "warning" for finding in findings) == (
            cannot_be_filled or mapping["output_key"] in mapping["input_keys"]
        )


@pytest.mark.parametrize("path", corpus("saved", suffixes={".json"}))
def test_a_prompt_that_ragas_saved_has_no_finding(path: Path) -> None:
    found = found_in(json.loads(path.read_text("utf-8")))
    assert [finding for finding in found if finding.severity != "hint"] == []
