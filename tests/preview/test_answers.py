from __future__ import annotations

import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from promptls.preview.preview_answers import committed_rendering, rows_of, tokens_of
from promptls.rendering.worker import Limits, RenderWorker
from promptls.text.errors import UserError
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace

PROMPT = """\
{#---
experiments:
  answers: {dataset: data.csv}
---#}
- name: task
  role: system
  content: |
{% include "rules.yml.j2" %}
- name: question
  content: "{{ text }}"
"""


@pytest.fixture
async def worker() -> AsyncIterator[RenderWorker]:
    made = RenderWorker(Limits())
    yield made
    await made.close()


def workspace(folder: Path, rows: int = 3) -> tuple[Snapshot, str]:
    (folder / "rules.yml.j2").write_text("    Be brief.\n", "utf-8")
    (folder / "data.csv").write_text(
        "id,text\n"
        + "".join(f"{row},Ticket {row} about {'bills' if row % 2 else 'Logins'}\n" for row in range(rows)),
        "utf-8",
    )
    prompt = folder / "a.yml.j2"
    prompt.write_text(PROMPT, "utf-8")
    made = Workspace([folder], trusted=True)
    made.scan()
    return made.snapshot, str(prompt)


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


async def test_tokens_have_their_ids_and_their_places_in_utf_16(worker: RenderWorker) -> None:
    found = (await tokens_of(worker, {"texts": ["a🎉 b", ""], "encoding": "o200k_base"}))["texts"]

    assert found[0] == {"ids": [64, 71344, 231, 287], "starts": [0, 1, 1, 3]}
    assert found[1] == {"ids": [], "starts": []}


async def test_tokens_of_an_unknown_encoding_are_refused_with_a_name_that_is_known(
    worker: RenderWorker,
) -> None:
    with pytest.raises(UserError, match="o200k_base"):
        await tokens_of(worker, {"texts": ["a"], "encoding": "o300k_base"})


async def test_rows_are_found_by_all_their_words(tmp_path: Path) -> None:
    snapshot, path = workspace(tmp_path, rows=2500)

    found = await rows_of(snapshot, path, {"search": "LOGINS ticket 24"})

    assert found["rows"][0] == {"row": 24, "text": "24 Ticket 24 about Logins"}
    matching = sum("24" in str(row) for row in range(0, 2500, 2))
    assert (found["matching"], found["total"], len(found["rows"])) == (matching, 2500, matching)
    rest = await rows_of(snapshot, path, {"start": 2450})
    assert [row["row"] for row in rest["rows"]] == list(range(2450, 2500))


async def test_the_last_commit_is_rendered_with_what_it_included_then(
    tmp_path: Path, worker: RenderWorker
) -> None:
    _, path = workspace(tmp_path)
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "Begin")
    (tmp_path / "rules.yml.j2").unlink()
    Path(path).write_text("- name: task\n  content: New.\n", "utf-8")
    made = Workspace([tmp_path], trusted=True)
    made.scan()

    found = await committed_rendering(made.snapshot, path, {}, worker.render)

    assert found["failure"] is None
    assert found["commit"]["subject"] == "Begin"
    assert found["rendering"]["parts"][0]["content"] == "Be brief."


async def test_a_renamed_input_and_a_removed_one_have_values_in_the_last_commit(
    tmp_path: Path, worker: RenderWorker
) -> None:
    path, samples = tmp_path / "a.yml.j2", tmp_path / "samples.yml"
    prompt = '{#---\nsamples: samples.yml\n---#}\n- name: task\n  content: "{{ text | upper }}{{ tone }}"\n'
    path.write_text(prompt, "utf-8")
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "Begin")

    async def compared(text: str, sample: str) -> object:
        path.write_text(text, "utf-8")
        samples.write_text(sample, "utf-8")
        made = Workspace([tmp_path], trusted=True)
        made.scan()
        found = await committed_rendering(made.snapshot, str(path), {}, worker.render)
        return found["rendering"] and found["rendering"]["parts"][0]["content"]

    renamed = prompt.replace("text", "body")
    assert await compared(renamed, "one: {body: Hello, tone: kind}\n") == "HELLOkind"
    removed = renamed.replace("{{ tone }}", "")
    assert await compared(removed, "one: {body: Hello}\n") == "<TEXT><tone>"


async def test_a_subject_may_contain_a_line_separator(tmp_path: Path, worker: RenderWorker) -> None:
    snapshot, path = workspace(tmp_path)
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "Begin\u2028again")

    found = await committed_rendering(snapshot, path, {}, worker.render)

    assert [each["subject"] for each in found["others"] if each["date"]] == ["Begin\u2028again"]


async def test_an_older_commit_or_another_prompt_can_be_compared(
    tmp_path: Path, worker: RenderWorker
) -> None:
    _, path = workspace(tmp_path)
    git(tmp_path, "init")
    for text in ("One.", "Two."):
        Path(path).write_text(f"- name: task\n  content: {text}\n", "utf-8")
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-m", text)
    Path(path).with_name("b.yml.j2").write_text("- name: task\n  content: Other.\n", "utf-8")
    made = Workspace([tmp_path], trusted=True)
    made.scan()

    async def compared(against: str) -> str:
        found = await committed_rendering(made.snapshot, path, {"against": against}, worker.render)
        assert [each["subject"] for each in found["others"]] == ["Two.", "One.", "", ""]
        content: str = found["rendering"]["parts"][0]["content"]
        return content

    assert [await compared(each) for each in ("HEAD", "HEAD~1", "b.yml.j2")] == ["Two.", "One.", "Other."]
    with pytest.raises(UserError, match="no prompt or commit `--output=x`"):
        await committed_rendering(made.snapshot, path, {"against": "--output=x"}, worker.render)


@pytest.mark.parametrize("is_repository", [False, True])
async def test_the_reason_for_a_missing_commit_is_reported(
    tmp_path: Path, worker: RenderWorker, is_repository: bool
) -> None:
    snapshot, path = workspace(tmp_path)
    if is_repository:
        git(tmp_path, "init")

    with pytest.raises(UserError, match="no commit yet" if is_repository else "no git repository"):
        await committed_rendering(snapshot, path, {}, worker.render)
