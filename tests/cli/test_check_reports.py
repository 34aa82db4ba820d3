from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft4Validator
from junitparser import Error, Failure, JUnitXml

from promptls.cli.main import main

SCHEMA = Path(__file__).parent / "sarif_schema" / "sarif-schema-2.1.0.json"
SOUND = "- name: question\n  role: user\n  content: Hello.\n"
WRONG_ROLE = "- name: question\n  role: usr\n  content: Hello.\n"
WRONG_TWICE = "- name: a\n  role: usr\n  content: x\n- name: b\n  role: usr\n  content: x\n"
TWO_PLACES = "- name: a\n  role: user\n  content: x\n- name: a\n  role: user\n  content: y\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the standard output of `promptls check`."""

    def run(*words: str) -> str:
        main(["check", "--no-render", *words])
        return capsys.readouterr().out

    return run


# -- SARIF --------------------------------------------------------------------


def sarif(report: Any, *words: str) -> dict[str, Any]:
    """Return the single run of a SARIF report, validated with the official schema."""
    log = json.loads(report("--format", "sarif", *words))
    schema = json.loads(SCHEMA.read_text("utf-8"))
    errors = [error.message for error in Draft4Validator(schema).iter_errors(log)]
    assert errors == []
    (run,) = log["runs"]
    read: dict[str, Any] = run
    return read


