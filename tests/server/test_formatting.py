from __future__ import annotations

import pytest
from lsp_editor import Editor
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

OPTIONS = types.FormattingOptions(2, insert_spaces=True)
LOOSE = "- name:  a\n  content: 🎉 {{x|trim}}\n- name:  b\n  content: {{y}}\n"


def applied(editor: Editor, uri: str, edits: list[types.TextEdit] | None) -> str:
    """Return the document's text after the edits, as the client would apply them."""
    text = editor.texts[uri]
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(place: types.Position) -> int:
        line = (
            text[starts[place.line] :].splitlines(keepends=True)[0] if starts[place.line] < len(text) else ""
        )
        column = next(c for c in range(len(line) + 1) if editor.units(line[:c]) >= place.character)
        return starts[place.line] + column

    for edit in sorted(edits or [], key=lambda edit: offset(edit.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


async def test_a_file_is_laid_out_by_small_edits(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", LOOSE)

    edits = await editor.client.text_document_formatting_async(
        types.DocumentFormattingParams(types.TextDocumentIdentifier(uri), OPTIONS)
    )

    assert applied(editor, uri, list(edits or [])) == (
        "- name: a\n  content: 🎉 {{ x | trim }}\n- name: b\n  content: {{ y }}\n"
    )
    assert all(len(edit.new_text) <= 2 for edit in edits or [])


async def test_a_range_is_laid_out_alone(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", LOOSE)
    span = types.Range(types.Position(2, 0), types.Position(3, 0))

    edits = await editor.client.text_document_range_formatting_async(
        types.DocumentRangeFormattingParams(types.TextDocumentIdentifier(uri), span, OPTIONS)
    )

    assert applied(editor, uri, list(edits or [])) == LOOSE.replace("name:  b", "name: b")


async def test_a_brace_that_closes_a_tag_spaces_it(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", LOOSE)
    place = editor.at(uri, "{{y}}|")

    edits = await editor.client.text_document_on_type_formatting_async(
        types.DocumentOnTypeFormattingParams(types.TextDocumentIdentifier(uri), place, "}", OPTIONS)
    )

    assert applied(editor, uri, list(edits or [])) == LOOSE.replace("{{y}}", "{{ y }}")


async def test_a_file_that_is_no_prompt_is_left_alone(editor: Editor) -> None:
    uri = editor.open("site.yml.j2", "- hosts:   all\n  tasks: {{tasks}}\n")

    edits = await editor.client.text_document_formatting_async(
        types.DocumentFormattingParams(types.TextDocumentIdentifier(uri), OPTIONS)
    )

    assert not edits
