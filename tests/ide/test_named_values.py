"""Files and names in header values: hover and definition."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.ide.hover import hover
from promptls.ide.navigation import definition_steps
from promptls.text.steps import finish
from support.fixture import MAIN, opened

PROMPT = """\
{#---
input_keys: [text]
samples: samples.json
functions: helpers.py
encoding: gpt-4o
experiments:
  triage:
    dataset: rows.csv
    models: [openai:gpt-4.1-mini, fast, echo]
    metrics: [exact_match, "metrics.py:score", strict]
---#}
- name: ticket
  content: "{{ text }}"
-- rows.csv --
text,expected
a,b
c,d
-- samples.json --
{"one": {"text": "a"}, "two": {"text": "b"}}
-- helpers.py --
def shout(text: str) -> str:
    return text.upper()
-- metrics.py --
from promptls import numeric_metric

@numeric_metric(allowed_values=(0, 1))
def score(response, expected="x"):
    \"\"\"How good it is.\"\"\"
-- promptls.toml --
[metrics.strict]
use = "metrics.py:score"
[models.fast]
provider = "openai"
model = "qwen"
base_url = "http://me:hidden@localhost:1/v1"
api_key_env = "PROMPTLS_TEST_KEY"
input_price = 0.1
"""


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("samples.json", ["2 samples", "- `two`: `text`"]),
        ("helpers.py", ["1 function ", "shout(text: str) -> str"]),
        ("gpt-4o", ["`o200k_base`", "which `gpt-4o` uses"]),
        ("rows.csv", ["2 rows, 22 bytes", "2 columns: `text`, `expected`"]),
        (
            "openai:gpt-4.1-mini",
            ["`openai`", "1,000,000 tokens", "$0.40 for a million tokens in", "- key: none"],
        ),
        (
            "fast",
            ["`qwen`", "$0.10", "- key: there is one in `PROMPTLS_TEST_KEY`", "`http://localhost:1/v1`"],
        ),
        ("echo", ["for tests", "free"]),
        (
            "exact_match",
            ["exact_match(response, expected", "discrete metric of promptls"],
        ),
        ("metrics.py:score", ["score(response, expected='x')", "How good it is.", "metric of `metrics.py`"]),
    ],
)
def test_hover_on_a_value_shows_what_it_refers_to(
    value: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPTLS_TEST_KEY", "a-secret-of-somebody")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    snapshot, files = opened(PROMPT, tmp_path)
    offset = files[MAIN].text.index(value) + 1

    found = hover(snapshot, str(tmp_path / MAIN), offset, None)

    assert found is not None
    assert files[MAIN].text[found.span.start : found.span.end] == value
    for words in expected:
        assert words in found.markdown
    assert "a-secret-of-somebody" not in found.markdown
    assert "hidden" not in found.markdown


@pytest.mark.parametrize(
    ("value", "file", "text"),
    [
        ("samples.json", "samples.json", ""),
        ("rows.csv", "rows.csv", ""),
        ("fast", "promptls.toml", "fast"),
        ("metrics.py:score", "metrics.py", "score"),
        ("exact_match", "builtin_text.py", "exact_match"),
        ("strict", "metrics.py", "score"),
    ],
)
def test_a_value_leads_to_what_it_names(value: str, file: str, text: str, tmp_path: Path) -> None:
    snapshot, files = opened(PROMPT, tmp_path)
    offset = files[MAIN].text.index(value) + 1

    (target,) = finish(definition_steps(snapshot, str(tmp_path / MAIN), offset))

    named = snapshot.template(target.path)
    assert named is not None
    assert Path(target.path).name == file
    assert named.source.slice(target.span) == text


def test_a_missing_dataset_is_reported(tmp_path: Path) -> None:
    snapshot, files = opened(PROMPT.replace("-- rows.csv --", "-- other.csv --"), tmp_path)

    found = hover(snapshot, str(tmp_path / MAIN), files[MAIN].text.index("rows.csv"), None)

    assert found is not None
    assert "there is no file `rows.csv`" in found.markdown
