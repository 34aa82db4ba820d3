from __future__ import annotations

from pathlib import Path

import pytest

from promptls.semantic.kind import Kind
from promptls.workspace.settings import find_project
from promptls.workspace.workspace import Workspace


@pytest.fixture
def prompt(tmp_path: Path) -> Path:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    return folder / "ask.yml.j2"


def test_settings_are_found_in_a_folder_above(prompt: Path, tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text('encoding = "cl100k_base"\n', encoding="utf-8")
    project = find_project(prompt)
    assert (project.root, project.path) == (tmp_path, tmp_path / "promptls.toml")
    assert project.settings.encoding == "cl100k_base"
    assert project.problems == ()


def test_the_nearest_settings_count(prompt: Path, tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text('encoding = "far"\n', encoding="utf-8")
    (prompt.parent / "promptls.toml").write_text('encoding = "near"\n', encoding="utf-8")
    assert find_project(prompt).settings.encoding == "near"


def test_pyproject_counts_only_with_its_own_table(prompt: Path, tmp_path: Path) -> None:
    (prompt.parent / "pyproject.toml").write_text("[tool.other]\nx = 1\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.promptls]\nencoding = "e"\n', encoding="utf-8")
    project = find_project(prompt)
    assert (project.root, project.settings.encoding) == (tmp_path, "e")


def test_without_settings_the_prompts_folder_is_the_root(prompt: Path) -> None:
    project = find_project(prompt)
    assert (project.root, project.path) == (prompt.parent, None)
    assert project.settings.default_model == "local:smollm2"


def test_a_wrong_key_is_a_problem_with_its_line_and_the_rest_counts(prompt: Path) -> None:
    file = prompt.parent / "promptls.toml"
    file.write_text('encoding = "e"\n\n[models.x]\nprovider = "echo"\ncolor = "m"\n', encoding="utf-8")
    project = find_project(prompt)
    assert project.settings.encoding == "e"
    assert {(problem.place.path, problem.place.line) for problem in project.problems} == {
        (file, 2),
        (file, 4),
    }
    assert any("models.x.color" in problem.message for problem in project.problems)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("encodin = 'x'", 0, "there is no setting `encodin`; did you mean `encoding`"),
        ("\ntoken_limit = -3", 1, "the setting `token_limit` is wrong: input should be greater than 0"),
        ("encoding = 'x'\nroles = 'user'", 1, "the setting `roles` is wrong"),
        (
            "[models.x]\nprovider = 'echo'\n[models.y]\nprovider = 'echo'\nmodel = 'm'",
            0,
            "the setting `models.x.model` is missing",
        ),
        ("a = \n", 0, "the file is not valid TOML"),
        ("[a]\nb = [1,\n", None, "the file is not valid TOML"),
    ],
)
def test_every_mistake_is_named_and_nothing_is_raised(
    prompt: Path, text: str, line: int | None, message: str
) -> None:
    (prompt.parent / "promptls.toml").write_text(text, encoding="utf-8")
    (problem,) = find_project(prompt).problems
    assert message in problem.message
    assert line is None or problem.place.line == line


def test_bytes_that_are_no_text_are_a_problem(prompt: Path) -> None:
    (prompt.parent / "promptls.toml").write_bytes(b"\xff\xfe\x00")
    assert "cannot be read" in find_project(prompt).problems[0].message


@pytest.mark.parametrize(
    ("glob", "is_meant"),
    [
        ("a/b", True),
        ("a/b/", True),
        ("./a/**", True),
        ("**/ask.yml.j2", True),
        ("a/**/ask.yml.j2", True),
        ("a/b/**/*.yml.j2", True),
        ("a/b/*.j2", True),
        ("b/*.j2", False),
        ("a/b/**/c/*.j2", False),
        ("ask", False),
    ],
)
def test_a_glob_counts_from_the_settings(prompt: Path, tmp_path: Path, glob: str, is_meant: bool) -> None:
    (tmp_path / "promptls.toml").write_text(f"exclude = ['{glob}']\n", encoding="utf-8")
    assert find_project(prompt).excludes(str(prompt)) is is_meant


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("instruction: Help {{ who }}.\nmodel: gemini\n", Kind.OBJECT),
        ("Hello {{ who }}.\n", Kind.PARTS),
    ],
)
def test_what_the_settings_call_a_prompt_is_one(prompt: Path, tmp_path: Path, text: str, kind: Kind) -> None:
    workspace = Workspace([tmp_path])
    workspace.open(str(prompt), text, 1)
    assert workspace.snapshot.kind(str(prompt)) is Kind.OTHER
    (tmp_path / "promptls.toml").write_text("include = ['a/*']\n", encoding="utf-8")

    chosen = Workspace([tmp_path])
    chosen.open(str(prompt), text, 1)
    assert chosen.snapshot.kind(str(prompt)) is kind
