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


async def test_highlights_distinguish_writes_from_reads(editor: Editor) -> None:
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
        edits = [each.edits[0] for each in edit.document_changes]
        assert not any(isinstance(each, types.AnnotatedTextEdit) for each in edits), "each is certain"
    else:
        assert {name_of(each) for each in edit.changes} == {"a.yml.j2", "rows.csv", "tail.yml.j2"}


async def test_a_name_that_is_taken_is_refused(editor: Editor) -> None:
    uri = opened(editor)

    with pytest.raises(JsonRpcException, match="`sign` is taken"):
        await editor.client.text_document_rename_async(
            types.RenameParams(new_name="sign", **place(editor, uri, "Hello {{ us|er"))
        )


async def test_an_edit_is_answered_with_the_tokens_that_it_changed(editor: Editor) -> None:
    uri = opened(editor)
    document = types.TextDocumentIdentifier(uri)
    legend = editor.client.answer.capabilities.semantic_tokens_provider.legend
    whole = await editor.client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(document))
    same = await editor.client.text_document_semantic_tokens_full_delta_async(
        types.SemanticTokensDeltaParams(document, whole.result_id)
    )
    assert list(same.edits) == []

    editor.replace(uri, "Hello {{ user }}", "Hello {{ 12 }}")

    changed = await editor.client.text_document_semantic_tokens_full_delta_async(
        types.SemanticTokensDeltaParams(document, whole.result_id)
    )
    (edit,) = changed.edits
    assert [legend.token_types[number] for number in edit.data[3::5]][:1] == ["number"]
    numbers = list(whole.data)
    numbers[edit.start : edit.start + edit.delete_count] = edit.data
    again = await editor.client.text_document_semantic_tokens_full_async(types.SemanticTokensParams(document))
    assert numbers == list(again.data)
    forgotten = await editor.client.text_document_semantic_tokens_full_delta_async(
        types.SemanticTokensDeltaParams(document, "gone")
    )
    assert list(forgotten.data) == numbers


async def test_tokens_of_a_range(editor: Editor) -> None:
    uri = opened(editor)
    document = types.TextDocumentIdentifier(uri)
    place = types.Range(types.Position(4, 0), types.Position(4, 0))

    found = await editor.client.text_document_semantic_tokens_range_async(
        types.SemanticTokensRangeParams(document, place)
    )

    legend = editor.client.answer.capabilities.semantic_tokens_provider.legend
    assert "keyword" in [legend.token_types[number] for number in found.data[3::5]]


async def test_folds_are_as_the_client_takes_them(editor: Editor) -> None:
    uri = opened(editor)

    found = await editor.client.text_document_folding_range_async(
        types.FoldingRangeParams(types.TextDocumentIdentifier(uri))
    )

    ability = editor.client.capabilities.text_document.folding_range
    by_lines = bool(ability and ability.line_folding_only)
    assert [(each.start_line, each.end_line) for each in found] == (
        [(0, 2), (5, 8), (7, 8)] if by_lines else [(0, 3), (5, 8), (7, 8)]
    )
    assert all((each.start_character is None) == by_lines for each in found)


async def test_selections_grow_from_each_position(editor: Editor) -> None:
    uri = opened(editor)
    positions = [editor.at(uri, "Hello {{ us|er"), editor.at(uri, "He|llo")]

    found = await editor.client.text_document_selection_range_async(
        types.SelectionRangeParams(types.TextDocumentIdentifier(uri), positions)
    )

    assert [each.range for each in found] == [
        types.Range(editor.at(uri, "Hello {{ |user"), editor.at(uri, "Hello {{ user| }}")),
        editor.range_of(uri, "Hello"),
    ]
    last = found[0]
    while last.parent is not None:
        last = last.parent
    assert last.range == types.Range(types.Position(0, 0), editor.position(uri, len(PROMPT)))


async def test_words_of_a_block_are_linked(editor: Editor) -> None:
    uri = editor.open("b.yml.j2", "{% if x %}\n- name: a\n  content: x\n{% endif %}\n")

    found = await editor.client.text_document_linked_editing_range_async(
        types.LinkedEditingRangeParams(**place(editor, uri, "i|f x"))
    )

    assert [each.start for each in found.ranges] == [types.Position(0, 3), types.Position(3, 6)]


async def test_names_of_the_workspace_are_found_and_placed(editor: Editor) -> None:
    uri = opened(editor)
    tail = editor.write("tail.yml.j2", TAIL)
    editor.client.workspace_did_change_watched_files(
        types.DidChangeWatchedFilesParams([types.FileEvent(tail, types.FileChangeType.Created)])
    )

    found = await editor.client.workspace_symbol_async(types.WorkspaceSymbolParams("🎉 gree"))

    (symbol,) = (each for each in found if each.location.uri == uri)
    assert symbol.name == "🎉 greeting"
    ability = editor.client.capabilities.workspace.symbol
    if ability is not None and ability.resolve_support is not None:
        symbol = await editor.client.workspace_symbol_resolve_async(symbol)
    assert symbol.location.range.start.line == 5
    tails = await editor.client.workspace_symbol_async(types.WorkspaceSymbolParams("tail"))
    assert tail in [each.location.uri for each in tails]


async def test_includes_make_a_hierarchy(editor: Editor) -> None:
    uri = opened(editor)

    (item,) = await editor.client.text_document_prepare_call_hierarchy_async(
        types.CallHierarchyPrepareParams(**place(editor, uri, 'include "ta|il'))
    )
    callers = await editor.client.call_hierarchy_incoming_calls_async(
        types.CallHierarchyIncomingCallsParams(item)
    )
    called = await editor.client.call_hierarchy_outgoing_calls_async(
        types.CallHierarchyOutgoingCallsParams(callers[0].from_)
    )

    assert name_of(item.uri) == "tail.yml.j2"
    assert [(name_of(each.from_.uri), list(each.from_ranges)) for each in callers] == [
        ("a.yml.j2", [editor.range_of(uri, "tail.yml.j2")])
    ]
    assert [name_of(each.to.uri) for each in called] == ["tail.yml.j2"]
