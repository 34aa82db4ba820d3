from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lsp_editor import Editor, eventually
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from support.experiment_folder import last_text
from support.finished_run import write_run
from support.model_server import ModelServer, Reply, model_server

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = """\
{#---
input_keys: [text]
output_key: answer
examples:
  - {text: good, answer: good}
  - {text: bad, answer: other}
experiments:
  answers: {dataset: rows.csv, models: [office], metrics: [exact_match], concurrency: 1}
---#}
{% set examples = [
  {"text": "short"},
  {"text": "a somewhat longer one"},
] %}
{% for example in examples %}
- name: shown {{ loop.index }}
  content: "{{ example.text }}"
{% endfor %}
- name: question
  content: |
    {{ escape_special_characters(text) }}
"""
ROWS = 'id,text,answer\na,one,one\nb,"two\nlines",other\nc,three,other\n'
JSON_ROWS = '{"id": "a", "text": "one", "answer": "one"}\n{"id": "b", "text": "two", "answer": "x"}\n'


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        running.reply = lambda body: Reply(last_text(body))
        yield running


def opened(editor: Editor, server: ModelServer, *, rows: str = ROWS, dataset: str = "rows.csv") -> str:
    """Return an experiment whose model echoes its input, in a new folder."""
    name = f"prompt_{server.url.rpartition(':')[2].partition('/')[0]}"
    office = f'[models.office]\nprovider = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n'
    editor.write(f"{name}/promptls.toml", office)
    editor.write(f"{name}/{dataset}", rows)
    return editor.open(f"{name}/ask.yml.j2", PROMPT.replace("rows.csv", dataset))


def beside(uri: str, name: str) -> str:
    return f"{uri.rpartition('/')[0]}/{name}"


async def rows_found(editor: Editor, uri: str, count: int) -> list[types.Diagnostic]:
    """Wait for this number of diagnostics of a dataset."""

    async def look() -> list[types.Diagnostic]:
        return list(editor.client.diagnostics.get(uri, ()))

    return await eventually(look, lambda found: len(found) == count)


async def test_an_example_runs_from_its_lens_and_keeps_its_verdict(code: Editor, server: ModelServer) -> None:
    uri = opened(code, server)
    before = await code.lenses(uri)
    assert before == ["Preview", "Run answers", "Run", "Run"]

    result = await code.command("runExperiment", uri=uri, experiment="answers", rows="example 2")
    await code.command("runExperiment", uri=uri, experiment="answers", rows="example 1")
    await code.command("runExperiment", uri=uri, experiment="answers")

    assert result.rows == 1
    assert await code.lenses(uri) == [
        "Preview", "Run answers", "exact_match 33 %",
        "Run", "exact_match pass", "Run", "exact_match fail",
    ]  # fmt: skip
    hover = await code.hover(uri, "{text: b|ad")
    assert hover is not None
    assert "answer: `bad`" in hover
    assert "exact_match `fail`" in hover
    await code.rules(uri, ["failing-example"])


async def test_the_scores_of_all_rows_stay_when_some_rows_are_run(code: Editor, server: ModelServer) -> None:
    uri = opened(code, server)
    await code.command("runExperiment", uri=uri)
    await code.command("runExperiment", uri=uri, rows="1")

    assert (await code.lenses(uri))[2] == "exact_match 33 %"
    failing = await code.command("runExperiment", uri=uri, rows="failing", onlyPlan=True)
    assert (failing.rows, failing.calls) == (2, 0)
    Path(beside(uri, "rows.csv").removeprefix("file://")).write_text(f"{ROWS}d,four,four\n", "utf-8")
    assert (await code.lenses(uri))[2] == "exact_match 33 % · other dataset"


async def test_the_rows_that_a_partial_run_left_out_are_run(code: Editor, server: ModelServer) -> None:
    uri = opened(code, server)
    partial = await code.command("runExperiment", uri=uri, rows="2,3,")
    assert await actions(code, uri, "promptls.run.complete") == [
        "Run the rows that the partial run of answers left out"
    ]

    result = await code.command("runExperiment", uri=uri, experiment="answers", complete=partial.run)

    assert (result.rows, len(server.requests)) == (3, 3)
    assert (await code.lenses(uri))[2] == "exact_match 33 % · 2 from the cache"
    assert await actions(code, uri, "promptls.run.complete") == []


