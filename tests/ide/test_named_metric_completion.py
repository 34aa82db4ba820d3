"""Completion and hover of metrics with options."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.completion import complete
from promptls.ide.hover import hover
from support.fixture import MAIN, opened

PROMPT = """\
-- rows.csv --
text,label
-- main.yml.j2 --
{#---
input_keys: [text]
metrics:
METRICS
experiments:
  main:
    dataset: rows.csv
    metrics: [USED]
---#}
- content: "{{ text }}"
"""


def offered(metrics: str, root: Path, used: str = "") -> list[str]:
    snapshot, files = opened(PROMPT.replace("METRICS", metrics).replace("USED", used), root)
    found = complete(snapshot, str(root / MAIN), files[MAIN].cursor or 0)
    return [item.label for item in found.items] if found else []


@pytest.mark.parametrize(
    ("metrics", "expected", "unexpected"),
    [
        ("  mine:\n    use: <CURSOR>", ["aspect_critic", "faithfulness", "exact_match"], ["mine"]),
        ("  mine:\n    use: rouge\n    <CURSOR>", ["kind", "measure", "columns", "model"], ["use"]),
        ("  mine: {use: rouge, kind: rouge1, <CURSOR>}", ["measure", "columns"], ["kind", "judge"]),
        ("  mine: {use: aspect_critic, <CURSOR>}", ["definition", "repeats"], ["judge"]),
        ("  mine: {use: faithfulness, columns: {<CURSOR>}}", ["user_input"], ["judge"]),
        ("  mine: {use: exact_match, columns: {expected: <CURSOR>}}", ["label", "text", "response"], []),
        ("  mine: {use: aspect_critic, model: <CURSOR>}", ["local:smollm2"], []),
    ],
)
def test_what_a_metric_takes_is_offered(
    metrics: str, expected: list[str], unexpected: list[str], tmp_path: Path
) -> None:
    found = offered(metrics, tmp_path)
    assert [label for label in expected if label not in found] == []
    assert [label for label in unexpected if label in found] == []


def test_an_experiment_is_offered_the_names_first(tmp_path: Path) -> None:
    assert offered("  mine: {use: rouge}", tmp_path, "<CURSOR>")[0] == "mine"


@pytest.mark.parametrize(("word", "used"), [("mine", "mine"), ("faithfulness", "mine")])
def test_a_hover_shows_the_page_of_the_metric(word: str, used: str, tmp_path: Path) -> None:
    text = PROMPT.replace("METRICS", "  mine: {use: faithfulness}").replace("USED", used)
    snapshot, files = opened(text, tmp_path)
    found = hover(snapshot, str(tmp_path / MAIN), files[MAIN].text.rindex(word) + 1, None)
    assert found is not None
    assert "faithfulness(user_input, response, retrieved_contexts, prompts=None)" in found.markdown
    assert "follow from the retrieved contexts" in found.markdown
