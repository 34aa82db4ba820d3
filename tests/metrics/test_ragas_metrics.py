"""The metrics of Ragas, scored by the real library in its own environment, with a server as the judge.

The environment is `ragas` in promptls's cache folder, with the dependencies of
`promptls[ragas,remote,metrics]`. Tests that need it are skipped if it does not exist.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import promptls
from promptls.metrics.builtin_metrics import BUILTIN_METRICS, page_of_metric
from promptls.metrics.ragas_metrics import RAGAS_METRICS, conversation, tool_calls
from promptls.metrics.values import context_texts
from promptls.text.errors import UserError
from support.model_server import ModelServer, Reply, model_server

CACHE = Path(os.environ.get("PROMPTLS_CACHE") or Path.home() / ".cache" / "promptls")
INTERPRETER = CACHE / "ragas" / "bin" / "python"
needs_ragas = pytest.mark.skipif(not INTERPRETER.exists(), reason="Ragas is not installed beside promptls")

CALLS = '[{"name": "book", "args": {"table": 2}}]'
ROW = {
    "user_input": "Where is Paris?",
    "expected": "Paris is in France.",
    "retrieved_contexts": '["Paris is the capital of France.", "Rome is in Italy."]',
    "reference_contexts": '["Paris is the capital of France."]',
    "reference_topics": '["geography"]',
    "reference_tool_calls": CALLS,
    "conversation": '[{"role": "user", "content": "A table, please."}, '
    '{"role": "assistant", "content": "Yes.", "tool_calls": ' + CALLS + "}]",
    "csv": "a,b\n1,2\n",
}
FIXED = {"rating": 2, "noncommittal": 0}
PROMPT = """\
{#---
input_keys: [user_input]
experiments:
  main:
    dataset: rows.csv
    models: [echo]
    metrics: [METRICS]
---#}
- name: question
  role: user
  content: |
    {{ escape_special_characters(user_input) }}
"""


@pytest.fixture
def judge() -> Iterator[ModelServer]:
    with model_server() as running:
        running.reply = judged
        yield running


def judged(body: dict[str, Any]) -> Reply:
    """Return the simplest answer that the schema allows, or one vector for each text."""
    if "input" in body:
        data = [{"index": index, "embedding": [1.0, 0.5]} for index in range(len(body["input"]))]
        return Reply(raw=json.dumps({"data": data, "usage": {"prompt_tokens": 3}}).encode())
    schema = body["response_format"]["json_schema"]["schema"]
    return Reply(json.dumps(instance(schema, schema.get("$defs", {}))))


def instance(schema: dict[str, Any], definitions: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return instance(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "enum" in schema or "const" in schema:
        return schema["enum"][-1] if "enum" in schema else schema["const"]
    kind = schema.get("type") or next(each["type"] for each in schema["anyOf"])
    if kind == "object":
        # Ratings are even numbers with some of the classes, and go up to 2 with the others.
        return {
            name: FIXED[name] if name in FIXED else instance(each, definitions)
            for name, each in schema.get("properties", {}).items()
        }
    if kind == "array":
        return [instance(schema["items"], definitions)]
    return {"string": "Paris", "integer": 1, "number": 1.0, "boolean": True, "null": None}[kind]


def run(folder: Path, judge: ModelServer) -> dict[str, str]:
    """Return the result row of a run of all metrics, in an environment that has Ragas."""
    names = [metric.name for metric in RAGAS_METRICS]
    (folder / "ask.yml.j2").write_text(PROMPT.replace("METRICS", ", ".join(names)), "utf-8")
    with (folder / "rows.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(ROW))
        writer.writeheader()
        writer.writerow(ROW)
    settings = ['judge = "judge"', "[models.judge]", 'provider = "openai"', 'model = "large"']
    settings.append(f'base_url = "{judge.url}"')
    for metric in RAGAS_METRICS:
        settings += [f"[metrics.{metric.name}]", f'use = "{metric.name}"']
        if metric.embeds:
            settings.append('embeddings = "judge"')
        columns = {
            **({"response": "csv", "reference": "csv"} if metric.name == "datacompy_score" else {}),
            **({"user_input": "conversation"} if "tool" in metric.name or "agent" in metric.name else {}),
        }
        if columns:
            settings.append(
                f"columns = {{{', '.join(f'{name} = {column!r}' for name, column in columns.items())}}}"
            )
    (folder / "promptls.toml").write_text("\n".join(settings), "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(Path(promptls.__file__).parents[1])}
    done = subprocess.run(
        [INTERPRETER, "-m", "promptls", "run", "ask.yml.j2"],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    (table,) = (folder / "experiments").glob("*.csv")
    with table.open(encoding="utf-8", newline="") as stream:
        (row,) = csv.DictReader(stream)
    return row


@needs_ragas
@pytest.mark.install
def test_ragas_scores_a_row_with_every_metric_and_asks_our_judge(tmp_path: Path, judge: ModelServer) -> None:
    row = run(tmp_path, judge)
    missing = {metric.name: row[f"{metric.name}_reason"] for metric in RAGAS_METRICS if not row[metric.name]}
    assert missing == {}
    scores = {metric.name: float(row[metric.name]) for metric in RAGAS_METRICS}
    assert all(-1e-6 <= score <= 1 + 1e-6 for score in scores.values())
    assert (scores["tool_call_accuracy"], scores["tool_call_f1"], scores["datacompy_score"]) == (1, 1, 1)
    assert scores["answer_relevancy"] == pytest.approx(1)
    requests = [body for body in judge.requests if "messages" in body]
    assert int(row["judge_calls"]) >= len(requests) > len(RAGAS_METRICS)


@needs_ragas
@pytest.mark.install
def test_a_judge_that_says_nonsense_is_no_score_of_ragas(tmp_path: Path, judge: ModelServer) -> None:
    judge.reply = lambda body: judged(body) if "input" in body else Reply("I would rather not.")
    row = run(tmp_path, judge)
    for metric in RAGAS_METRICS:
        if metric.asks:
            assert row[metric.name] == ""
            assert "the judge gave no verdict" in row[f"{metric.name}_reason"]


def test_without_ragas_a_score_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from promptls.metrics import ragas_metrics

    ragas_metrics._ragas.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "ragas", None)
    result = BUILTIN_METRICS["tool_call_f1"].score(user_input="a", response="b", reference_tool_calls=CALLS)
    ragas_metrics._ragas.cache_clear()
    assert result.value is None
    assert 'pip install "promptls[ragas]"' in str(result.reason)


@pytest.mark.parametrize("metric", RAGAS_METRICS, ids=lambda metric: metric.name)
def test_every_metric_has_a_page(metric: Any) -> None:
    page = page_of_metric(metric.name)
    assert page.startswith(metric.summary)
    assert all(f"`{option}`" in page for option in metric.options)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(["a", "b"], ["a", "b"]), ('["a"]', ["a"]), ("[not JSON", ["[not JSON"]), ("a", ["a"]), ("", [])],
)
def test_contexts_are_lists_of_texts(value: object, expected: list[str]) -> None:
    assert context_texts(value) == expected


def test_a_response_ends_a_conversation_and_may_call_tools() -> None:
    question, answer = conversation("Book it.", '{"tool_calls": ' + CALLS + "}")
    assert question == {"role": "user", "content": "Book it.", "tool_calls": []}
    assert answer["tool_calls"] == [{"name": "book", "args": {"table": 2}}]
    assert len(conversation(ROW["conversation"], "ignored")) == 2
    assert conversation("Book it.", "[1, 2]")[-1]["tool_calls"] == []


def test_tool_calls_of_openai_are_understood() -> None:
    openai = [{"type": "function", "function": {"name": "book", "arguments": '{"table": 2}'}}]
    assert tool_calls(json.dumps(openai)) == [{"name": "book", "args": {"table": 2}}]


@pytest.mark.parametrize("value", ["prose", '[{"args": {}}]', '[{"name": "a", "args": 3}]', "[3]"])
def test_an_invalid_tool_call_is_reported(value: str) -> None:
    with pytest.raises(UserError):
        tool_calls(value)


@pytest.mark.parametrize("value", ['[{"role": "robot", "content": "a"}]', "[3]"])
def test_an_invalid_message_is_reported(value: str) -> None:
    with pytest.raises(UserError):
        conversation(value, "response")
