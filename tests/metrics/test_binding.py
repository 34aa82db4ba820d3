from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from promptls.metrics.metric import numeric_metric
from promptls.metrics.metric_loading import bound_arguments, check_binding
from promptls.text.errors import UsageError

ROW = {"id": "1", "labels": "A;B", "reply": "hello"}


def taking(parameters: str) -> Callable[..., Any]:
    """Return a function with these parameters."""
    return cast("Callable[..., Any]", eval(f"lambda {parameters}: 0"))


def bind(
    function: Callable[..., Any], row: dict[str, str] = ROW, output_key: str = "reply"
) -> dict[str, Any]:
    metric = numeric_metric()(function)
    check_binding(metric, tuple(row), output_key)
    return bound_arguments(metric, row, "the answer", output_key)


def test_the_response_has_three_names() -> None:
    assert bind(taking("response, prediction, predicted")) == dict.fromkeys(
        ("response", "prediction", "predicted"), "the answer"
    )


def test_a_column_is_bound_by_its_name_also_behind_expected() -> None:
    assert bind(taking("labels, expected_labels")) == {"labels": "A;B", "expected_labels": "A;B"}


def test_a_column_of_the_whole_name_goes_first() -> None:
    row = {**ROW, "expected_labels": "C", "prediction": "column"}
    assert bind(taking("expected_labels, prediction"), row) == {
        "expected_labels": "C",
        "prediction": "column",
    }


def test_expected_is_the_column_of_that_name_else_of_the_output_key() -> None:
    assert bind(taking("expected")) == {"expected": "hello"}
    assert bind(taking("expected"), {**ROW, "expected": "E"}) == {"expected": "E"}


def test_row_is_the_whole_row() -> None:
    assert bind(taking("row")) == {"row": ROW}


def test_a_parameter_with_a_default_is_optional() -> None:
    assert bind(taking("response, weight=2")) == {"response": "the answer"}


def test_a_function_of_any_arguments_gets_the_response_and_every_column() -> None:
    assert bind(taking("**anything")) == {"response": "the answer", **ROW}


def test_a_parameter_that_nothing_gives_names_metric_parameter_and_columns() -> None:
    def score(response: str, expected_label: str) -> int:
        return len(response + expected_label)

    with pytest.raises(UsageError, match=r"the metric `score` needs `expected_label`.*`labels`") as failure:
        bind(score)
    assert "`id`, `labels`, `reply`" in failure.value.remedy
