from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptls.cli.main import main

pytestmark = pytest.mark.usefixtures("folder")


def written(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", ["parts", "object", "evaluation"])
@pytest.mark.parametrize("words", [[], ["--alone"], ["--with", "experiment"]])
def test_what_is_written_has_no_findings_and_is_laid_out(
    kind: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "first", "--kind", kind, *words]) == 0
    capsys.readouterr()

    assert main(["check", "first.yml.j2"]) == 0
    assert capsys.readouterr().out == "No findings in 1 prompt.\n"
    assert main(["format", "--check"]) == 0


@pytest.mark.parametrize("kind", ["parts", "object"])
def test_what_is_written_renders_and_its_experiment_runs(
    folder: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "promptls.toml").write_text('default_model = "echo:echo"\n')

    assert main(["new", "first", "--kind", kind, "--with", "experiment"]) == 0
    assert main(["render", "first.yml.j2", "--string"]) == 0
    assert "What is the capital of France?" in capsys.readouterr().out
    assert main(["run", "first.yml.j2"]) == 0
    assert "string_presence" in capsys.readouterr().out


def test_an_evaluation_prompt_asks_the_rows_beside_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "promptls.toml").write_text('default_model = "echo:echo"\n')

    assert main(["new", "first", "--kind", "evaluation", "--with", "experiment"]) == 0
    assert "next: promptls run first.yml.j2" in capsys.readouterr().out
    assert main(["render", "first.yml.j2", "--viewer", "--row", "2"]) == 0
    assert "How many legs does a spider have?" in capsys.readouterr().out
    assert main(["run", "first.yml.j2"]) == 0
    assert "string_presence" in capsys.readouterr().out
    assert main(["new", "second", "--kind", "evaluation", "--with", "sample"]) == 2


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (["a"], {"a.yml.j2", "samples/a.yml", "datasets/a.csv"}),
        (["p/a.yml.j2"], {"p/a.yml.j2", "p/samples/a.yml", "p/datasets/a.csv"}),
        (["a", "--alone"], {"a.yml.j2"}),
        (["a", "--alone", "--with", "dataset"], {"a.yml.j2", "datasets/a.csv"}),
        (["a", "--kind", "evaluation"], {"a.yml.j2", "datasets/a.csv"}),
    ],
)
def test_the_files_are_named_after_the_prompt(folder: Path, words: list[str], files: set[str]) -> None:
    assert main(["new", *words]) == 0
    assert written(folder) == files


def test_nothing_is_written_where_a_file_is_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "datasets").mkdir()
    (folder / "datasets" / "a.csv").write_text("mine")

    assert main(["new", "a"]) == 2
    assert written(folder) == {"datasets/a.csv"}
    assert "--force" in capsys.readouterr().err
    assert main(["new", "a", "--force"]) == 0
    assert (folder / "datasets" / "a.csv").read_text() != "mine"


@pytest.mark.parametrize("name", ["", ".", "..", "a/", "-", "a b", ".hidden"])
def test_an_invalid_name_is_rejected(folder: Path, name: str) -> None:
    assert main(["new", "--", name] if name.startswith("-") else ["new", name]) == 2
    assert written(folder) == set()


def test_json_names_the_files(capsys: pytest.CaptureFixture[str]) -> None:
    main(["new", "a", "--alone", "--json"])

    assert json.loads(capsys.readouterr().out) == {"files": ["a.yml.j2"]}
