from __future__ import annotations

import pytest
from lsp_editor import Editor, eventually
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = """\
{#---
name: greeting
input_keys:
  user: {type: string, description: Who is greeted.}
token_limit: 100
examples:
  - {user: Ada 🎉}
---#}
{% set sign = "!" %}
- name: "🎉 greeting"
  role: system
  content: |
    🎉 Hello {{ user }}{{ sign }}
- name: question
  sections:
    - name: first
      content: Who are you, {{ user }}?
{% include "tail.yml.j2" %}
"""


def codes(found: list[types.Diagnostic]) -> list[int | str | None]:
    return [each.code for each in found]


def opened(editor: Editor) -> str:
    editor.write("tail.yml.j2", "- name: tail\n  content: Be brief.\n")
    return editor.open("a.yml.j2", PROMPT)


async def test_hover_over_a_part_shows_its_tokens(editor: Editor) -> None:
    uri = opened(editor)
    await editor.hints(uri, lambda found: len(found) == 3)

    text = await editor.hover(uri, '"🎉 gr|eeting')

    assert "rendered: 7 tokens, 7% of the limit of 100" in text
    assert "template text: " in text
    assert "example 1" in text


async def test_hover_on_a_variable_shows_its_origin_and_value(editor: Editor) -> None:
    uri = opened(editor)
    await editor.hints(uri, lambda found: len(found) == 3)

    text = await editor.hover(uri, "Hello {{ u|ser")

    assert "string" in text
    assert "Who is greeted." in text
    assert '"Ada 🎉"' in text
    assert "also read in line 17" in text


async def test_hover_on_a_key_describes_it(editor: Editor) -> None:
    uri = opened(editor)

    assert "joined without a separator" in await editor.hover(uri, "sec|tions:")
    assert "maximum number of tokens" in await editor.hover(uri, "token_l|imit")


async def test_markdown_goes_only_to_clients_that_show_it(editor: Editor) -> None:
    uri = opened(editor)
    formats = editor.client.capabilities.text_document.hover.content_format or []

    text = await editor.hover(uri, "token_l|imit")

    assert ("**" in text) == (types.MarkupKind.Markdown in formats)


async def test_hints_show_the_tokens_behind_the_names_of_parts_and_behind_includes(editor: Editor) -> None:
    uri = opened(editor)

    found = await editor.hints(uri, lambda found: len(found) == 3)

    assert [hint.label for hint in found] == ["7 tokens", "8 tokens", "3 tokens"]
    assert found[0].position == editor.at(uri, '"🎉 greeting"|')
    assert "example 1" in found[0].tooltip
    assert found[2].position == editor.at(uri, '"tail.yml.j2" %}|')


async def test_hints_mark_the_counts_of_the_template_where_it_does_not_render(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", "- name: a\n  content: Hello {{ user.name.first }}.\n")
    await editor.hints(uri, lambda found: [hint.label[:1] for hint in found] != [])

    editor.replace(uri, "user.name.first", "1 / 0")

    found = await editor.hints(uri, lambda found: [hint.label[:1] for hint in found] == ["~"])
    assert "does not render" in found[0].tooltip


async def test_inlay_hints_are_refreshed_if_the_client_supports_it(editor: Editor) -> None:
    uri = opened(editor)
    await editor.hints(uri, lambda found: len(found) == 3)

    workspace = editor.client.capabilities.workspace
    can = bool(workspace.inlay_hint and workspace.inlay_hint.refresh_support)
    if can:

        async def refreshed() -> int:
            return editor.client.refreshed.get(types.WORKSPACE_INLAY_HINT_REFRESH, 0)

        assert await eventually(refreshed, bool)
    else:
        assert types.WORKSPACE_INLAY_HINT_REFRESH not in editor.client.refreshed


async def test_the_outline_has_header_and_parts_with_their_sections(editor: Editor) -> None:
    uri = opened(editor)
    params = types.DocumentSymbolParams(types.TextDocumentIdentifier(uri))

    found = await editor.client.text_document_document_symbol_async(params)

    names = [symbol.name for symbol in found]
    if isinstance(found[0], types.DocumentSymbol):
        assert names == ["header", "sign", "🎉 greeting", "question"]
        assert [child.name for child in found[3].children] == ["first"]
        assert found[2].selection_range == editor.range_of(uri, '"🎉 greeting"')
    else:
        assert {"header", "🎉 greeting", "question", "first"} <= set(names)


async def test_a_quick_fix_names_its_diagnostic_and_mends_it(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", "- name: 🎉\n  role: sytem\n  content: x\n")
    found = await editor.rules(uri, ["unknown-role"])
    context = types.CodeActionContext(found, only=[types.CodeActionKind.QuickFix])

    actions = await editor.client.text_document_code_action_async(
        types.CodeActionParams(types.TextDocumentIdentifier(uri), found[0].range, context)
    )

    assert [action.title for action in actions] == ["Change to `system`"]
    edit = actions[0].edit
    edits = edit.document_changes[0].edits if edit.document_changes else edit.changes[uri]
    assert [(each.range, each.new_text) for each in edits] == [(found[0].range, "system")]
    assert [each.code for each in actions[0].diagnostics] == ["unknown-role"]
    assert actions[0].is_preferred


async def test_all_safe_fixes_come_in_one_edit(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", "- nmae: a\n  role: sytem\n  content: x\n  name: a\n")
    await editor.diagnostics(uri, lambda found: len(found) == 2)
    context = types.CodeActionContext([], only=["source.fixAll"])
    place = types.Range(types.Position(0, 0), types.Position(0, 0))

    actions = await editor.client.text_document_code_action_async(
        types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
    )

    assert [action.kind for action in actions] == ["source.fixAll.promptls"]


async def test_the_actions_of_the_file_are_offered_as_lenses_and_code_actions(editor: Editor) -> None:
    uri = opened(editor)
    context = types.CodeActionContext([])
    place = types.Range(types.Position(0, 0), types.Position(0, 0))

    lenses = await editor.lenses(uri)
    actions = await editor.client.text_document_code_action_async(
        types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
    )

    assert lenses == ["Preview"]
    offered = [action for action in actions if not getattr(action, "disabled", None)]
    has_panels = "promptls" in (editor.client.capabilities.experimental or {})  # with a button that asks
    asking = [] if has_panels else ["Ask local:smollm2"]
    assert [action.title for action in offered] == ["Preview", *asking]


async def test_no_code_action_is_offered_at_every_line(code: Editor) -> None:
    uri = opened(code)
    by_itself = types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Automatic)
    invoked = types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Invoked)
    place = types.Range(types.Position(12, 4), types.Position(12, 4))

    async def titles(context: types.CodeActionContext) -> list[str]:
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), place, context)
        return [action.title for action in await code.client.text_document_code_action_async(params)]

    assert await titles(by_itself) == []
    assert (await titles(invoked))[-1] == "Preview"


async def test_an_include_is_a_link_to_its_file(editor: Editor) -> None:
    uri = opened(editor)
    document = types.TextDocumentIdentifier(uri)

    links = await editor.client.text_document_document_link_async(types.DocumentLinkParams(document))
    (target,) = await editor.client.text_document_definition_async(
        types.DefinitionParams(document, editor.at(uri, '"ta|il.yml'))
    )

    assert [link.target for link in links] == [(editor.root / "tail.yml.j2").as_uri()]
    leads_to = target.target_uri if isinstance(target, types.LocationLink) else target.uri
    assert leads_to == (editor.root / "tail.yml.j2").as_uri()
