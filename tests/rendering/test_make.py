"""A file's rendering with its counts, and the renderings of its dataset's rows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from promptls.rendering import make
from promptls.rendering.file_rendering import RowTokens, TokenRange
from promptls.rendering.make import render_file, weigh
from promptls.rendering.worker import RenderWorker
from promptls.text.errors import UserError
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace

PROMPT = """\
{#---
input_keys: [text]
token_limit: 6
truncation_step: 1
experiments: {e: {dataset: rows.csv}}
---#}
- name: a
  truncation_priority: 1
  content: one two
- name: b
  content: "{{ text }}"
"""


@pytest_asyncio.fixture
async def worker() -> AsyncIterator[RenderWorker]:
    made = RenderWorker()
    yield made
    await made.close()


def opened(folder: Path, text: str = PROMPT) -> tuple[Snapshot, str]:
    (folder / "rows.csv").write_text(
        "text\none\nfive words stand in here\nand this row has even more words in it\n"
    )
    workspace = Workspace([folder])
    path = str(folder / "a.yml.j2")
    workspace.open(path, text, 1)
    return workspace.snapshot, path


async def test_the_rows_over_the_limit_are_counted(worker: RenderWorker, tmp_path: Path) -> None:
    snapshot, path = opened(tmp_path)

    made = await weigh(worker, snapshot, await render_file(worker, snapshot, path))

    assert made.rows is not None
    total = TokenRange(minimum=3, median=7, maximum=11)
    expected = RowTokens("rows.csv", rows=3, over=(2, 3), stuck=(3,), maximum=11, total=total)
    assert replace(made.rows, parts=()) == expected


BRANCHES = """\
{#---
experiments:
  a: {dataset: rows.csv, models: [echo], metrics: [exact_match]}
---#}
- name: fixed
  content: Be brief.
{% if text | length > 10 %}
- name: long
  content: This one is long.
{% endif %}
- name: text
  content: "{{ text }}"
"""


async def test_the_rows_say_what_each_part_comes_to_at_least_usually_and_at_most(
    worker: RenderWorker, tmp_path: Path
) -> None:
    snapshot, path = opened(tmp_path, BRANCHES)

    made = await weigh(worker, snapshot, await render_file(worker, snapshot, path))

    assert made.rows is not None
    assert (made.rows.over, made.rows.stuck) == ((), ())
    assert made.rows.parts == (TokenRange(3, 3, 3), TokenRange(0, 5, 5), TokenRange(1, 5, 9))


async def test_something_more_urgent_ends_the_weighing(worker: RenderWorker, tmp_path: Path) -> None:
    snapshot, path = opened(tmp_path)
    made = await render_file(worker, snapshot, path)

    assert await weigh(worker, snapshot, made, lambda: False) is made


async def test_what_was_tried_in_time_counts(
    worker: RenderWorker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make, "MAX_WEIGHING_SECONDS", -1.0)
    snapshot, path = opened(tmp_path)

    assert (await weigh(worker, snapshot, await render_file(worker, snapshot, path))).rows is None


async def test_samples_that_cannot_be_read_are_a_failure(worker: RenderWorker, tmp_path: Path) -> None:
    snapshot, path = opened(tmp_path)

    def sample() -> None:
        raise UserError("the samples file is gone")

    made = await render_file(worker, snapshot, path, sample)  # type: ignore[arg-type]  # it never returns

    assert made.failure is not None
    assert (made.failure.kind, made.failure.message) == ("data", "the samples file is gone")


async def test_counts_of_a_former_rendering_are_taken_over(worker: RenderWorker, tmp_path: Path) -> None:
    snapshot, path = opened(tmp_path)
    first = await render_file(worker, snapshot, path)
    text = next(iter(first.template_tokens))
    first.template_tokens[text] = 77  # type: ignore[index]  # it is a dict

    again = await render_file(worker, snapshot, path, known=first)

    assert again.template_tokens[text] == 77


@pytest.mark.parametrize("path", ["untitled:Untitled-1", "untitled:some/where"])
@pytest.mark.parametrize(
    "text", ["- name: a\n  rolle: x\n  content: hi\n", "- name: a\n  content: {{ 1 / 0 }}\n"]
)
async def test_a_failure_of_a_text_without_a_file_is_at_its_name(
    worker: RenderWorker, path: str, text: str
) -> None:
    workspace = Workspace([])
    workspace.open(path, text, 1)

    made = await render_file(worker, workspace.snapshot, path)

    assert made.failure is not None
    assert made.failure.path == path


async def test_a_sample_may_have_a_name_like_that_of_a_row(worker: RenderWorker, tmp_path: Path) -> None:
    (tmp_path / "samples.json").write_text('{"short": {"text": "one"}, "row 3": {"text": ""}}')
    text = '{#---\nsamples: samples.json\n---#}\n- name: a\n  content: "{{ 1 // text | length }}"\n'
    snapshot, path = opened(tmp_path, text)

    made = await weigh(worker, snapshot, await render_file(worker, snapshot, path))

    assert [failed.sample.name for failed in made.failing] == ["row 3"]
