"""The pytest plugin, in separate sessions that run experiments with an echoing model."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.experiment_folder import Folder

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def no_other_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load only the plugin and pytest-asyncio, because loading all installed plugins takes a second."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "promptls.pytest_plugin.plugin,pytest_asyncio.plugin")


def session(pytester: pytest.Pytester, settings: str, *options: str, test: str = "") -> pytest.RunResult:
    """Return the result of a session over a folder with an experiment; half of its rows score `yes`."""
    folder = pytester.path
    Folder(folder).write(settings=settings)
    if test:
        (folder / "test_prompts.py").write_text(test, encoding="utf-8")
    return pytester.runpytest_inprocess(
        "-p", "no:cacheprovider", "-o", "asyncio_default_fixture_loop_scope=function", *options
    )


def text_of(result: pytest.RunResult) -> str:
    return "\n".join(result.outlines)


def test_each_threshold_of_a_prompt_file_is_a_test(pytester: pytest.Pytester) -> None:
    result = session(pytester, "thresholds: {right: 0.5, length: 6}", "--promptls", "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*ask.yml.j2::main::right PASSED*", "*ask.yml.j2::main::length PASSED*"])


def test_a_missed_threshold_shows_the_score_and_the_rows(pytester: pytest.Pytester) -> None:
    result = session(pytester, "thresholds: {right: 0.9}", "--promptls")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*right is 50 %, and must be at least 90 %", "*row 2: right says `no`*"])
    assert "Traceback" not in text_of(result)


def test_all_thresholds_of_an_experiment_share_one_run(pytester: pytest.Pytester) -> None:
    session(pytester, "thresholds: {right: 0.5, length: 6}", "--promptls")
    assert len(list((pytester.path / "experiments").glob("*.csv"))) == 1


def test_prompt_files_are_left_alone_unless_they_are_asked_for(pytester: pytest.Pytester) -> None:
    session(pytester, "thresholds: {right: 0.9}").assert_outcomes()


def test_a_setting_of_pytest_collects_prompt_files_too(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\npromptls = true\n")
    session(pytester, "thresholds: {right: 0.5}").assert_outcomes(passed=1)


def test_a_threshold_of_no_metric_is_an_error_that_says_which_there_are(pytester: pytest.Pytester) -> None:
    result = session(pytester, "thresholds: {rihgt: 0.5}", "--promptls")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*no metric `rihgt`; did you mean `right`?*"])


def test_a_test_function_runs_experiments_and_asserts_scores(pytester: pytest.Pytester) -> None:
    test = """
def test_scores(promptls):
    run = promptls.run("ask.yml.j2", "main")
    assert run.score("right") == 0.5
    assert [row["right"] for row in run.rows()] == ["yes", "no", "yes", "no"]
    assert promptls.run("ask.yml.j2", "main") is run

def test_check(promptls):
    promptls.run("ask.yml.j2").check("right", 0.75)

async def test_in_a_loop(promptls):
    promptls.run("ask.yml.j2", rows=2).check("length", 5)
"""
    result = session(pytester, "concurrency: 2", "-o", "asyncio_mode=auto", test=test)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*right is 50 %, and must be at least 75 %"])


def test_the_rows_and_the_model_can_be_chosen_for_a_session(pytester: pytest.Pytester) -> None:
    options = ("--promptls", "--promptls-rows", "1", "--promptls-model", "echo")
    session(pytester, "thresholds: {right: 1}", *options).assert_outcomes(skipped=1)
    (table,) = (pytester.path / "experiments").glob("*.csv")
    assert len(Path(table).read_text(encoding="utf-8").splitlines()) == 2
