from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsp_editor import Editor, eventually
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from promptls.server.to_proto import path_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = """\
{#---
input_keys: [text]
output_key: response
token_limit: 50
experiments:
  answers: {dataset: data.csv, models: [echo], metrics: [exact_match]}
---#}
- name: instructions
  role: system
  content: Answer "🎉" always.
  truncation_priority: 1
{% for turn in range(2) %}
- name: turn {{ turn }}
  content: Again.
{% endfor %}
- name: question
  content: "{{ text }}"
"""
DATA = "text,response\nhello,hello\nbye,good bye\n"
SLOW = """\
import time
from promptls import MetricResult, discrete_metric

@discrete_metric(name="slow", allowed_values=["yes", "no"])
def slow(response):
    time.sleep(60)
    return MetricResult(value="yes", reason="")
"""


def opened(editor: Editor, prompt: str = PROMPT) -> str:
    editor.write("data.csv", DATA)
    return editor.open("a.yml.j2", prompt)


def popped_up(editor: Editor) -> list[str]:
    """Return the messages that were shown, and clear them."""
    shown = [message.message for message in editor.client.messages]
    editor.client.messages.clear()
    return shown


async def test_a_preview_has_parts_tokens_and_source_lines(editor: Editor) -> None:
    uri = opened(editor)

    made = await editor.command("preview", uri=uri, row=1, limit=8, step=1)

    parts = made.rendering.parts
    assert [part.name for part in parts] == ["instructions", "turn 0", "turn 1", "question"]
    assert [part.line for part in parts] == [7, 12, 12, 15]
    assert [part.kept for part in parts] == [False, True, True, True]
    assert parts[3].content == "bye"
    assert parts[3].tokens == 1
    assert made.tokenLimit == 8
    assert made.sample.name == "row 2"
    assert made.kind == "parts template"
    assert made.failure is None
    assert [(sample.name, getattr(sample, "row", None)) for sample in made.samples] == [
        ("row 1", 0),
        ("placeholders", None),
        ("row 2", 1),
    ]


async def test_a_preview_says_why_and_where_a_prompt_does_not_render(editor: Editor) -> None:
    uri = opened(editor, "- name: a\n  content: x\n- name: b\n  content: '{{ 1 / 0 }}'\n")

    made = await editor.command("preview", uri=uri)

    assert made.rendering is None
    assert made.failure.line == 3
    assert "division" in made.failure.message


USER = "{#---\ninput_keys: {user: {type: object, properties: {name: {type: string}}}}\n---#}\n"


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        (f"{USER}- name: a\n  content: '{{{{ user.nmae.upper() }}}}'\n", "did you mean `name`?"),
        ("- name: a\n  content: '{% if 2 gt 1 %}x{% endif %}'\n", "Change `gt` to `>`."),
    ],
    ids=["a key", "an operator"],
)
async def test_a_preview_that_fails_suggests_the_fix(editor: Editor, text: str, suggestion: str) -> None:
    made = await editor.command("preview", uri=opened(editor, text), data={"user": {"name": "Ada"}})

    assert suggestion in made.failure.message


