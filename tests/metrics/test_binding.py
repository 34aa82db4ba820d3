from __future__ import annotations

import pytest

from promptls.metrics.binding import bound_arguments, check_binding
from promptls.metrics.decorators import numeric_metric
from promptls.text.failure import WrongUse

ROW = {"id": "1", "labels": "A;B", "reply": "hello"}


def bind(function, row=ROW, output_key="reply"):
    metric = numeric_metric()(function)
    check_binding(metric, tuple(row), output_key)
    return bound_arguments(metric, row, "the answer", output_key)


def test_the_response_has_three_names():
    assert bind(lambda response, prediction, predicted: 0) == dict.fromkeys(
        ("response", "prediction", "predicted"), "the answer"
    )


def test_a_column_is_bound_by_its_name_also_behind_expected():
    assert bind(lambda labels, expected_labels: 0) == {"labels": "A;B", "expected_labels": "A;B"}


def test_a_column_of_the_whole_name_goes_first():
    row = {**ROW, "expected_labels": "C", "prediction": "column"}
    assert bind(lambda expected_labels, prediction: 0, row) == {
        "expected_labels": "C",
        "prediction": "column",
    }


def test_expected_is_the_column_of_that_name_else_of_the_output_key():
    assert bind(lambda expected: 0) == {"expected": "hello"}
    assert bind(lambda expected: 0, {**ROW, "expected": "E"}) == {"expected": "E"}


def test_row_is_the_whole_row():
    assert bind(lambda row: 0) == {"row": ROW}


def test_a_parameter_with_a_default_may_stand_for_nothing():
    assert bind(lambda response, weight=2: 0) == {"response": "the answer"}


def test_a_function_of_any_arguments_gets_the_response_and_every_column():
    assert bind(lambda **anything: 0) == {"response": "the answer", **ROW}


def test_a_parameter_that_nothing_gives_names_metric_parameter_and_columns():
    with pytest.raises(WrongUse, match=r"the metric `score` needs `expected_label`.*`labels`") as failure:

        def score(response, expected_label):
            return 0

        bind(score)
    assert "`id`, `labels`, `reply`" in failure.value.remedy