def test_the_schema_refuses_what_is_no_sarif() -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    wrong = {"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, "results": [{"level": "bad"}]}]}
    assert not Draft4Validator(schema).is_valid(wrong)


def test_sarif_of_nothing_is_sarif(report: Any) -> None:
    assert sarif(report)["results"] == []


def test_sarif_places_a_result_by_line_and_column_from_the_root_of_the_repository(
    folder: Path, report: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "p").mkdir()
    (folder / "p" / "ä %b.yml.j2").write_text("- name: 'ü😀'\n  role: usr\n  content: x\n")
    monkeypatch.chdir(folder / "p")
    (result,) = sarif(report)["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "p/%C3%A4%20%25b.yml.j2", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 2, "startColumn": 9, "endLine": 2, "endColumn": 12}


def test_sarif_describes_each_rule_that_found_something_once(folder: Path, report: Any) -> None:
    (folder / "a.yml.j2").write_text(WRONG_TWICE)
    run = sarif(report)
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["id"] == "unknown-role"
    assert "```yaml" in rule["help"]["markdown"]
    assert rule["defaultConfiguration"] == {"level": "warning"}
    assert {(result["ruleId"], result["ruleIndex"]) for result in run["results"]} == {("unknown-role", 0)}


def test_sarif_carries_the_fixes(folder: Path, report: Any) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    (result,) = sarif(report)["results"]
    (fix,) = result["fixes"]
    assert fix["description"]["text"] == "Change to `user`"
    (replacement,) = fix["artifactChanges"][0]["replacements"]
    assert replacement["insertedContent"] == {"text": "user"}
    assert replacement["deletedRegion"]["startColumn"] == 9


def test_sarif_names_related_places_with_their_lines(folder: Path, report: Any) -> None:
    (folder / "a.yml.j2").write_text(TWO_PLACES)
    (result,) = sarif(report)["results"]
    (related,) = result["relatedLocations"]
    assert related["physicalLocation"]["region"]["startLine"] == 1
    assert related["message"]["text"]


@pytest.mark.parametrize("above", ["", "{# a line that came later #}\n\n"])
def test_a_fingerprint_stays_when_lines_move(folder: Path, report: Any, above: str) -> None:
    (folder / "a.yml.j2").write_text(above + WRONG_TWICE)
    marks = [result["partialFingerprints"]["promptlsFinding/v1"] for result in sarif(report)["results"]]
    assert marks == ["600f7f0c07f372f8", "6fc8fb63749176fe"]


def test_sarif_marks_what_the_baseline_knows_as_suppressed(folder: Path, report: Any) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    report("--baseline", "known.json", "--write-baseline")
    (folder / "b.yml.j2").write_text(WRONG_ROLE)
    old, new = sarif(report, "--baseline", "known.json")["results"]
    assert (old["baselineState"], new["baselineState"]) == ("unchanged", "new")
    assert [entry["kind"] for entry in old["suppressions"]] == ["external"]
    assert new["suppressions"] == []


def test_sarif_marks_what_the_file_suppresses_as_suppressed(folder: Path, report: Any) -> None:
    silenced = WRONG_ROLE.replace("usr", "usr {# promptls: ignore[unknown-role] ours #}")
    (folder / "a.yml.j2").write_text(silenced)
    (result,) = sarif(report)["results"]
    assert [entry["kind"] for entry in result["suppressions"]] == ["inSource"]
    assert report().startswith("No findings")


def test_sarif_says_that_settings_are_wrong(folder: Path, report: Any) -> None:
    (folder / "a.yml.j2").write_text(SOUND)
    (folder / "promptls.toml").write_text('encodin = "o200k_base"\n')
    (invocation,) = sarif(report)["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolConfigurationNotifications"]
    assert "did you mean `encoding`" in notification["message"]["text"]


# -- GitHub -------------------------------------------------------------------


def test_github_gets_one_command_for_each_finding(folder: Path, report: Any) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    assert report("--format", "github") == (
        "::warning title=promptls unknown-role,file=a.yml.j2,line=2,endLine=2,col=9,endColumn=12::"
        "no model knows the role `usr`; did you mean `user`?\n"
    )


@pytest.mark.parametrize("rest", ["name", "a,b:c%d"])
def test_github_properties_and_messages_are_escaped(folder: Path, report: Any, rest: str) -> None:
    (folder / f"{rest}.yml.j2").write_text('- name: q\n  role: "a%b: c,d"\n  content: x\n')
    (command,) = report("--format", "github").splitlines()
    parsed = re.fullmatch(r"::(\w+) ((?:\w+=[^,:]*,?)+)::(.*)", command)
    assert parsed
    properties = dict(pair.split("=", 1) for pair in parsed[2].split(","))
    assert unescaped(properties["file"]) == f"{rest}.yml.j2"
    assert "`a%25b: c,d`" in parsed[3]


def unescaped(property_: str) -> str:
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        property_ = property_.replace(code, character)
    return property_


def test_github_gets_no_columns_where_a_finding_has_several_lines(folder: Path, report: Any) -> None:
    (folder / "a.yml.j2").write_text("- name: a\n  content: x\n  truncation_priority: [1,\n    2]\n")
    (command,) = report("--format", "github").splitlines()
    properties = command.split("::")[1]
    assert "line=3,endLine=" in properties
    assert "endLine=3" not in properties
    assert "col" not in properties


def test_github_places_count_from_the_workspace_of_the_job(
    folder: Path, report: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "checkout").mkdir()
    (folder / "checkout" / "a.yml.j2").write_text(WRONG_ROLE)
    monkeypatch.setenv("GITHUB_WORKSPACE", str(folder / "checkout"))
    assert ",file=a.yml.j2," in report("--format", "github")


# -- JUnit --------------------------------------------------------------------


def junit(report: Any, *words: str) -> JUnitXml:
    return JUnitXml.fromstring(report("--format", "junit", *words).encode())


def test_junit_has_a_suite_for_each_prompt_and_a_case_for_each_finding(folder: Path, report: Any) -> None:
    (folder / "a.yml.j2").write_text(WRONG_TWICE)
    (folder / "b.yml.j2").write_text(SOUND)
    (folder / "site.yml.j2").write_text("- hosts: all\n  tasks: []\n")
    suites = list(junit(report))
    assert [(suite.name, suite.tests, suite.failures) for suite in suites] == [
        ("a.yml.j2", 2, 2),
        ("b.yml.j2", 1, 0),
    ]
    case = next(iter(suites[0]))
    assert case.name == "unknown-role at 2:9"
    (failure,) = case.result
    assert isinstance(failure, Failure)
    assert "did you mean `user`" in failure.message


def test_junit_fails_only_what_fails_the_check(folder: Path, report: Any) -> None:
    (folder / "a.yml.j2").write_text(WRONG_ROLE)
    (suite,) = junit(report, "--fail-on", "error")
    assert (suite.tests, suite.failures) == (1, 0)
    (case,) = suite
    assert case.is_passed
    assert "unknown-role" in case.system_out


def test_junit_is_valid_xml_for_any_prompt(folder: Path, report: Any) -> None:
    (folder / "a.yml.j2").write_text('- name: q\n  role: "<&>\\x01"\n  content: x\n')
    (suite,) = junit(report)
    (case,) = suite
    assert "<&>" in case.result[0].message


def test_junit_says_that_settings_are_wrong(folder: Path, report: Any) -> None:
    (folder / "a.yml.j2").write_text(SOUND)
    (folder / "promptls.toml").write_text('encodin = "o200k_base"\n')
    suites = list(junit(report))
    assert [suite.name for suite in suites] == ["settings", "a.yml.j2"]
    (case,) = suites[0]
    assert isinstance(case.result[0], Error)
