from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptls.experiments.budget import BudgetSpentError
from promptls.experiments.history import last_run, last_runs, read_run, row_results, run_before, runs_of
from promptls.experiments.named_runs import find_run
from promptls.experiments.verdicts import standing_failures
from promptls.text.errors import UsageError, UserError
from support.experiment_folder import Folder
from support.unfinished import unfinished_run


async def test_a_prompt_without_runs_has_no_last_run(folder: Folder) -> None:
    assert last_run(folder.prompt) is None


async def test_the_last_run_has_its_scores_in_words_and_its_baseline(folder: Folder) -> None:
    first = await folder.run()
    second = await folder.run()
    run = last_run(folder.prompt)
    assert (run.manifest, run.previous.manifest) == (Path(second.manifest_path), Path(first.manifest_path))
    assert [(metric.name, metric.text, metric.value) for metric in run.metrics] == [
        ("right", "50 %", 0.5),
        ("length", "6", 6.0),
    ]
    assert (run.rows, run.previous.rows, run.models) == (4, 4, ("echo",))


async def test_a_partial_run_neither_has_nor_is_a_baseline(folder: Folder) -> None:
    first = await folder.run()
    partial = await folder.run(rows=2)
    run = last_run(folder.prompt)
    assert (run.name, run.is_complete, run.previous) == (partial.manifest["run"], False, None)
    complete = await folder.run()
    run = last_run(folder.prompt)
    assert (run.name, run.is_complete) == (complete.manifest["run"], True)
    assert run.previous.name == first.manifest["run"]


async def test_a_run_over_other_data_is_no_baseline(folder: Folder) -> None:
    await folder.run()
    rows = folder.path / "rows.csv"
    rows.write_text("\n".join(rows.read_text("utf-8").splitlines()[:3]) + "\n", encoding="utf-8")
    await folder.run()
    assert last_run(folder.prompt).previous is None


async def test_the_scores_that_count_are_those_of_the_latest_complete_run(folder: Folder) -> None:
    first = await folder.run(rows=1)
    assert last_runs(folder.prompt, "main").scored.name == first.manifest["run"]
    complete = await folder.run()
    later = [await folder.run(rows=rows) for rows in (1, 2)]
    runs = last_runs(folder.prompt, "main")
    assert (runs.scored.name, runs.scored.previous) == (complete.manifest["run"], None)
    assert [run.name for run in runs.later] == [each.manifest["run"] for each in reversed(later)]
    assert find_run(str(folder.prompt), complete=True).name == complete.manifest["run"]


async def test_a_run_is_laid_beside_the_run_before_over_the_same_rows(folder: Folder) -> None:
    first = await folder.run()
    partial = await folder.run(rows=1)
    assert run_before(read_run(Path(partial.manifest_path))) is None
    again = await folder.run()
    assert run_before(read_run(Path(again.manifest_path))).name == first.manifest["run"]


async def test_a_run_is_stale_when_the_prompt_has_changed(folder: Folder) -> None:
    await folder.run()
    assert not last_run(folder.prompt).stale
    text = folder.prompt.read_text(encoding="utf-8")
    assert last_run(folder.prompt, unsaved={str(folder.prompt): text + "\n"}).stale
    folder.prompt.write_text(text + "# more\n", encoding="utf-8")
    assert last_run(folder.prompt).stale


async def test_a_sample_that_is_added_does_not_make_a_run_stale(folder: Folder) -> None:
    await folder.ask()
    text = folder.prompt.read_text("utf-8")
    folder.prompt.write_text(text.replace("output_key:", "samples: samples.yml\noutput_key:"), "utf-8")
    assert not last_run(folder.prompt).stale
    folder.prompt.write_text(f"{text}samples: none\n", "utf-8")
    assert last_run(folder.prompt).stale


async def test_other_line_ends_do_not_make_a_run_stale(folder: Folder) -> None:
    await folder.run()
    text = folder.prompt.read_text(encoding="utf-8")
    folder.prompt.write_bytes(text.replace("\n", "\r\n").encode())
    assert not last_run(folder.prompt).stale


async def test_a_run_is_stale_when_an_included_file_is_changed_or_deleted(folder: Folder) -> None:
    part = folder.path / "part.yml.j2"
    part.write_text("- name: p\n  content: c\n", encoding="utf-8")
    with folder.prompt.open("a", encoding="utf-8") as stream:
        stream.write('{% include "part.yml.j2" %}\n')
    await folder.run()
    assert not last_run(folder.prompt).stale
    part.write_text("- name: p\n  content: d\n", encoding="utf-8")
    assert last_run(folder.prompt).stale
    part.unlink()
    assert last_run(folder.prompt).stale


async def test_runs_of_other_prompts_and_broken_manifests_are_passed_over(folder: Folder) -> None:
    finished = await folder.run()
    name = Path(finished.manifest_path).name
    broken = folder.results / f"2099{name[4:]}"
    broken.write_text("{", encoding="utf-8")
    other = {**finished.manifest, "prompt": "../elsewhere/ask.yml.j2"}
    (folder.results / f"2098{name[4:]}").write_text(json.dumps(other), encoding="utf-8")
    assert [run.name for run in runs_of(folder.prompt)] == [finished.manifest["run"]]


async def test_a_damaged_table_is_named(folder: Folder) -> None:
    await folder.run()
    run = last_run(folder.prompt)
    run.results.write_bytes(run.results.read_bytes() + b"\xff\xfe")
    assert list(standing_failures([run])) == []
    with pytest.raises(UserError, match="the table of the run is damaged") as raised:
        list(row_results(run))
    assert raised.value.place.path == run.results


async def test_a_moved_project_keeps_its_history(
    folder: Folder, tmp_path_factory: pytest.TempPathFactory
) -> None:
    await folder.run()
    moved = tmp_path_factory.mktemp("moved") / "here"
    folder.path.rename(moved)
    run = last_run(moved / "ask.yml.j2")
    assert not run.stale
    assert len(list(row_results(run))) == 4


async def test_a_run_is_found_by_path_name_or_prompt(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    finished = await folder.run()
    monkeypatch.chdir(folder.path)
    words = [finished.results, finished.manifest_path, finished.manifest["run"], "ask.yml.j2"]
    assert {find_run(word).name for word in words} == {finished.manifest["run"]}


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("experiments/nothing.csv", "no such run"),
        ("nothing", "no run or prompt file `nothing`"),
        ("gone/nothing", "no run or prompt file `gone/nothing`"),
        ("rows.csv", "no manifest beside it, and no column"),
        ("ask.yml.j2", "this prompt has no run"),
    ],
)
def test_a_run_that_is_not_there_says_what_to_do(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, word: str, message: str
) -> None:
    monkeypatch.chdir(folder.path)
    with pytest.raises(UsageError, match=message) as failure:
        find_run(word)
    assert failure.value.remedy


async def test_a_run_that_did_not_end_cannot_be_compared(folder: Folder) -> None:
    with pytest.raises(BudgetSpentError):
        await folder.ask(max_calls=1)
    with pytest.raises(UsageError, match="did not finish") as failure:
        find_run(str(unfinished_run(folder.results)))
    assert "--resume" in str(failure.value.remedy)