async def test_the_results_of_a_prompt_are_those_of_its_last_complete_run(
    code: Editor, server: ModelServer
) -> None:
    uri = opened(code, server)
    some = await code.command("runExperiment", uri=uri, rows="2")
    assert [each.path for each in (await code.command("showResults", uri=uri)).runs] == [some.run]
    first = await code.command("runExperiment", uri=uri)
    second = await code.command("runExperiment", uri=uri)
    await code.command("runExperiment", uri=uri, rows="1")
    await code.command("runExperiment", uri=uri, experiment="answers", rows="example 1")

    view = await code.command("showResults", uri=uri)

    assert [each.path for each in view.runs] == [first.run, second.run]
    assert [each.isComparable for each in view.history] == [False, True, True, False, False]


@pytest.mark.parametrize(
    ("dataset", "rows", "places"),
    [("rows.csv", ROWS, [(2, 3), (4, 4)]), ("rows.jsonl", JSON_ROWS, [(1, 1)])],
)
async def test_a_failing_row_is_marked_over_its_lines_and_leads_to_its_result(
    code: Editor, server: ModelServer, dataset: str, rows: str, places: list[tuple[int, int]]
) -> None:
    uri = opened(code, server, rows=rows, dataset=dataset)
    result = await code.command("runExperiment", uri=uri)

    found = await rows_found(code, beside(uri, dataset), len(places))

    assert [(each.range.start.line, each.range.end.line) for each in found] == places
    (related,) = found[0].related_information or ()
    assert related.location.uri.endswith(Path(result.run).name)
    assert "the answer was: two" in related.message
    place = types.Position(places[0][1], 3)
    params = types.HoverParams(types.TextDocumentIdentifier(beside(uri, dataset)), place)
    hover = await code.client.text_document_hover_async(params)
    assert hover is not None
    assert "answer: `two" in hover.contents.value
    assert hover.range.start.line == places[0][0]
    code.replace(uri, "name: question", "name: asked")
    assert await rows_found(code, beside(uri, dataset), 0) == []


@pytest.mark.parametrize("is_completed", [False, True])
async def test_the_lens_shows_the_progress_of_a_run_and_cancels_it(
    code: Editor, server: ModelServer, is_completed: bool
) -> None:
    release = threading.Event()
    server.reply = lambda body: Reply("one") if last_text(body) == "one" else Reply(wait=release)
    uri = opened(code, server)
    arguments = {"uri": uri, "experiment": "answers"}
    if is_completed:
        arguments["complete"] = (await code.command("runExperiment", **arguments, rows="1,")).run
    running = asyncio.ensure_future(code.command("runExperiment", **arguments))

    async def look() -> list[str]:
        return await code.lenses(uri)

    await eventually(look, lambda lenses: lenses[1].startswith("Running answers: 1 of 3"))
    cancelled = await code.command("cancelRun", uri=uri, experiment="answers")
    ended = await asyncio.wait_for(running, 5)
    release.set()

    assert cancelled.cancelled == 1
    assert (ended.cancelled, ended.rows) == (True, 1)
    assert (await code.lenses(uri))[1:3] == ["Run answers", "Resume: stopped after 1 of 3 rows"]


async def test_a_stopped_run_can_be_resumed_until_a_file_that_it_uses_changes(
    code: Editor, server: ModelServer
) -> None:
    server.reply = lambda body: Reply("one") if last_text(body) == "one" else Reply(status=401)
    uri = opened(code, server)
    with pytest.raises(JsonRpcException, match="the budget"):
        await code.command("runExperiment", uri=uri, experiment="answers", budget={"calls": 1})
    resume = "Resume: stopped after 1 of 3 rows"
    found = await code.client.text_document_code_lens_async(
        types.CodeLensParams(types.TextDocumentIdentifier(uri))
    )
    (lens,) = [each for each in found or () if each.command.title == resume]

    code.replace(uri, "name: question", "name: asked")
    assert resume not in await code.lenses(uri)
    code.replace(uri, "name: asked", "name: question")
    assert resume in await code.lenses(uri)
    server.reply = lambda _body: Reply("one")
    (arguments,) = lens.command.arguments
    resumed = await code.command("runExperiment", **arguments)

    assert resumed.rows == 3
    assert resume not in await code.lenses(uri)


