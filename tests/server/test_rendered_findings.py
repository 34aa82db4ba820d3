"""Diagnostics that need a rendering come after the others, and move with the text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from lsp_editor import Editor, eventually
from lsprotocol import types

from promptls.rendering.file_rendering import FileRendering
from promptls.rendering.make import weigh
from promptls.rendering.worker import RenderWorker
from promptls.server.state import latest_renderings
from promptls.workspace.snapshot import Snapshot

pytestmark = pytest.mark.asyncio(loop_scope="module")

BROKEN_BY_DATA = """\
{#---
input_keys: [text]
output_key: label
examples:
  - {text: "one\\ntwo: three", label: urgent}
---#}
- name: instructions
  role: system
  content: Say how urgent it is.
- name: ticket
  content: |
    {{ text }}
"""


def broken(found: list[types.Diagnostic]) -> list[types.Range]:
    return [each.range for each in found if each.code == "rendered-yaml"]


async def test_what_a_rendering_shows_is_a_diagnostic_with_a_fix(editor: Editor) -> None:
    uri = editor.open("broken.yml.j2", BROKEN_BY_DATA)
    found = await editor.diagnostics(uri, broken)
    (diagnostic,) = [each for each in found if each.code == "rendered-yaml"]
    assert diagnostic.range == editor.range_of(uri, "{{ text }}")
    assert diagnostic.severity == types.DiagnosticSeverity.Error

    actions = await editor.client.text_document_code_action_async(
        types.CodeActionParams(
            types.TextDocumentIdentifier(uri),
            diagnostic.range,
            types.CodeActionContext([diagnostic], only=[types.CodeActionKind.QuickFix]),
        )
    )
    assert "Escape it" in [action.title for action in actions or ()]


async def test_it_moves_along_with_the_text_and_goes_with_its_cause(editor: Editor) -> None:
    uri = editor.open("moving.yml.j2", BROKEN_BY_DATA)
    await editor.diagnostics(uri, broken)

    editor.replace(uri, "role: system", "role: system\n  truncation_priority: 1")
    moved = editor.range_of(uri, "{{ text }}")
    assert broken(await editor.diagnostics(uri, lambda found: broken(found) == [moved])) == [moved]

    editor.replace(uri, "{{ text }}", "{{ escape_special_characters(text) }}")
    await editor.diagnostics(uri, lambda found: not broken(found))


async def test_checking_the_workspace_renders_files_that_are_not_open(editor: Editor) -> None:
    uri = editor.write("on_disk.yml.j2", BROKEN_BY_DATA)

    found = await editor.client.workspace_execute_command_async(
        types.ExecuteCommandParams("promptls.check", [{"uri": uri}])
    )

    assert "rendered-yaml" in [each["code"] for each in found]


LONG = "".join(
    f"    Rule {number}: read the text twice before an answer is given.\n" for number in range(120)
)
CHANGING = f"""\
- name: greeting
  content: |
    The customer is called {{{{ customer }}}}.
- name: rules
  content: |
{LONG}\
- name: end
  content: "Thank you."
"""


async def test_what_other_data_shows_stays_while_the_file_is_rendered_again(editor: Editor) -> None:
    def codes(found: list[types.Diagnostic]) -> set[object]:
        return {each.code for each in found}

    uri = editor.open("changing.yml.j2", CHANGING)
    await editor.diagnostics(uri, lambda found: "unstable-prefix" in codes(found))

    editor.replace(uri, "Thank you.", "Thank you.  ")  # the next rendering strips it
    editor.replace(uri, "name: end", "name: last")
    found = await editor.diagnostics(uri, lambda found: "stripped-whitespace" in codes(found))

    assert "unstable-prefix" in codes(found)


@pytest.mark.parametrize("then", ["the file is saved", "another part is edited"])
async def test_white_space_at_the_cursor_is_not_reported_until(editor: Editor, then: str) -> None:
    def stripped(found: list[types.Diagnostic]) -> bool:
        return any(each.code == "stripped-whitespace" for each in found)

    text = "- name: task\n  content: |\n    Answer.\n- name: end\n  content: Bye.\n"
    uri = editor.open(f"typed {then}.yml.j2", text)
    await editor.hints(uri, lambda found: [str(each.label) for each in found][:1] == ["2 tokens"])

    editor.replace(uri, "Answer.", "Answer in one word. ")
    await editor.hints(uri, lambda found: [str(each.label) for each in found][:1] == ["5 tokens"])
    assert not stripped(await editor.diagnostics(uri, lambda _found: True))

    if then == "the file is saved":
        identifier = types.TextDocumentIdentifier(uri)
        editor.client.text_document_did_save(types.DidSaveTextDocumentParams(identifier))
    else:
        editor.replace(uri, "Bye.", "Good bye.")
    await editor.diagnostics(uri, stripped)


async def test_rows_are_counted_after_an_interruption_by_another_file(
    code: Editor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shows(label: str) -> Callable[[list[types.InlayHint]], bool]:
        return lambda found: [str(each.label) for each in found] == [label]

    code.write("rows.csv", "text\nword\none word more than that\n")
    experiment = "{#---\nexperiments: {main: {dataset: rows.csv}}\n---#}\n"
    uri = code.open("counted.yml.j2", f'{experiment}- name: a\n  content: "{{{{ text }}}}"\n')
    await code.hints(uri, shows("1 token (1-5)"))
    opened = []

    async def interrupt(
        worker: RenderWorker, snapshot: Snapshot, made: FileRendering, go_on: Callable[[], bool]
    ) -> FileRendering:
        if not opened:
            opened.append(code.open("other.yml.j2", "- name: other\n  content: Hello\n"))
            await eventually(lambda: asyncio.sleep(0.01, go_on()), lambda goes_on: not goes_on)
        return await weigh(worker, snapshot, made, go_on)

    monkeypatch.setattr(latest_renderings, "weigh", interrupt)
    code.replace(uri, "{{ text }}", "{{ text }} {{ text }}")
    await code.hints(uri, shows("2 tokens (2-10)"))
    assert len(opened) == 1
