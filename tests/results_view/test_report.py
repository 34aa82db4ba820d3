from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from promptls.cli.main import main
from promptls.experiments.history import RunSummary
from promptls.results_view.html_report import packed_rows, report_html
from promptls.results_view.notes import save_note
from support.finished_run import write_run

PAYLOAD = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
HEAD = "id,text,expected,response,exact_match,error,model,repeat,row_number"


@pytest.fixture
def runs(tmp_path: Path) -> list[RunSummary]:
    """Return two runs over four rows; in the second, one row has failed and one contains a payload."""
    dataset = tmp_path / "rows.csv"
    dataset.write_text("id,text,expected\n", "utf-8")
    tables = [
        f"{HEAD}\na,one,x,x,pass,,m,1,1\nb,two,x,y,fail,,m,1,2\nc,three,x,z,fail,,m,1,3\nd,four,x,x,pass,,m,1,4\n",
        f"{HEAD}\na,one,x,x,pass,,m,1,1\nb,two,x,{PAYLOAD},fail,,m,1,2\nc,three,x,,,gone,m,1,3\nd,four,x,x,pass,,m,1,4\n",
    ]
    return [
        write_run(
            tmp_path / "ask.yml.j2",
            "- name: a\n",
            table,
            experiment="main",
            dataset=dataset,
            name=f"20260101-00000{index}-ask",
        )
        for index, table in enumerate(tables)
    ]


def embedded(html: str) -> dict[str, Any]:
    """Return the data that the page decompresses."""
    found = re.search(r'id="report-data">([^<]*)</script>', html)
    assert found is not None
    value: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(found[1])))
    return value


def test_a_report_contains_all_rows_of_its_runs_and_their_pairs(runs: list[RunSummary]) -> None:
    data = embedded(report_html(runs))
    assert [run["name"] for run in data["view"]["runs"]] == [run.name for run in runs]
    assert [table["states"] for table in data["tables"]] == ["gffg", "gfeg"]
    assert data["tables"][1]["rows"][1][3] == PAYLOAD
    assert data["pairs"] == [[[0, 0, 0], [1, 1, 1], [2, 2, 1], [3, 3, 0]]]
    assert [run["leftOut"] for run in data["view"]["runs"]] == [[], []]
    [metric] = data["view"]["comparisons"][0]["metrics"]
    assert metric["moves"] == {"higher": 0, "lower": 0, "same": 3}
    assert metric["points"] == [[0.0, 0.0, 1], [1.0, 1.0, 2]]


def test_a_payload_is_never_executable_in_the_page(runs: list[RunSummary]) -> None:
    html = report_html(runs)
    assert "alert(" not in html
    script = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert len(script) == 1
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy[1].startswith(f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert "connect-src" not in policy[1]


def test_of_too_many_rows_those_that_are_not_good_stay_and_the_report_says_so(
    runs: list[RunSummary],
) -> None:
    tables, left_out = packed_rows(runs, max_cells=100)
    assert [(table["places"], table["states"]) for table in tables] == [
        ([0, 1, 2], "gff"),
        ([0, 2, 3], "geg"),
    ]
    [words] = left_out[1]
    assert words.startswith("1 of 4 rows are left out, because the report would be too large")


def test_a_key_of_the_environment_is_in_no_report(
    runs: list[RunSummary], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = 'planted "key" 0123456789'
    save_note(runs[0], 0, None, f"they said {key}")
    assert key in embedded(report_html(runs))["view"]["runs"][0]["notes"]["0"]["text"]
    monkeypatch.setenv("OFFICE_API_KEY", key)
    reported = embedded(report_html(runs))["view"]["runs"][0]["notes"]["0"]["text"]
    assert reported == "they said [key]"


def test_the_command_writes_one_file_and_says_how_large_it_is(
    runs: list[RunSummary], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "report.html"
    assert main(["report", *(str(run.results) for run in runs), "-o", str(target)]) == 0
    assert re.search(r"report\.html: 2 runs, 8 rows, [\d,]+ KB\n", capsys.readouterr().out)
    page = target.read_text("utf-8")
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert main(["report", str(runs[0].results), "-o", str(tmp_path / "no" / "report.html")]) == 1
    assert "cannot be written" in capsys.readouterr().err
