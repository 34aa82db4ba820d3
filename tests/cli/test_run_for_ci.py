from __future__ import annotations

import json
from pathlib import Path

import pytest
from junitparser import Error, Failure, JUnitXml

from promptls.cli.main import main
from support.experiment_folder import Folder
from support.model_server import Reply, model_server


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    return Folder(tmp_path).write()


@pytest.mark.parametrize(
    ("thresholds", "code"),
    [(["right=0.5"], 0), (["right=50%"], 0), (["right=0.51"], 1), (["right=0.4", "length=9"], 1)],
)
def test_a_score_below_its_threshold_is_exit_code_1(
    folder: Folder, capsys: pytest.CaptureFixture[str], thresholds: list[str], code: int
) -> None:
    words = [word for limit in thresholds for word in ("--fail-under", limit)]
    assert main(["run", str(folder.prompt), *words]) == code
    said = capsys.readouterr().err
    assert ("must be at least" in said) is bool(code)


def test_a_junit_report_has_a_case_for_each_row(folder: Folder) -> None:
    main(["run", str(folder.prompt), "--junit", "report.xml"])
    (suite,) = JUnitXml.fromfile("report.xml")
    assert (suite.tests, suite.failures, suite.errors) == (4, 2, 0)
    failed = [case for case in suite if any(isinstance(result, Failure) for result in case.result)]
    assert [case.name for case in failed] == ["row 2 (id r2)", "row 4 (id r4)"]
    assert "right is `no`: expected text other" in failed[0].result[0].message


def test_thresholds_are_cases_that_decide(folder: Folder) -> None:
    assert main(["run", str(folder.prompt), "--junit", "report.xml", "--fail-under", "right=0.9"]) == 1
    (suite,) = JUnitXml.fromfile("report.xml")
    assert (suite.tests, suite.failures, suite.errors) == (5, 1, 0)


def test_declared_thresholds_are_those_of_all_rows(folder: Folder) -> None:
    folder.write(settings="thresholds: {right: 0.9}")
    assert main(["run", str(folder.prompt), "--rows", "2"]) == 0
    assert main(["run", str(folder.prompt)]) == 1


def test_a_row_without_an_answer_is_an_error_of_the_report(folder: Folder) -> None:
    text = folder.prompt.read_text("utf-8")
    folder.prompt.write_text(text.replace("{{ escape", "{{ 1 // (text[-1] | int - 2) }}{{ escape"), "utf-8")
    assert main(["run", str(folder.prompt), "--junit", "report.xml"]) == 1
    (suite,) = JUnitXml.fromfile("report.xml")
    assert [case.name for case in suite if any(isinstance(result, Error) for result in case.result)] == [
        "row 2 (id r2)"
    ]


def test_a_run_that_got_worse_fails_where_that_is_asked(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.write(metrics="metrics.py:right")
    (folder.path / "rows.csv").write_text(
        "\n".join(["text,answer", *(f"t{index},t{index}" for index in range(40)), ""]), "utf-8"
    )
    main(["run", str(folder.prompt)])
    worse = folder.path / "worse.yml.j2"
    worse.write_text(folder.prompt.read_text("utf-8").replace("{{ escape", "no {{ escape"), "utf-8")
    main(["run", str(worse)])
    pair = [str(folder.prompt), str(worse)]
    assert main(["compare", *pair]) == 0
    assert main(["compare", *pair, "--fail-on-regression"]) == 1
    assert "worse" in capsys.readouterr().err
    assert main(["compare", *reversed(pair), "--fail-on-regression"]) == 0


def test_what_a_run_would_do_can_be_asked_alone(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(folder.prompt), "--dry-run", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert (planned["rows"], planned["calls"], planned["question"]) == (4, 4, None)
    assert not folder.results.exists()


def test_several_prompts_and_models_make_a_matrix(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    other = folder.path / "other.yml.j2"
    other.write_text(folder.prompt.read_text("utf-8").replace("{{ escape", "x {{ escape"), "utf-8")
    with model_server() as server:
        server.reply = lambda _body: Reply("text 1")
        folder.serve(server)
        words = ["run", str(folder.prompt), str(other), "--model", "echo", "--model", "office"]
        assert main(words) == 0
    matrix = capsys.readouterr().out.rpartition("prompt ")[2].splitlines()[1:]
    assert [line.split() for line in matrix] == [
        ["ask.yml.j2", "echo", "50", "%", "6"],
        ["ask.yml.j2", "office", "25", "%", "6"],
        ["other.yml.j2", "echo", "0", "%", "8"],
        ["other.yml.j2", "office", "25", "%", "6"],
    ]


def test_much_is_not_spent_without_a_yes(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    with model_server() as server:
        folder.serve(server).write(model="office")
        toml = folder.path / "promptls.toml"
        toml.write_text(toml.read_text("utf-8") + "\ninput_price = 1000000\n", "utf-8")
        assert main(["run", str(folder.prompt)]) == 2
        assert "4 calls, for about" in capsys.readouterr().err
        assert server.requests == []
        assert main(["run", str(folder.prompt), "--yes"]) == 0
        assert len(server.requests) == 4


def test_runs_are_listed_and_found_by_text(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history"]) == 1
    main(["run", str(folder.prompt), "--rows", "2"])
    capsys.readouterr()
    assert main(["history", str(folder.prompt)]) == 0
    out = capsys.readouterr().out
    assert "ask.yml.j2" in out
    assert "the first 2" in out
    assert main(["history", str(folder.prompt), "--same-text", "--json"]) == 0
    (known,) = json.loads(capsys.readouterr().out)
    assert known["values"] == {"right": 0.5, "length": 6.0}
    folder.prompt.write_text(folder.prompt.read_text("utf-8") + "\n", "utf-8")
    assert main(["history", str(folder.prompt), "--same-text"]) == 1


def test_answers_from_the_cache_are_counted_where_scores_are_shown(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    with model_server() as server:
        folder.serve(server).write(model="office")
        main(["run", str(folder.prompt), "--rows", "1"])
        assert "from the cache" not in capsys.readouterr().out
        main(["run", str(folder.prompt)])
    assert "; 1 answer from the cache" in capsys.readouterr().out
    main(["history", str(folder.prompt)])
    latest, first = capsys.readouterr().out.splitlines()[1:3]
    assert latest.endswith("1 from the cache")
    assert first.endswith("partial: the first row")


def test_models_are_listed_checked_and_tried(
    folder: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OFFICE_KEY", "planted-0123456789")
    with model_server() as server:
        server.reply = lambda _body: Reply("yes")
        folder.serve(server, api_key_env="OFFICE_KEY")
        assert main(["models", "--json"]) == 0
        office = next(each for each in json.loads(capsys.readouterr().out) if each["name"] == "office")
        assert (office["ready"], office["key"], office["answer"]) == (True, "OFFICE_KEY", None)
        assert server.requests == []
        assert main(["models", "--try", "office", "echo"]) == 0
        reported = capsys.readouterr()
        assert "yes" in reported.out
        assert "planted" not in reported.out + reported.err
        server.reply = lambda _body: Reply(status=401, raw=b"planted-0123456789 is wrong")
        assert main(["models", "--try", "office"]) == 1
        reported = capsys.readouterr()
        assert "refused the key" in reported.out
        assert "planted" not in reported.out + reported.err
    monkeypatch.delenv("OFFICE_KEY")
    assert main(["models", "office"]) == 1
    assert main(["models", "nobody:x"]) == 2
    assert main(["models", "--providers"]) == 0
