from __future__ import annotations

from pathlib import Path

from promptls.experiments.history import RunSummary
from promptls.experiments.verdicts import failed_rows, unchanged_dataset
from promptls.lint.rules.experiments.dataset_rows import rows_in_datasets
from support.finished_run import write_run

TABLE = (
    "id,text,response,exact_match,exact_match_reason,error,row_number,model\n"
    "1,one,a,pass,the same,,1,echo\n"
    "2,two,b,fail,expected c,,2,echo\n"
    "3,three,,,,it broke,3,echo\n"
    "4,four,d,,,,4,echo\n"
)
DATA = 'text,expected\none,a\n"two",c\nthree,d\nfour,e\n'


def finished(folder: Path, table: str = TABLE) -> RunSummary:
    dataset = folder / "rows.csv"
    dataset.write_text(DATA)
    return write_run(folder / "a.yml.j2", "text", table, experiment="main", dataset=dataset)


def test_rows_without_an_answer_and_those_with_a_bad_score_failed(tmp_path: Path) -> None:
    run = finished(tmp_path)

    found = failed_rows(run)

    assert [(row.number, row.is_error, row.message) for row in found] == [
        (2, False, "exact_match says `fail`: expected c"),
        (3, True, "failed: it broke"),
    ]
    assert failed_rows(run) is found


def test_the_rows_are_found_in_the_data_set_until_that_changes(tmp_path: Path) -> None:
    run = finished(tmp_path)

    dataset = tmp_path / "rows.csv"
    assert unchanged_dataset(run) == dataset
    assert [(row.line, row.message.split(",")[0]) for row in rows_in_datasets([run])] == [
        (2, "exact_match says `fail`: expected c"),
        (3, "failed: it broke"),
    ]
    dataset.write_text(f"{DATA}five,f\n")
    assert unchanged_dataset(run) is None
    assert list(rows_in_datasets([run])) == []


def test_a_deleted_table_has_no_findings(tmp_path: Path) -> None:
    run = finished(tmp_path)
    run.results.unlink()

    assert failed_rows(run) == ()


def test_several_models_are_distinguished(tmp_path: Path) -> None:
    table = "text,response,exact_match,error,row_number,model\none,a,pass,,1,first\none,b,fail,,1,second\n"
    run = finished(tmp_path, table)

    assert [row.message for row in failed_rows(run)] == ["exact_match says `fail` with `second`"]
