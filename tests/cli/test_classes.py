from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptls.cli.main import main
from support.experiment_folder import Folder
from support.finished_run import write_run

TABLE = """\
id,kind,response,error,model
1,A,A,,echo
2,A,B,,echo
3,B,B,,echo
4,B,,,echo
"""


@pytest.fixture
def run(tmp_path: Path) -> str:
    dataset = tmp_path / "rows.csv"
    dataset.write_text("id,kind\n", "utf-8")
    found = write_run(tmp_path / "ask.yml.j2", "- content: hi\n", TABLE, experiment="main", dataset=dataset)
    return str(found.results)


def test_each_class_and_its_confusions_are_printed(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["classes", run, "--expected", "kind"]) == 0
    assert (
        capsys.readouterr().out
        == """\
response against kind
4 rows, 1 of them without a class: 50 % are right

class             precision  recall    F1  rows  predicted
A                     100 %    50 %  67 %     2          1
B                      50 %    50 %  50 %     2          2
macro average          75 %    50 %  58 %
weighted average       75 %    50 %  58 %

expected \\ predicted  A  B  (no answer)
A                     1  1            ·
B                     ·  1            1
"""
    )


def test_a_sentence_as_a_class_leaves_the_table_readable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = tmp_path / "rows.csv"
    dataset.write_text("id,kind\n", "utf-8")
    said = "id,kind,response,error,model\n1,A," + "a long sentence " * 20 + ",,echo\n"
    run = write_run(tmp_path / "ask.yml.j2", "- content: hi\n", said, experiment="main", dataset=dataset)

    assert main(["classes", str(run.results), "--expected", "kind"]) == 0
    shown = capsys.readouterr().out
    assert "a long sentence a long sentence…" in shown
    assert max(map(len, shown.splitlines())) < 100


def test_programs_get_the_same_as_json(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["classes", run, "--expected", "kind", "--json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)["reports"]
    assert (report["accuracy"], report["confusion"]) == (0.5, [[1, 1, 0], [0, 1, 1], [0, 0, 0]])


def test_a_run_that_says_no_classes_is_wrong_use(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["classes", run]) == 2
    assert "--expected COLUMN" in capsys.readouterr().err


async def test_the_output_key_names_the_column_with_the_expected_classes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await Folder(tmp_path).write(metrics="exact_match").run()

    assert main(["classes", str(tmp_path / "ask.yml.j2")]) == 0
    assert capsys.readouterr().out.startswith("response against answer\n4 rows: 50 % are right\n")