async def test_the_preview_is_opened_as_a_text_where_the_client_has_no_panel(
    editor: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    uri = opened(editor)
    editor.client.shown_documents.clear()

    made = await editor.command("preview", uri=uri)

    if editor.client.capabilities.experimental:
        assert not hasattr(made, "document")
        return
    text = Path(made.document).read_text(encoding="utf-8")
    assert 'Answer "🎉" always.' in text
    assert "## question (user, " in text

    async def shown() -> list[str]:
        return [each.uri for each in editor.client.shown_documents]

    window = editor.client.capabilities.window
    if window and window.show_document and window.show_document.support:
        assert await eventually(shown, bool) == [Path(made.document).as_uri()]
    else:
        assert popped_up(editor) == [f"Preview: {made.document}"]


async def test_a_run_reports_progress_and_its_scores_appear_above_the_prompt(editor: Editor) -> None:
    uri = opened(editor)
    assert await editor.lenses(uri) == ["Preview", "Run answers"]
    editor.client.progress_reports.clear()

    result = await editor.command("runExperiment", uri=uri, experiment="answers")

    assert (result.rows, result.failed, result.cancelled) == (2, 0, False)
    assert result.scores.exact_match == 0.5
    assert Path(result.run).read_text(encoding="utf-8").count("\n") == 3
    shown = popped_up(editor)
    assert shown == [] if editor.client.capabilities.experimental else [result.message]
    window = editor.client.capabilities.window
    if window and window.work_done_progress:
        (reports,) = editor.client.progress_reports.values()
        kinds = [report.kind for report in reports]
        assert kinds[0] == "begin"
        assert kinds[-1] == "end"
        assert [report.message for report in reports[1:-1]][-1] == "2 of 2 rows"
    assert await editor.lenses(uri) == ["Preview", "Run answers", "exact_match 50 %"]


async def test_an_edit_makes_the_scores_stale_and_a_second_run_shows_the_change(code: Editor) -> None:
    uri = opened(code)
    await code.command("runExperiment", uri=uri)

    code.replace(uri, "{{ text }}", "{{ text | upper }}")
    assert await code.lenses(uri) == ["Preview", "Run answers", "exact_match 50 % · stale"]

    await code.command("runExperiment", uri=uri)
    assert await code.lenses(uri) == ["Preview", "Run answers", "exact_match 0 % (-50)"]
    table = await code.hover(uri, "ans|wers:")
    assert "| exact_match | 0 % (-50) | 2 |" in table


async def test_results_contain_scores_rows_and_the_comparison_with_the_previous_run(code: Editor) -> None:
    uri = opened(code)
    none = await code.command("showResults", uri=uri)
    assert (none.runs, Path(none.prompt).as_uri()) == ([], uri)
    first = await code.command("runExperiment", uri=uri)
    alone = await code.command("showResults", uri=uri)
    second = await code.command("runExperiment", uri=uri)

    view = await code.command("showResults", run=second.run)
    rows = await code.command("resultsRows", run=second.run, filter={"search": "hello"})
    pairs = await code.command("resultsPairs", before=first.run, after=second.run, differing=True)

    assert (len(alone.runs), alone.comparisons) == (1, [])
    assert [run.path for run in view.runs] == [first.run, second.run]
    assert view.runs[1].metrics[0].text == "50 %"
    assert "inconclusive" in view.comparisons[0].metrics[0].message
    assert not view.runs[1].stale
    assert [(row.place, row.cells.response) for row in rows.rows] == [(0, "hello")]
    assert pairs.total == 0


async def test_an_agent_reads_rows_worst_first_and_compares_the_last_runs_of_prompts(code: Editor) -> None:
    uri = opened(code)
    run = await code.command("runExperiment", uri=uri)
    prompt = str(path_of(uri))

    page = await code.command("resultsText", run=prompt, count=1)
    compared = await code.command("compareRuns", runs=[prompt, run.run])

    assert page.text.startswith(f"{run.name}: rows 1 to 1 of 2\nrow 2 (id 2)\n")
    assert "  exact_match: fail (" in page.text
    assert (compared.before.run, compared.after.run) == (run.run, run.run)


async def test_the_results_are_a_report_in_a_file_where_the_client_has_no_panel(editor: Editor) -> None:
    uri = opened(editor)
    run = await editor.command("runExperiment", uri=uri)

    shown = await editor.command("showResults", uri=uri)

    if editor.client.capabilities.experimental:
        assert not hasattr(shown, "document")
        return
    assert (shown.run, Path(shown.document).suffix) == (run.run, ".html")
    assert 'id="report-data"' in Path(shown.document).read_text("utf-8")
    assert popped_up(editor)[0].startswith(f"{run.name}: 2 rows")


async def test_a_thumb_and_a_note_are_stored_beside_the_scores(code: Editor, tmp_path: Path) -> None:
    run = await code.command("runExperiment", uri=opened(code))
    table = Path(run.run).read_bytes()
    await code.command("resultsNote", run=run.run, place=1, thumb="down", text="rude")

    view = await code.command("showResults", run=run.run)
    noted = await code.command("resultsRows", run=run.run, filter={"noted": True})
    numbers = await code.command("resultsNumbers", run=run.run, filter={"kind": "failing"})
    written = await code.command(
        "exportResults", run=run.run, filter={"noted": True}, form="jsonl", to=str(tmp_path / "rows.jsonl")
    )

    assert Path(run.run).read_bytes() == table
    assert getattr(view.runs[0].notes, "1").text == "rude"
    assert [row.place for row in noted.rows] == [1]
    assert (numbers.rows, numbers.experiment) == ("2,", "answers")
    assert written.rows == 1
    assert '"thumb": "down", "note": "rude"' in (tmp_path / "rows.jsonl").read_text("utf-8")


async def test_failed_rows_of_the_last_run_show_at_the_experiment(code: Editor) -> None:
    uri = opened(code, PROMPT.replace("{{ text }}", "{{ text ~ (1 / (text | length - 3)) }}"))
    await code.rules(uri, ["failing-rendering"])

    result = await code.command("runExperiment", uri=uri)

    assert result.failed == 1
    both = await code.rules(uri, ["failing-rendering", "failing-row"])
    (found,) = [each for each in both if each.code == "failing-row"]
    assert found.severity == types.DiagnosticSeverity.Information
    assert found.range == code.range_of(uri, "answers")
    assert "1 of 2 rows failed" in found.message


async def test_a_run_that_is_cancelled_ends_and_says_so(code: Editor) -> None:
    code.write("metrics.py", SLOW)
    uri = opened(code, PROMPT.replace("exact_match]", "metrics.py:slow]"))
    code.client.progress_reports.clear()
    running = asyncio.ensure_future(code.command("runExperiment", uri=uri))

    async def begun() -> list[Any]:
        reports = code.client.progress_reports
        return [token for token, seen in reports.items() if len(seen) > 1]

    (token,) = await eventually(begun, bool)
    code.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
    result = await asyncio.wait_for(running, 20)

    assert result.cancelled
    assert result.run == ""
    assert "cancelled after 0 of 2 rows" in result.message
    assert code.client.progress_reports[token][-1].kind == "end"


async def test_tokens_are_counted_part_by_part(code: Editor) -> None:
    uri = opened(code)

    counted = await code.command("tokens", uri=uri)

    assert counted.parts[0].name == "instructions"
    assert counted.total == sum(part.tokens for part in counted.parts)
    assert (counted.limit, counted.encoding, counted.approximate) == (50, "o200k_base", False)


async def test_a_check_finds_what_is_wrong_in_one_file_and_in_all(code: Editor) -> None:
    code.write("sub/b.yml.j2", "- name: b\n  role: sytem\n  content: x\n")
    uri = opened(code, "- name: a\n  rolle: user\n  content: x\n")

    one = await code.command("check", uri=uri)
    everything = await code.command("check")

    assert [found.code for found in one] == ["unknown-part-key"]
    here = [found for found in everything if Path(found.path).is_relative_to(code.root)]
    assert [(Path(found.path).name, found.code) for found in here] == [
        ("a.yml.j2", "unknown-part-key"),
        ("b.yml.j2", "unknown-role"),
    ]


async def test_debug_information_contains_the_doctor_report_and_no_secret(
    code: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await code.command("debugInformation")

    assert found.encoding == "utf-16"
    assert "version" in {check.name for check in found.checks}


@pytest.mark.parametrize(
    ("command", "prompt", "arguments", "said"),
    [
        ("preview", PROMPT, {"uri": "file:///nowhere/a.yml.j2"}, "there is no such file"),
        ("preview", "- hosts: all\n  tasks: []\n", {}, "not a prompt file"),
        ("preview", PROMPT, {"row": "first"}, "`row` must be of type int"),
        ("preview", PROMPT, {"row": 99}, "no row 100"),
        ("preview", PROMPT, {"sample": "placeholder"}, "did you mean `placeholders`"),
        ("runExperiment", PROMPT, {"experiment": "answer"}, "did you mean `answers`"),
        ("runExperiment", "- name: a\n  content: x\n", {}, "declares no experiment"),
        ("runExperiment", PROMPT.replace("data.csv", "dat.csv"), {}, "dat.csv"),
        ("runExperiment", PROMPT.replace("[echo]", "[ekho]"), {}, "ekho"),
        ("compareRuns", PROMPT, {}, "has not been run yet"),
        ("tokens", "- name: a\n  content: '{{ 1 / 0 }}'\n", {}, "division"),
        ("previw", PROMPT, {}, "did you mean `promptls.preview`"),
    ],
)
async def test_what_cannot_be_done_is_answered_with_a_sentence(
    code: Editor, command: str, prompt: str, arguments: dict[str, Any], said: str
) -> None:
    uri = opened(code, prompt)

    with pytest.raises(JsonRpcException) as refused:
        await code.command(command, **{"uri": uri, **arguments})

    assert said in refused.value.message


async def test_the_inputs_of_a_prompt_can_be_had_in_other_forms(editor: Editor) -> None:
    uri = opened(editor)

    found = await editor.command("contract", uri=uri, format="typeddict")

    assert [(each.name, each.type, each.optional) for each in found.inputs] == [
        ("text", "text, number or boolean", False)
    ]
    start = found.inputs[0].declared.range.start
    assert (start.line, start.character) == (1, 13)
    assert "text: str | int | float | bool" in found.text
    with pytest.raises(JsonRpcException, match="there is no form `pydantics`; did you mean `pydantic`"):
        await editor.command("contract", uri=uri, format="pydantics")


async def test_failed_rows_show_in_the_data_set_until_the_prompt_changes(editor: Editor) -> None:
    uri = opened(editor, PROMPT.replace("{{ text }}", "{{ text ~ (1 / (text | length - 3)) }}"))
    dataset = (editor.root / "data.csv").as_uri()

    async def shown() -> list[types.Diagnostic]:
        return list(editor.client.diagnostics.get(dataset, ()))

    await editor.command("runExperiment", uri=uri)
    popped_up(editor)
    found = await eventually(shown, bool)

    assert [(each.code, each.range.start.line) for each in found] == [("failing-row", 1), ("failing-row", 2)]
    assert "exact_match says `fail`" in found[0].message
    assert found[1].message.startswith("failed: ")
    assert "division by zero" in found[1].message
    assert "in the last run of `answers` in `a.yml.j2`" in found[1].message
    assert found[1].range.end.character == len("bye,good bye")
    editor.replace(uri, "Again.", "Once more.")
    assert await eventually(shown, lambda each: not each) == []
