"""Foreign names create no file outside of the intended folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import promptls
from promptls.datasets.backends import LocalCsv
from promptls.experiments.python.functions import results_name
from promptls.text.errors import UserError
from promptls.text.filenames import as_file_name, file_name_problem

HOSTILE = [
    "../x",
    "../../x",
    "..",
    ".",
    "",
    "/abs",
    "a/b",
    "a\\b",
    "..\\x",
    "C:x",
    "c:\\x",
    "\\\\host\\share",
    "a\0b",
    "a\nb",
    "a\x1b[2J",
    "a\x9bb",
    "CON",
    "nul.txt",
    "Com1",
    "lpt¹.x",
    "aux .x",
    "a.",
    "a ",
    "\ud800",
]

NAMES = st.one_of(
    st.text(st.sampled_from("ab./\\: \0\nC~CONnul1é"), max_size=12),
    st.text(max_size=12),
    st.sampled_from(HOSTILE),
)


def files_in(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if not path.is_dir()}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused(name: str) -> None:
    assert file_name_problem(name) is not None


@pytest.mark.parametrize(
    "name",
    ["a", "qa_prompt", "zh-cn", ".hidden", "v1.2", "context of use", "qa:b", "conduct", "Ünïcode"],
)
def test_usual_names_are_taken(name: str) -> None:
    assert file_name_problem(name) is None
    assert as_file_name(name) == name


@given(NAMES)
def test_a_name_without_a_problem_is_one_step_on_each_system(name: str) -> None:
    if file_name_problem(name) is None:
        assert PurePosixPath(name).parts == (name,)
        assert PureWindowsPath(name).parts == (name,)


@given(NAMES, NAMES)
@example("../../x", "english")
@example("x", "../../english")
@example("/x", "/english")
def test_a_saved_prompt_must_be_inside_its_folder(name: str, language: str) -> None:
    with TemporaryDirectory() as made:
        top = Path(made)
        cache = top / "a" / "b" / "cache"
        cache.mkdir(parents=True)
        prompt = promptls.Prompt(
            name=name or "x",
            instruction="Say it.",
            input_keys=["q"],
            output_key="a",
            output_type="str",
            language=language,
        )
        try:
            prompt.save(cache)
        except UserError:
            assert files_in(top) == set()
        else:
            assert files_in(top) == {cache / language / f"{name or 'x'}.json"}


@pytest.mark.parametrize("key", ["name", "language"])
def test_a_prompt_is_not_loaded_or_adapted_from_outside(tmp_path: Path, key: str) -> None:
    (tmp_path / "english").mkdir()
    values = {"name": "x", "language": "english", key: "../outside"}
    with pytest.raises(UserError, match=f"its {key} '../outside' holds a slash"):
        promptls.Prompt._load(values["language"], values["name"], tmp_path)


@given(NAMES)
def test_a_dataset_must_be_inside_its_folder(name: str) -> None:
    with TemporaryDirectory() as made:
        root = Path(made) / "a" / "b"
        try:
            LocalCsv(root).save_dataset(name, [{"a": 1}])
        except UserError:
            assert files_in(Path(made)) == set()
        else:
            assert files_in(Path(made)) == {root / "datasets" / f"{name}.csv"}


@given(NAMES, NAMES)
def test_the_name_of_results_is_one_step(name: str, prefix: str) -> None:
    from datetime import datetime, timezone

    made = results_name(name, (), "function", prefix, datetime(2026, 1, 1, tzinfo=timezone.utc))
    assert file_name_problem(made) is None


@pytest.mark.parametrize("name", ["CON", "nul.x", "a.", ".."])
def test_a_new_prompt_has_a_name_that_every_system_takes(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-m", "promptls", "new", name, "--alone"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "is not a name for a prompt" in ended.stderr
    assert files_in(tmp_path) == set()
