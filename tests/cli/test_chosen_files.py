from __future__ import annotations

from pathlib import Path

import pytest

from promptls.cli.chosen_files import choose, choose_one
from promptls.text.errors import UsageError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "prompts" / "sections").mkdir(parents=True)
    (tmp_path / "prompts" / "triage.yml.j2").write_text("- name: a\n  content: b\n")
    (tmp_path / "prompts" / "sections" / "tone.yml.j2").write_text("- name: a\n  content: b\n")
    (tmp_path / "notes.txt").write_text("no prompt")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "old.yml.j2").write_text("- name: a\n  content: b\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(folder: Path, paths: tuple[str, ...]) -> list[str]:
    return [Path(path).relative_to(folder).as_posix() for path in paths]


def test_without_a_path_the_current_folder_is_walked(folder: Path) -> None:
    chosen = choose([])
    assert shown(folder, chosen.found) == ["prompts/triage.yml.j2", "prompts/sections/tone.yml.j2"]
    assert chosen.named == ()


def test_programs_and_configurations_are_found_if_they_are_asked_for(folder: Path) -> None:
    (folder / "app.py").write_text("import os\nfrom prompt_poet import Prompt\n")
    (folder / "late.py").write_text("def run():\n    from ragas.metrics import faithfulness\n")
    (folder / "other.py").write_text("text = 'import ragas'\nimport ragasped\n")
    (folder / ".hidden" / "app.py").write_text("import ragas\n")
    (folder / "mmlu.py").write_text("from mmengine.config import read_base\nwith read_base(): ...\n")
    (folder / "qa.py").write_text("qa_reader_cfg = dict(input_columns=['question'])\n")
    prompts = shown(folder, choose([]).found)
    found = shown(folder, choose([], all_kinds=True).found)
    assert found == [*prompts, "app.py", "late.py", "mmlu.py", "qa.py"]


def test_a_named_file_is_accepted_regardless_of_its_name(folder: Path) -> None:
    assert shown(folder, choose(["notes.txt"]).named) == ["notes.txt"]


@pytest.mark.parametrize("target", ["gone.yml.j2", "link.yml.j2"])
def test_a_link_that_leads_to_no_file_is_named(folder: Path, target: str) -> None:
    (folder / "link.yml.j2").symlink_to(target)
    with pytest.raises(UsageError, match=f"this link leads to no file: it names {target}"):
        choose(["link.yml.j2"])


def test_prompts_that_ragas_saved_are_found_if_all_kinds_are_asked_for(folder: Path) -> None:
    saved = '{"instruction": "Answer.", "examples": []}'
    for name, text in {
        "prompts/qa.json": saved,
        "judge_english.json": saved,
        "data.json": saved,
        "prompts/rows.json": '[{"instruction": "Answer."}]',
        "metrics/chat.json": '{"messages": []}',
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)

    found = shown(folder, choose([], all_kinds=True).found)

    assert {name for name in found if name.endswith(".json")} == {"prompts/qa.json", "judge_english.json"}
    assert not any(name.endswith(".json") for name in shown(folder, choose([]).found))


def test_a_file_that_is_named_and_found_is_taken_once(folder: Path) -> None:
    chosen = choose(["prompts", "prompts/triage.yml.j2", "./prompts/../prompts/triage.yml.j2"])
    assert shown(folder, chosen.all()) == ["prompts/triage.yml.j2", "prompts/sections/tone.yml.j2"]


def test_a_missing_file_names_the_nearest_in_its_folder() -> None:
    with pytest.raises(UsageError) as raised:
        choose(["prompts/triag.yml.j2"])
    assert raised.value.message == "there is no such file or folder"
    assert raised.value.remedy == f"did you mean `{Path('prompts/triage.yml.j2')}`?"


def test_a_file_named_without_its_ending_is_suggested() -> None:
    with pytest.raises(UsageError) as raised:
        choose(["prompts/triage"])
    assert raised.value.remedy == f"did you mean `{Path('prompts/triage.yml.j2')}`?"


def test_a_missing_folder_is_reported(folder: Path) -> None:
    with pytest.raises(UsageError) as raised:
        choose(["nowhere/triage.yml.j2"])
    assert raised.value.remedy == f"the folder {folder / 'nowhere'} is not there either; check the path"


def test_a_folder_in_place_of_a_file_names_a_file_in_it() -> None:
    with pytest.raises(UsageError) as raised:
        choose_one("prompts")
    assert "prompts/triage.yml.j2" in str(raised.value.remedy)


def test_the_root_is_the_folder_of_the_settings(folder: Path) -> None:
    (folder / "promptls.toml").write_text("")
    chosen, _ = choose_one("prompts/sections/tone.yml.j2")
    assert chosen.snapshot.roots == (str(folder),)


def test_a_folder_with_settings_is_its_own_root(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / "prompts" / "promptls.toml").write_text("")
    assert choose(["prompts"]).snapshot.roots == (str(folder / "prompts"),)


def test_without_settings_the_root_is_the_repository(folder: Path) -> None:
    (folder / ".git").mkdir()
    chosen, _ = choose_one("prompts/sections/tone.yml.j2")
    assert chosen.snapshot.roots == (str(folder),)


def test_a_file_in_a_chosen_folder_adds_no_root(folder: Path) -> None:
    assert choose([".", "prompts/triage.yml.j2"]).snapshot.roots == (str(folder),)


def test_paths_in_a_program_refer_to_the_working_directory_around_it(folder: Path) -> None:
    (folder / "prompts" / "app.py").write_text("import promptls\n")
    assert [str(root) for root in choose(["prompts/app.py"]).snapshot.roots] == [str(folder)]
    assert [str(root) for root in choose(["prompts/triage.yml.j2"]).snapshot.roots] == [
        str(folder / "prompts")
    ]


def test_nobody_trusts_files_because_they_were_chosen() -> None:
    assert not choose_one("prompts/triage.yml.j2")[0].snapshot.trusted


def test_an_empty_path_is_no_folder() -> None:
    with pytest.raises(UsageError):
        choose([""])


def test_a_file_that_may_not_be_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda _path, _mode: False)
    with pytest.raises(UsageError) as raised:
        choose(["notes.txt"])
    assert raised.value.message == "the file is not readable"


