"""Editor features in files that Ragas saves since 0.2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptls.ide.hover import hover
from promptls.workspace.workspace import Workspace

EXAMPLES = [{"input": {"response": "a"}, "output": {"value": "pass"}}]
WITH_MODELS = {
    "ragas_version": "0.4.3",
    "original_hash": 1,
    "language": "english",
    "instruction": "Sort it.",
    "examples": EXAMPLES,
}
SIMPLE = {"format_version": "1.0", "type": "Prompt", "instruction": "Grade {response}", "examples": EXAMPLES}
METRIC = {
    "format_version": "1.0",
    "metric_type": "DiscreteMetric",
    "name": "right",
    "prompt": {"type": "Prompt", "instruction": "Is {response} right?", "examples": EXAMPLES},
    "config": {"allowed_values": ["pass", "fail"]},
    "response_model_info": None,
}


@pytest.mark.parametrize(
    ("saved", "key", "said"),
    [
        (WITH_MODELS, "instruction", "Braces are text"),
        (WITH_MODELS, "original_hash", "19 digits"),
        (WITH_MODELS, "examples", "shown to the model as JSON"),
        (SIMPLE, "instruction", "is an input"),
        (SIMPLE, "input", "The inputs of the example"),
        (METRIC, "metric_type", "Only this class"),
        (METRIC, "instruction", "is an input"),
        (METRIC, "output", "The answer of the example"),
        (METRIC, "allowed_values", "Allowed scores"),
    ],
)
def test_a_key_says_what_ragas_does_with_it_in_that_file(saved: dict[str, Any], key: str, said: str) -> None:
    path, text = "/project/saved.json", json.dumps(saved, indent=2)
    workspace = Workspace([Path("/project")])
    workspace.open(path, text, 1)
    found = hover(workspace.snapshot, path, text.index(f'"{key}"') + 1, None)
    assert found is not None
    assert said in found.markdown
