from __future__ import annotations

import pytest
from lsp_editor import Editor
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = """\
- name: first
  role: system
  content: |
    Answer in {{ language }}.
- name: second
  content: |
    {{ question }}
"""


async def actions(editor: Editor, uri: str, words: str, *only: str) -> list[types.CodeAction]:
    place = editor.at(uri, words)
    context = types.CodeActionContext(
        [], only=list(only) or None, trigger_kind=types.CodeActionTriggerKind.Invoked
    )
    document = types.TextDocumentIdentifier(uri)
    answer = await editor.client.text_document_code_action_async(
        types.CodeActionParams(document, types.Range(place, place), context)
    )
    return [action for action in answer or [] if isinstance(action, types.CodeAction)]


async def header_action(editor: Editor, uri: str) -> types.CodeAction:
    found = await actions(editor, uri, "|- name: first", "refactor.rewrite")
    return next(action for action in found if action.title.startswith("Add a header"))


def resolves(editor: Editor) -> bool:
    support = editor.client.capabilities.text_document
    return bool(support and support.code_action and support.code_action.resolve_support)


def makes_files(editor: Editor) -> bool:
    edits = editor.client.capabilities.workspace and editor.client.capabilities.workspace.workspace_edit
    return bool(edits and types.ResourceOperationKind.Create in (edits.resource_operations or []))


async def test_an_action_has_its_edits_at_once_or_when_it_is_chosen(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT)

    action = await header_action(editor, uri)

    assert action.kind == "refactor.rewrite"
    assert (action.edit is None) == resolves(editor)
    if resolves(editor):
        action = await editor.client.code_action_resolve_async(action)
    edit = action.edit
    assert edit is not None
    changes = [*(edit.changes or {}).values(), *(each.edits for each in edit.document_changes or [])]
    assert "input_keys" in changes[0][0].new_text


async def test_an_action_for_a_text_that_has_changed_is_refused(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT)
    if not resolves(editor):
        pytest.skip("the client asks for no edits")
    action = await header_action(editor, uri)
    editor.replace(uri, "Answer in", "Answer with")

    with pytest.raises(JsonRpcException, match="changed"):
        await editor.client.code_action_resolve_async(action)


async def test_a_section_file_is_made_by_clients_that_make_files(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT)

    found = await actions(editor, uri, "name: sec|ond", "refactor.extract")

    assert bool(found) == makes_files(editor)
    for action in found:
        chosen = await editor.client.code_action_resolve_async(action) if action.edit is None else action
        assert chosen.edit is not None
        create, text, document = chosen.edit.document_changes or []
        assert create.uri == text.text_document.uri
        assert create.uri.endswith("/sections/second.yml.j2")
        assert text.edits[0].new_text == PROMPT[PROMPT.index("- name: second") :]
        assert "include" in document.edits[0].new_text


async def test_what_cannot_be_had_is_shown_with_its_reason(editor: Editor) -> None:
    uri = editor.open(
        "a.yml.j2", "{% for t in ts %}\n- name: a\n  content: '{{ loop.index }}'\n{% endfor %}\n"
    )
    support = editor.client.capabilities.text_document

    found = await actions(editor, uri, "name: |a", "refactor.extract")

    shows = bool(support and support.code_action and support.code_action.disabled_support)
    assert [action.disabled.reason for action in found if action.disabled] == (
        ["the part reads `loop`, which an included file does not see"]
        if shows and makes_files(editor)
        else []
    )


async def test_refactorings_raise_no_light_bulb(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT)
    place = editor.at(uri, "|- name: second")
    context = types.CodeActionContext([], trigger_kind=types.CodeActionTriggerKind.Automatic)

    answer = await editor.client.text_document_code_action_async(
        types.CodeActionParams(types.TextDocumentIdentifier(uri), types.Range(place, place), context)
    )

    assert not [each for each in answer or [] if str(each.kind or "").startswith("refactor")]


async def test_fix_all_repeats_until_nothing_is_left(editor: Editor) -> None:
    uri = editor.open(
        "a.yml.j2", "- name: a\n  role: usr\n  content: b\n- name: c\n  role: sytem\n  content: d\n"
    )

    (action,) = await actions(editor, uri, "|- name: a", "source.fixAll")

    edit = action.edit
    assert edit is not None
    changes = [*(edit.changes or {}).values(), *(each.edits for each in edit.document_changes or [])]
    assert [each.new_text for each in changes[0]] == ["  role: user\n", "  role: system\n"]


async def test_an_empty_file_can_begin_with_a_prompt(editor: Editor) -> None:
    uri = editor.open("begun.yml.j2", "\n")

    found = await actions(editor, uri, "|\n")

    assert [action.title for action in found] == [
        "Insert a parts template",
        "Insert a prompt object",
        "Insert an evaluation prompt",
    ]
    edit = found[0].edit
    assert edit is not None
    changes = [*(edit.changes or {}).values(), *(each.edits for each in edit.document_changes or [])]
    assert changes[0][0].new_text.startswith("{#---\nname: begun\n")


async def test_an_empty_file_of_another_name_is_left_alone(editor: Editor) -> None:
    assert await actions(editor, editor.open("notes.txt", "\n"), "|\n") == []


async def test_a_fix_and_a_refactoring_that_do_the_same_are_one_action(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", "{#---\ninput_keys: [language]\n---#}\n" + PROMPT)
    await editor.rules(uri, ["undeclared-input"])

    titles = [action.title for action in await actions(editor, uri, "{{ |question")]

    assert titles.count("Add `question` to `input_keys`") == 1
    assert not [title for title in titles if title.startswith("Declare")]
