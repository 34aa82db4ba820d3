"""The pages of the built-in metrics: each row of their tables has the documented score."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from promptls.metrics import builtin_judged, builtin_structure, builtin_text
from promptls.metrics.builtin_metrics import BUILTIN_METRICS, OWN_METRICS, page_of_metric
from promptls.metrics.metric import Metric
from support.judges import Embedding, Saying
from support.metric_tables import rows_of, value_of


def cases() -> Iterator[Any]:
    for name in OWN_METRICS:
        for index, row in enumerate(rows_of(page_of_metric(name))):
            yield pytest.param(name, row, id=f"{name}-{index}")


@pytest.mark.parametrize(("name", "row"), list(cases()))
def test_a_row_of_a_metrics_page_is_scored_as_the_page_says(name: str, row: dict[str, str]) -> None:
    arguments = {column: value_of(cell) for column, cell in row.items() if column != "score"}
    if "response" in arguments:
        arguments["response"] = str(arguments["response"])
    if "judge" in arguments:
        arguments["judge"] = Saying(arguments["judge"])
    if "embedder" in arguments:
        arguments["embedder"] = Embedding(arguments["embedder"])

    score = BUILTIN_METRICS[name].score(**arguments).value

    expected = value_of(row["score"])
    assert score == (pytest.approx(expected, abs=5e-4) if isinstance(expected, float) else expected)


@pytest.mark.parametrize(
    ("expected", "response", "scores"),
    [
        ("The cat sat on the mat.", "the CAT, on a mat", [0.7273, 0.7273, 0.2222]),
        ("a b a b", "b a b", [0.8571, 0.8571, 0.8]),
        ("one two three", "three two one", [0.3333, 1.0, 0.0]),
        ("a", "\u00e9", [0.0, 0.0, 0.0]),
    ],
)
def test_rouge_scores_as_the_package_rouge_score_does(
    expected: str, response: str, scores: list[float]
) -> None:
    rouge = BUILTIN_METRICS["rouge"]
    kinds = ("rougeL", "rouge1", "rouge2")
    scored = [rouge.score(expected=expected, response=response, kind=kind).value for kind in kinds]
    assert scored == pytest.approx(scores, abs=5e-5)


@pytest.mark.parametrize("name", OWN_METRICS)
def test_every_ready_metric_has_a_page_with_an_example(name: str) -> None:
    assert list(rows_of(page_of_metric(name)))


def test_every_metric_of_the_built_in_modules_is_registered() -> None:
    modules = (builtin_text, builtin_structure, builtin_judged)
    declared = {name for module in modules for name, each in vars(module).items() if isinstance(each, Metric)}
    assert declared == set(OWN_METRICS)


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("regex_match", {"response": "a", "pattern": "("}, "is not a regular expression"),
        ("json_field_match", {"response": "{}", "expected": "text"}, "name one with the option `field`"),
        ("schema_validity", {"response": "{}"}, "give the option `schema`"),
        ("schema_validity", {"response": "{}", "schema": {"type": "thing"}}, "is not a JSON Schema"),
        ("rouge", {"response": "a", "expected": "a", "kind": "rouge9"}, "there is no kind `rouge9`"),
        ("json_validity", {"response": "[" * 100_000}, "nested too deeply"),
    ],
)
def test_what_cannot_be_scored_says_what_to_do(name: str, arguments: dict[str, Any], reason: str) -> None:
    assert reason in str(BUILTIN_METRICS[name].score(**arguments).reason)
