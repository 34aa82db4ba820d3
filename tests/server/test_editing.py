from __future__ import annotations

import asyncio

import pytest
from lsp_editor import Editor
from lsprotocol import types
from pygls.exceptions import JsonRpcRequestCancelled

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = """\
- name: "🎉 greeting"
  role: system
  content: |
    🎉 Hello {{ user }}, welcome.
"""


async def test_the_position_encoding_is_the_one_that_the_client_likes_best(editor: Editor) -> None:
    capabilities = editor.client.capabilities.general
    encodings = capabilities.position_encodings if capabilities else None

    assert editor.encoding == (encodings[0] if encodings else types.PositionEncodingKind.Utf16)


async def test_a_diagnostic_appears_with_the_mistake_and_vanishes_with_it(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT)
    await editor.rules(uri, [])

    editor.replace(uri, "role: system", "role: sytem")
    found = await editor.rules(uri, ["unknown-role"])
    assert found[0].range == editor.range_of(uri, "sytem")
    assert "did you mean `system`?" in found[0].message
    assert found[0].source == "promptls"

    editor.replace(uri, "sytem", "system")
    await editor.rules(uri, [])


async def test_places_behind_an_emoji_are_counted_as_the_client_counts(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT)

    editor.replace(uri, "Hello {{ user }}", "Hello {{ user")
    found = await editor.rules(uri, ["jinja-syntax"])

    assert found[0].range.start == editor.at(uri, "Hello |{{ user")


async def test_diagnostics_are_pushed_only_to_a_client_that_does_not_ask(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT.replace("system", "sytem"))
    await editor.rules(uri, ["unknown-role"])

    assert bool(editor.client.diagnostics) != editor.pulls


async def test_closing_a_file_takes_its_pushed_diagnostics_away(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT.replace("system", "sytem"))
    await editor.rules(uri, ["unknown-role"])

    editor.close(uri)

    if not editor.pulls:
        await editor.rules(uri, [])


async def test_a_file_that_is_no_prompt_gets_nothing(editor: Editor) -> None:
    uri = editor.open("play.yml.j2", "- hosts: all\n  tasks:\n    - name: x\n      shell: {{ cmd\n")

    await editor.rules(uri, [])
    assert await editor.hover(uri, "h|osts") is None
    assert await editor.lenses(uri) == []


async def test_unsaved_text_of_an_included_file_counts_in_the_file_that_includes_it(editor: Editor) -> None:
    editor.write("tail.yml.j2", "- name: tail\n  content: x\n")
    entry = editor.open("a.yml.j2", PROMPT + '{% include "tail.yml.j2" %}\n')
    await editor.rules(entry, [])

    editor.replace(entry, "tail.yml.j2", "gone.yml.j2")
    await editor.rules(entry, ["unresolved-include"])
    editor.open("gone.yml.j2", "- name: tail\n  content: x\n")
    await editor.rules(entry, [])


async def test_inputs_of_a_section_are_reported_in_both_unsaved_files(editor: Editor) -> None:
    header = "{#---\ninput_keys: [text]\n---#}\n"
    part = '- name: a\n  role: user\n  content: "{{ text }}"\n'
    entry = editor.open("a.yml.j2", f"{header}{part}{{% include 'tail.yml.j2' %}}\n")
    section = editor.open("tail.yml.j2", part.replace("name: a", "name: b"))
    await editor.rules(entry, [])
    await editor.rules(section, [])

    editor.replace(section, "{{ text }}", "{{ text }} {{ locale }}")
    found = await editor.rules(section, ["undeclared-input"])
    reported = await editor.rules(entry, ["undeclared-input"])
    assert found[0].range == editor.range_of(section, "locale")
    assert reported[0].range == editor.range_of(entry, "'tail.yml.j2'")

    editor.replace(entry, "[text]", "[text, locale]")
    await editor.rules(entry, [])
    await editor.rules(section, [])


async def test_many_changes_at_once_lead_to_the_diagnostics_of_the_last_text(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT)
    await editor.rules(uri, [])

    for index in range(30):
        editor.replace(uri, "welcome" + "!" * index + ".", "welcome" + "!" * (index + 1) + ".")
    editor.replace(uri, "system", "sytem")

    found = await editor.rules(uri, ["unknown-role"])
    assert found[0].range == editor.range_of(uri, "sytem")


async def test_an_unchanged_answer_is_named_as_such(code: Editor) -> None:
    uri = code.open("a.yml.j2", PROMPT.replace("system", "sytem"))
    document = types.TextDocumentIdentifier(uri)
    first = await code.client.text_document_diagnostic_async(types.DocumentDiagnosticParams(document))

    again = await code.client.text_document_diagnostic_async(
        types.DocumentDiagnosticParams(document, previous_result_id=first.result_id)
    )

    assert again.kind == "unchanged"
    assert again.result_id == first.result_id


async def test_odd_line_ends_do_not_shift_later_edits(code: Editor) -> None:
    uri = code.open("a.yml.j2", "- name: a\n  content: 'x\u2028\x85y'\n  role: system\n")
    await code.rules(uri, [])

    code.replace(uri, "role: system", "role: sytem")

    found = await code.rules(uri, ["unknown-role"])
    assert found[0].range.start == types.Position(2, 8)


async def test_a_change_to_a_file_that_is_not_open_does_no_harm(code: Editor) -> None:
    document = types.VersionedTextDocumentIdentifier(uri=(code.root / "no.yml.j2").as_uri(), version=2)
    change = types.TextDocumentContentChangeWholeDocument("x")
    code.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    uri = code.open("a.yml.j2", PROMPT)
    await code.rules(uri, [])


async def test_a_cancelled_request_is_answered_and_the_next_one_works(code: Editor) -> None:
    uri = code.open("a.yml.j2", PROMPT)
    params = types.HoverParams(types.TextDocumentIdentifier(uri), code.at(uri, "{{ u|ser"))
    request = code.client.protocol.send_request(types.TEXT_DOCUMENT_HOVER, params, msg_id="cancel me")
    code.client.cancel_request(types.CancelParams("cancel me"))

    with pytest.raises(JsonRpcRequestCancelled):
        await asyncio.wrap_future(request)
    assert "`user`" in await code.hover(uri, "{{ u|ser")
