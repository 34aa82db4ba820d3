from __future__ import annotations

from pathlib import Path

import pytest

from promptls.experiments.classification import NO_ANSWER, OTHER, Classification, classifications, classify
from promptls.experiments.history import RunSummary
from promptls.text.errors import UsageError
from support.finished_run import write_run

HEAD = "id,text,labels,priority,response,predicted_labels,predicted_priority,answer_match,error,model\n"


def run_with(folder: Path, lines: str, head: str = HEAD) -> RunSummary:
    dataset = folder / "rows.csv"
    dataset.write_text("id,text\n", "utf-8")
    prompt = folder / "ask.yml.j2"
    return write_run(prompt, "- content: hi\n", head + lines, experiment="main", dataset=dataset)


def single(expected: str, said: str) -> Classification:
    def classes(letter: str) -> frozenset[str]:
        return frozenset() if letter == "-" else frozenset([letter])

    return classify((classes(one), classes(other)) for one, other in zip(expected, said, strict=True))


def test_the_numbers_are_those_of_scikit_learn() -> None:
    # The example of `sklearn.metrics.classification_report` in its documentation.
    report = single("01222", "00221")
    assert [
        (score.name, round(score.precision, 2), round(score.recall, 2), round(score.f1, 2), score.support)
        for score in report.classes
    ] == [("0", 0.5, 1.0, 0.67, 1), ("1", 0.0, 0.0, 0.0, 1), ("2", 1.0, 0.67, 0.8, 3)]
    assert report.accuracy == pytest.approx(0.6)
    averages = {
        each.name: (round(each.precision, 2), round(each.recall, 2), round(each.f1, 2))
        for each in report.averages
    }
    assert averages["macro"] == (0.5, 0.56, 0.49)
    assert averages["weighted"] == (0.7, 0.6, 0.61)
    assert averages["micro"] == (0.6, 0.6, 0.6)


def test_the_confusion_table_is_that_of_scikit_learn() -> None:
    # The example of `sklearn.metrics.confusion_matrix` in its documentation.
    report = single("202201", "002202")
    assert report.names == ("0", "1", "2")
    assert report.confusion == ((2, 0, 0), (0, 0, 1), (1, 0, 2))


def test_rows_of_several_classes_are_counted_class_by_class() -> None:
    report = classify(
        [
            (frozenset({"A", "B"}), frozenset({"A"})),
            (frozenset({"B"}), frozenset({"B", "C"})),
            (frozenset({"C"}), frozenset({"C"})),
        ]
    )
    assert report.several
    assert report.confusion == ()
    assert report.accuracy == pytest.approx(1 / 3)
    assert [(score.name, score.precision, score.recall, score.support) for score in report.classes] == [
        ("A", 1.0, 1.0, 1),
        ("B", 1.0, 0.5, 2),
        ("C", 0.5, 1.0, 1),
    ]
    micro = report.averages[0]
    assert (micro.precision, micro.recall) == (0.75, 0.75)


def test_a_response_without_a_class_is_a_column_of_its_own() -> None:
    report = single("AAB", "A-B")
    assert report.names == ("A", "B", NO_ANSWER)
    assert report.confusion == ((1, 0, 1), (0, 1, 0), (0, 0, 0))
    assert (report.unanswered, report.classes[0].recall) == (1, 0.5)


def test_many_classes_that_nobody_expects_are_put_together() -> None:
    rows = [(frozenset({"A"}), frozenset({f"free text {index}"})) for index in range(30)]
    report = classify(rows)
    assert len(report.classes) == 22
    assert next(score for score in report.classes if score.name == OTHER).predicted == 10
    assert sum(map(sum, report.confusion)) == 30


def test_no_rows_are_a_report_without_classes() -> None:
    report = classify([])
    assert (report.rows, report.accuracy, report.classes, report.averages) == (0, 0.0, (), ())


def test_columns_of_answers_find_the_columns_that_are_expected(tmp_path: Path) -> None:
    run = run_with(
        tmp_path,
        "1,a,Billing;Refund,P1,x,Billing,P1,pass,,echo\n"
        "2,b,Billing,P2,x,Billing,P1,pass,,echo\n"
        "3,c,,P2,x,,,,it broke,echo\n"
        "4,d,,P2,x,Billing,P2,fail,,echo\n",
    )
    labels, priority = classifications(run)
    assert (labels.expected, labels.predicted) == ("labels", "predicted_labels")
    assert (labels.several, labels.rows, labels.failed, labels.unlabeled) == (True, 2, 1, 1)
    assert labels.accuracy == 0.5
    assert priority.confusion == ((1, 0), (1, 1))


def test_a_field_of_a_response_in_json_is_compared(tmp_path: Path) -> None:
    run = run_with(
        tmp_path,
        '1,A,"{""t"": {""kind"": ""A""}}",,echo\n2,B,"{""t"": {""kind"": ""A""}}",,echo\n3,B,no JSON,,echo\n',
        "id,kind,response,error,model\n",
    )
    (report,) = classifications(run, expected="kind", field="t.kind")
    assert report.predicted == "response.t.kind"
    assert report.confusion == ((1, 0, 0), (1, 0, 1), (0, 0, 0))
    assert report.unanswered == 1


def test_a_metric_is_compared_with_what_people_say(tmp_path: Path) -> None:
    run = run_with(
        tmp_path, "1,pass,x,pass,,echo\n2,fail,x,pass,,echo\n", "id,human,response,kind_match,error,model\n"
    )
    (report,) = classifications(run, expected="human", predicted="kind_match")
    assert report.names == ("fail", "pass")
    assert report.confusion == ((0, 1), (0, 1))


def test_a_response_that_is_prose_is_one_class(tmp_path: Path) -> None:
    run = run_with(
        tmp_path,
        "1,A;B,B;A,,echo\n2,A,I think; therefore A,,echo\n",
        "id,expected,response,error,model\n",
    )
    (report,) = classifications(run)
    assert [score.name for score in report.classes] == ["A", "B", "I think; therefore A"]
    assert report.accuracy == 0.5


def test_every_model_has_its_own_report(tmp_path: Path) -> None:
    run = run_with(tmp_path, "1,A,A,,one\n1,A,B,,two\n", "id,expected,response,error,model\n")
    assert [(report.model, report.accuracy) for report in classifications(run)] == [
        ("one", 1.0),
        ("two", 0.0),
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"expected": "labls"}, "no column `labls`; did you mean `labels`"),
        ({"predicted": "nope"}, "no column `nope`"),
        ({"field": "nope"}, "column with the expected classes is unknown"),
    ],
)
def test_wrong_columns_are_reported(tmp_path: Path, options: dict[str, str], words: str) -> None:
    run = run_with(tmp_path, "1,a,Billing,P1,x,Billing,P1,pass,,echo\n")
    with pytest.raises(UsageError, match=words):
        classifications(run, **options)


def test_a_column_of_free_text_has_no_classes(tmp_path: Path) -> None:
    lines = "".join(f"{index},text {index},x,,echo\n" for index in range(201))
    run = run_with(tmp_path, lines, "id,text,response,error,model\n")
    with pytest.raises(UsageError, match="201 different values"):
        classifications(run, expected="text")
