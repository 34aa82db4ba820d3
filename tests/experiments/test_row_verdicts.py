from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

from promptls.experiments.history import RunSummary, last_runs, read_run
from promptls.experiments.results_table import good_rows
from promptls.experiments.verdicts import junit_report, latest_verdicts, row_verdicts, standing_failures
from support.finished_run import write_run

TABLE = (
    "id,text,labels,response,predicted_labels,exact_match,exact_match_reason,error,seconds,row_number,model\n"
    '1,one,a,"{""labels"": ""a""}",a,pass,,,0.5,1,first\n'
    '1,one,a,"{""labels"": ""b""}",b,fail,not a,,0.25,1,second\n'
    "2,two,b,,,,,it broke,,2,first\n"
    '3,three,c,"{""labels"": ""c""}",c,pass,,,1,3,first\n'
)
PROMPT = "- name: a\n  content: x\n"


def run_of(folder: Path, table: str = TABLE, name: str = "last-run", rows: str | None = None) -> RunSummary:
    """Return a run over a dataset, of all rows or of those in `rows`."""
    dataset = folder / "rows.csv"
    dataset.write_text("text\none\ntwo\nthree\n", "utf-8")
    run = write_run(folder / "a.yml.j2", PROMPT, table, experiment="main", dataset=dataset, name=name)
    manifest = json.loads(run.manifest.read_text("utf-8"))
    manifest["dataset"]["rows"] = rows
    run.manifest.write_text(json.dumps(manifest), "utf-8")
    return run


def test_the_worst_result_of_a_row_counts_with_both_sides_in_one_form(tmp_path: Path) -> None:
    first, second, third = row_verdicts(run_of(tmp_path))

    assert (first.number, first.state, first.seconds) == (1, "failed", 0.75)
    assert first.message == "exact_match says `fail`: not a with `second`"
    assert (first.expected, first.actual) == ('{\n  "labels": "a"\n}', '{\n  "labels": "b"\n}')
    assert (second.state, second.message, second.actual) == ("errored", "failed with `first`: it broke", "")
    assert (third.state, third.message) == ("passed", "")


def test_rows_that_were_run_again_have_their_newest_verdict(tmp_path: Path) -> None:
    run_of(tmp_path, name="20260101-000000-a")
    again = "id,text,response,exact_match,error,row_number,model\n1,one,x,pass,,1,first\n"
    run_of(tmp_path, again, name="20260102-000000-a", rows="1,")
    of_example = "id,text,response,exact_match,error,row_number,model\nexample 3,z,x,fail,,3,first\n"
    run_of(tmp_path, of_example, name="20260103-000000-a", rows="example 3")

    runs = last_runs(tmp_path / "a.yml.j2", "main")

    assert runs.scored is not None
    assert runs.scored.name == "20260101-000000-a"
    assert [run.name for run in runs.later] == ["20260103-000000-a", "20260102-000000-a"]
    assert [(run.name, row.number) for run, row in standing_failures(runs.newest_first)] == [
        ("20260101-000000-a", 2)
    ]
    found = latest_verdicts(run for run in runs.newest_first if run.rows_chosen != "example 3")
    assert {verdict.number: verdict.state for _, verdict in found} == {1: "passed", 2: "errored", 3: "passed"}


def test_a_run_whose_table_is_missing_says_nothing_about_rows(tmp_path: Path) -> None:
    run_of(tmp_path, name="20260101-000000-a")
    run_of(tmp_path, name="20260102-000000-a", rows="2,").results.unlink()

    runs = last_runs(tmp_path / "a.yml.j2", "main").newest_first

    assert [(run.name, row.number) for run, row in standing_failures(runs)] == [
        ("20260101-000000-a", 1),
        ("20260101-000000-a", 2),
    ]


def test_a_table_that_a_program_has_written_has_a_report(tmp_path: Path) -> None:
    run = run_of(tmp_path, "text,exact_match,exact_match_reason\none,pass,\ntwo,fail,not a\n")

    report = ET.fromstring(junit_report([(run, ())]))

    assert [case.get("time") for case in report.iter("testcase")] == ["0", "0"]
    assert [each.get("message") for each in report.iter("failure")] == ["exact_match is `fail`: not a"]


def test_a_score_that_is_no_number_is_missing(tmp_path: Path) -> None:
    run = run_of(tmp_path, "text,exact_match,error,row_number,model\none,0.5,,1,x\ntwo,half,,2,x\n")
    manifest = json.loads(run.manifest.read_text("utf-8"))
    manifest["metrics"][0] |= {"kind": "numeric", "allowed_values": "(0.0, 1.0)"}
    run.manifest.write_text(json.dumps(manifest), "utf-8")

    scores = [result.scores["exact_match"].value for result in good_rows(read_run(run.manifest))]

    assert scores == [0.5, None]


def test_a_run_of_an_older_prompt_says_nothing_against_rows(tmp_path: Path) -> None:
    run_of(tmp_path, name="20260101-000000-a")
    prompt = tmp_path / "a.yml.j2"

    stale = last_runs(prompt, "main", unsaved={str(prompt): PROMPT.replace("x", "y")})

    assert list(standing_failures(stale.newest_first)) == []
