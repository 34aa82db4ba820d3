"""Counts with the `tokenizer.json` file of an open model."""

from __future__ import annotations

from pathlib import Path

import pytest

from promptls.cli.main import main
from promptls.lint.runner import check
from promptls.lint.settings_problems import settings_problems
from promptls.tokens import VocabularyError, chat_tokens, count, count_strictly, is_approximate, pieces
from promptls.tokens.tokenizer_files import encoding_title
from promptls.workspace.settings import find_project
from promptls.workspace.workspace import Workspace

tokenizers = pytest.importorskip("tokenizers")

PROMPT = "- name: a\n  role: user\n  content: how much is it\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a tokenizer of a few words, with a special token."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["[UNK]", "how", "much", "is", "it", "😀", "<|end|>"]
    made = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, "[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens(["<|end|>"])
    path = tmp_path / "own.json"
    made.save(str(path))
    return path


def test_a_text_has_the_tokens_of_the_model(file: Path) -> None:
    assert count("how much is it", str(file)) == 4
    assert not is_approximate(str(file))


def test_a_special_token_is_counted_as_text(file: Path) -> None:
    assert count_strictly("is it <|end|>", str(file)) == 3


def test_the_chat_format_of_the_model_is_not_known(file: Path) -> None:
    assert chat_tokens([4], str(file)) is None


def test_tokens_are_placed_in_utf16_units(file: Path) -> None:
    assert pieces("😀 how", str(file)) == ([5, 1], [0, 3])


def test_a_changed_file_is_read_again(file: Path) -> None:
    assert count("how much", str(file)) == 2
    file.write_text(file.read_text().replace('"WhitespaceSplit"', '"Split", "pattern": {"String": "h"}, '
                                             '"behavior": "Isolated", "invert": false'))  # fmt: skip
    assert count("how much", str(file)) != 2


def test_a_file_that_is_no_tokenizer_is_named(tmp_path: Path) -> None:
    (tmp_path / "no.json").write_text("{}")
    with pytest.raises(VocabularyError, match=r"no\.json is not a tokenizer"):
        count("a", str(tmp_path / "no.json"))


def test_without_the_package_the_error_names_the_command(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promptls.tokens.tokenizer_files.find_spec", lambda _name: None)
    with pytest.raises(VocabularyError, match=r"pip install 'promptls\[tokenizers\]'"):
        count("another text", str(file))


@pytest.mark.parametrize("place", ["settings", "header"])
def test_the_project_or_a_prompt_names_the_file(
    file: Path, place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = file.parent
    monkeypatch.chdir(folder)
    (folder / "prompts").mkdir()
    prompt = folder / "prompts" / "a.yml.j2"
    if place == "settings":
        (folder / "promptls.toml").write_text('encoding = "own.json"\n')
        prompt.write_text(PROMPT)
    else:
        prompt.write_text('{#---\nencoding: "../own.json"\n---#}\n' + PROMPT)
    assert main(["render", "prompts/a.yml.j2"]) == 0
    reported = capsys.readouterr().out
    assert "own.json" in reported
    assert "4 tokens" in reported


def test_a_file_that_is_not_there_is_a_problem_of_the_settings(tmp_path: Path) -> None:
    (tmp_path / "promptls.toml").write_text('encoding = "no.json"\n')
    (problem,) = settings_problems(find_project(tmp_path / "a.yml.j2"))
    assert problem.message == "`encoding`: there is no file `no.json` in the folder of these settings"


def test_a_file_that_is_not_there_is_a_finding_in_the_header(tmp_path: Path) -> None:
    prompt = tmp_path / "a.yml.j2"
    prompt.write_text("{#---\nencoding: no.json\n---#}\n" + PROMPT)
    found = check(Workspace([tmp_path]).snapshot, str(prompt))
    assert [(each.rule, each.message) for each in found] == [
        ("invalid-header", "tokens cannot be counted: there is no file `no.json` beside the prompt")
    ]


def test_a_file_outside_of_an_untrusted_folder_is_not_read(
    file: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PROMPTLS_CONFIG_DIR", str(tmp_path_factory.mktemp("undecided")))
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "promptls.toml").write_text('encoding = "../own.json"\n')
    (inside / "a.yml.j2").write_text(PROMPT)
    monkeypatch.chdir(inside)
    assert main(["render", "a.yml.j2"]) == 1
    assert "outside of the folder, which is not trusted" in capsys.readouterr().err


def test_a_tokenizer_file_is_shown_by_its_name() -> None:
    assert encoding_title("/somewhere/qwen3/tokenizer.json") == "tokenizer.json"
    assert encoding_title("o200k_base") == "o200k_base"