def test_a_device_is_refused() -> None:
    with pytest.raises(UsageError) as raised:
        choose(["/dev/null"])
    assert raised.value.message == "this is neither a file nor a folder"


@pytest.mark.parametrize(
    ("path", "is_in_project", "found"),
    [
        ("a.yml.j2", False, ["near"]),
        ("a.yml.j2", True, ["far", "near"]),
        (".", False, ["far", "near"]),
    ],
)
def test_around_a_file_in_no_project_only_what_is_near_is_read(
    folder: Path, path: str, is_in_project: bool, found: list[str]
) -> None:
    """A folder without a project may be a home folder with many unrelated files."""
    including = "- name: a\n  content: b\n{% include '/a.yml.j2' %}\n"
    for place in ("prompts/near", "prompts/sections/far"):
        (folder / f"{place}.yml.j2").write_text(including.replace("/a", str(folder / "a")))
    (folder / "a.yml.j2").write_text("- name: a\n  content: b\n")
    if is_in_project:
        (folder / "promptls.toml").write_text("")

    graph = choose([path]).snapshot.graph

    names = {Path(each).name.removesuffix(".yml.j2") for each in graph.paths}
    assert sorted(names & {"near", "far"}) == found


def test_files_that_the_settings_include_are_found_in_folders(folder: Path) -> None:
    (folder / "promptls.toml").write_text('include = ["*.txt"]\n')
    assert "notes.txt" in shown(folder, choose(["."]).found)
