from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest
from lsp_editor import Editor
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = """\
{#---
input_keys: [user]
experiments: {first: {dataset: rows.csv}}
---#}
{% set sign = "🎉" %}
- name: "🎉 greeting"
  role: system
  content: |
    🎉 {{ sign }} Hello {{ user }}{{ sign }}
{% include "tail.yml.j2" %}
"""
TAIL = "- name: tail\n  content: 🎉 {{ user }}\n"


def opened(editor: Editor) -> str:
    editor.write("tail.yml.j2", TAIL)
    editor.write("rows.csv", "id,user\n1,Ada\n")
    return editor.open("a.yml.j2", PROMPT)


def place(editor: Editor, uri: str, words: str) -> dict[str, object]:
    return {"text_document": types.TextDocumentIdentifier(uri), "position": editor.at(uri, words)}


def name_of(uri: str) -> str:
    return Path(unquote(uri)).name


async def test_definition_leads_to_the_binding_or_to_the_declaration(editor: Editor) -> None:
    uri = opened(editor)
    links = editor.client.capabilities.text_document.definition.link_support

    bound = await editor.client.text_document_definition_async(
        types.DefinitionParams(**place(editor, uri, "}}{{ si|gn"))
    )
    declared = await editor.client.text_document_definition_async(
        types.DefinitionParams(**place(editor, uri, "Hello {{ us|er"))
    )

    found = [
        (each.target_uri, each.target_selection_range) if links else (each.uri, each.range)
        for each in (*bound, *declared)
    ]
    assert found == [(uri, editor.range_of(uri, "sign")), (uri, editor.range_of(uri, "user"))]


async def test_references_go_through_files(editor: Editor) -> None:
    uri = opened(editor)

    async def ask(*, declaration: bool) -> list[str]:
        params = types.ReferenceParams(
            types.ReferenceContext(include_declaration=declaration), **place(editor, uri, "Hello {{ us|er")
        )
        found = await editor.client.text_document_references_async(params)
        return [f"{name_of(each.uri)}:{each.range.start.line}" for each in found]

    assert await ask(declaration=True) == ["a.yml.j2:1", "a.yml.j2:8", "rows.csv:0", "tail.yml.j2:1"]
    assert await ask(declaration=False) == ["a.yml.j2:8", "rows.csv:0", "tail.yml.j2:1"]


async def test_highlights_tell_writing_from_reading(editor: Editor) -> None:
    uri = opened(editor)

    found = await editor.client.text_document_document_highlight_async(
        types.DocumentHighlightParams(**place(editor, uri, "}}{{ si|gn"))
    )

    kinds = [(each.range.start.line, each.kind) for each in found]
    read, write = types.DocumentHighlightKind.Read, types.DocumentHighlightKind.Write
    assert kinds == [(4, write), (8, read), (8, read)]


async def test_prepare_rename_gives_the_name_or_the_reason(editor: Editor) -> None:
    uri = opened(editor)

    found = await editor.client.text_document_prepare_rename_async(
        types.PrepareRenameParams(**place(editor, uri, "}}{{ si|gn"))
    )
    assert found.placeholder == "sign"
    assert found.range.start == editor.at(uri, "}}{{ |sign")
    with pytest.raises(JsonRpcException, match="nothing to rename"):
        await editor.client.text_document_prepare_rename_async(
            types.PrepareRenameParams(**place(editor, uri, "He|llo"))
        )


async def test_rename_changes_every_file_as_the_client_takes_it(editor: Editor) -> None:
    uri = opened(editor)
    ability = editor.client.capabilities.workspace.workspace_edit

    edit = await editor.client.text_document_rename_async(
        types.RenameParams(new_name="person", **place(editor, uri, "Hello {{ us|er"))
    )

    if ability.document_changes:
        assert edit.changes is None
        names = {
            name_of(each.text_document.uri): each.text_document.version for each in edit.document_changes
        }
        assert names == {"a.yml.j2": 1, "rows.csv": None, "tail.yml.j2": None}
        annotated = {
            name_of(each.text_document.uri)
            for each in edit.document_changes
            if isinstance(each.edits[0], types.AnnotatedTextEdit)
        }
        assert annotated == ({"rows.csv"} if ability.change_annotation_support else set())
    else:
        assert {name_of(each) for each in edit.changes} == {"a.yml.j2", "rows.csv", "tail.yml.j2"}


async def test_a_name_that_is_taken_is_refused(editor: Editor) -> None:
    uri = opened(editor)

    with pytest.raises(JsonRpcException, match="`sign` is taken"):
        await editor.client.text_document_rename_async(
            types.RenameParams(new_name="sign", **place(editor, uri, "Hello {{ us|er"))
        )