async def test_tests_are_listed_with_what_the_last_runs_say_of_them(
    code: Editor, server: ModelServer
) -> None:
    uri = opened(code, server)
    result = await code.command("runExperiment", uri=uri)

    listed = await code.command("experimentTests")
    (prompt,) = [each for each in listed.prompts if each.uri == uri]
    found = await code.command("experimentRows", uri=uri, experiment="answers")
    said = await code.command("rowVerdicts", run=result.run)

    assert (prompt.experiments, [each.label for each in prompt.examples]) == (["answers"], ["good", "bad"])
    assert [(row.number, row.line, row.label) for row in found.rows] == [
        (1, 1, "a: one"), (2, 2, "b: two lines"), (3, 4, "c: three"),
    ]  # fmt: skip
    assert [(each.number, each.state, each.stale) for each in found.verdicts] == [
        (1, "passed", False), (2, "failed", False), (3, "failed", False),
    ]  # fmt: skip
    assert [each.number for each in said.verdicts] == [1, 2, 3]
    assert found.dataset == beside(uri, "rows.csv")


async def test_prompts_are_listed_with_and_without_experiments_and_their_runs(
    code: Editor, server: ModelServer
) -> None:
    uri = opened(code, server)
    result = await code.command("runExperiment", uri=uri)
    plain = code.open("plain.yml.j2", "- name: a\n  role: user\n  content: b\n")

    listed = await code.command("experimentTests", allPrompts=True)
    found = await code.command("listRuns", uri=uri, experiment="answers")

    assert [each.experiments for each in listed.prompts if each.uri == plain] == [[]]
    (run,) = found.runs
    assert (run.table, run.status, run.notes) == (result.run, "finished", "")
    assert run.started
    assert (await code.command("listRuns", uri=plain)).runs == []


async def test_leaving_out_each_example_says_at_each_what_it_is_worth(
    code: Editor, server: ModelServer
) -> None:
    uri = opened(code, server)
    titles = await actions(code, uri, "promptls.run.leaveOneOut")
    assert titles == ["Find the examples that earn their tokens in answers"]

    report = await code.command("leaveOneOut", uri=uri, experiment="answers")
    again = len(server.requests)
    await code.command("leaveOneOut", uri=uri, experiment="answers")

    assert [(each.label, each.shown, each.verdict) for each in report.examples] == [
        ("short", 3, "inconclusive"), ("a somewhat longer one", 3, "inconclusive"),
    ]  # fmt: skip
    assert report.examples[1].tokens > report.examples[0].tokens > 0
    assert len(server.requests) == again == 9
    hints = await code.hints(uri, lambda found: any("inconclusive" in str(each.label) for each in found))
    worths = [str(each.label) for each in hints if "inconclusive" in str(each.label)]
    assert [worth.partition(" ")[2] for worth in worths] == ["tokens: inconclusive"] * 2
    hover = await code.hover(uri, '{"text": "sh|ort"}')
    assert hover is not None
    assert "without it exact_match is the same" in hover


async def test_the_last_run_is_compared_with_the_one_before(code: Editor, server: ModelServer) -> None:
    uri = opened(code, server)
    await code.command("runExperiment", uri=uri)
    server.reply = lambda _body: Reply("other")
    await code.command("runExperiment", uri=uri, fresh=True)

    found = await code.command("compareRuns", uri=uri, experiment="answers")

    assert "inconclusive at n = 3" in found.message
    assert [(change.id, change.before, change.after, change.better) for change in found.changes] == [
        ("a", "pass", "fail", False), ("b", "fail", "pass", True), ("c", "fail", "pass", True),
    ]  # fmt: skip


async def test_failed_rows_are_marked_if_lenses_follow_the_first_diagnostics(editor: Editor) -> None:
    rows = editor.root / "rows.csv"
    rows.write_text(ROWS, "utf-8")
    text = PROMPT.replace("office", "echo") + "  role: sytem\n"
    table = "id,text,answer,response,exact_match,error\na,one,one,,,no answer\n"
    prompt = editor.root / "failed.yml.j2"
    write_run(prompt, text, table, experiment="answers", dataset=rows, name="20260101-000000-failed")
    uri = editor.open("failed.yml.j2", text)
    await editor.diagnostics(uri, bool)
    await editor.lenses(uri)
    await editor.diagnostics(uri, lambda found: any(each.code == "failing-row" for each in found))


async def actions(editor: Editor, uri: str, kind: str) -> list[str]:
    top = types.Range(types.Position(0, 0), types.Position(0, 0))
    await editor.lenses(uri)
    params: Any = types.CodeActionParams(
        types.TextDocumentIdentifier(uri), top, types.CodeActionContext([], only=[kind])
    )
    found = await editor.client.text_document_code_action_async(params)
    return [each.title for each in found or ()]
