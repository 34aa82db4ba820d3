from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest_asyncio

from promptls.ide.hover import hover
from promptls.ide.inlay_hints import inlay_hints
from promptls.rendering.file_rendering import FileRendering, PartRange
from promptls.rendering.make import render_file, weigh
from promptls.rendering.worker import RenderWorker
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot
from promptls.workspace.workspace import Workspace

PROMPT = """\
{#---
samples: samples.json
experiments:
  first: {dataset: rows.csv}
---#}
- name: fixed
  content: one two
{% for turn in turns or [] %}
- name: turn
  content: one two three
{% endfor %}
- name: text
  content: "{{ text }}"
{% if turns %}
- name: last
  content: end
{% endif %}
"""


@pytest_asyncio.fixture
async def worker() -> AsyncIterator[RenderWorker]:
    made = RenderWorker()
    yield made
    await made.close()


async def weighed(worker: RenderWorker, folder: Path, text: str = PROMPT) -> tuple[Snapshot, FileRendering]:
    (folder / "rows.csv").write_text("text\none\nfive words stand in here\n")
    (folder / "samples.json").write_text(
        '{"a": {"text": "x", "turns": [1, 2]}, "b": {"text": "x y", "turns": [1]}}'
    )
    workspace = Workspace([folder])
    path = str(folder / "a.yml.j2")
    workspace.open(path, text, 1)
    snapshot = workspace.snapshot
    made = await render_file(worker, snapshot, path)
    return snapshot, await weigh(worker, snapshot, made, lambda: True)


async def test_the_parts_are_counted_with_all_samples_and_rows(worker: RenderWorker, tmp_path: Path) -> None:
    _, made = await weighed(worker, tmp_path)

    assert made.ranges == (
        PartRange("fixed", 2, 2, 2, 4),
        PartRange("turn", 0, 0, 6, 4),
        PartRange("text", 1, 1, 5, 4),
        PartRange("last", 0, 0, 1, 4),
    )


async def test_the_parts_of_an_include_are_counted_by_themselves_and_together(
    worker: RenderWorker, tmp_path: Path
) -> None:
    (tmp_path / "turns.yml.j2").write_text(
        "{% for turn in turns or [] %}\n- name: turn\n  content: one two three\n{% endfor %}\n"
        '- name: text\n  content: "{{ text }}"\n'
    )
    header = PROMPT[: PROMPT.index("- name")]

    snapshot, made = await weighed(
        worker, tmp_path, header + "- name: fixed\n  content: one two\n{% include 'turns.yml.j2' %}\n"
    )

    assert made.ranges == (
        PartRange("fixed", 2, 2, 2, 4),
        PartRange("turn", 0, 0, 6, 4),
        PartRange("text", 1, 1, 5, 4),
        PartRange(str(tmp_path / "turns.yml.j2"), 1, 5, 7, 4),
    )
    shown = inlay_hints(snapshot, made.job.path, Span(0, 1000), made)
    assert [each.label for each in shown] == ["2 tokens", "3 parts, 7 tokens (1-7)"]


async def test_hints_and_hover_show_what_varies(worker: RenderWorker, tmp_path: Path) -> None:
    snapshot, made = await weighed(worker, tmp_path)
    path = made.job.path

    labels = [each.label for each in inlay_hints(snapshot, path, Span(0, len(PROMPT)), made)]
    reported = hover(snapshot, path, PROMPT.index("name: text") + 7, made)

    assert labels == [
        "2 tokens",
        "2 parts of 3 tokens (0-6)",
        "1 token (1-5)",
        "1 token (0-1)",
    ]
    assert reported is not None
    assert "- varies: 1 to 5 tokens, mostly 1, with 4 samples and rows" in reported.markdown


async def test_without_other_data_there_is_nothing_to_compare(worker: RenderWorker, tmp_path: Path) -> None:
    text = PROMPT.replace("samples: samples.json\n", "").replace("  first: {dataset: rows.csv}\n", "")
    _, made = await weighed(worker, tmp_path, text.replace("experiments:\n", ""))

    assert made.ranges == ()


async def test_something_more_urgent_ends_the_counting(worker: RenderWorker, tmp_path: Path) -> None:
    snapshot, made = await weighed(worker, tmp_path)

    assert await weigh(worker, snapshot, made, lambda: False) is made
    assert (await weigh(worker, snapshot, replace(made, ranges=()), lambda: True)).ranges == made.ranges
