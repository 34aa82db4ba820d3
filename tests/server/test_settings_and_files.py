from __future__ import annotations

import asyncio

import pytest
from lsp_editor import Editor, eventually
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = "- name: a\n  role: robot\n  content: Hello.\n"


def touched(editor: Editor, name: str, kind: types.FileChangeType = types.FileChangeType.Changed) -> None:
    event = types.FileEvent((editor.root / name).as_uri(), kind)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))


async def test_a_setting_of_the_editor_changes_the_diagnostics_at_once(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT)
    await editor.rules(uri, ["unknown-role"])

    editor.set_settings({"rules": {"unknown-role": "off"}, "token_limit": None})

    await editor.rules(uri, [])


async def test_files_that_a_setting_includes_are_found(editor: Editor) -> None:
    editor.write("greeting.txt", "- name: a greeting\n  content: Hello.\n")
    editor.open("a.yml.j2", PROMPT)

    async def symbols() -> list[str]:
        found = await editor.client.workspace_symbol_async(types.WorkspaceSymbolParams("a greeting"))
        return [each.name for each in found or ()]

    assert await symbols() == []
    editor.set_settings({"include": ["*.txt"]})
    await eventually(symbols, lambda names: "a greeting" in names)


async def test_a_settings_file_that_is_written_counts(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT)
    await editor.rules(uri, ["unknown-role"])

    editor.write("promptls.toml", 'roles = ["robot"]\n')
    touched(editor, "promptls.toml", types.FileChangeType.Created)

    await editor.rules(uri, [])


async def test_a_mistake_in_a_settings_file_is_shown_at_its_key_and_never_pops_up(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT)
    await editor.rules(uri, ["unknown-role"])
    settings = editor.write("promptls.toml", "[rendering]\ntimout = 3\n")

    async def shown() -> list[types.Diagnostic]:
        await editor.lenses(uri)
        return list(editor.client.diagnostics.get(settings, ()))

    touched(editor, "promptls.toml")
    (found,) = await eventually(shown, bool)
    assert found.message == "there is no setting `rendering.timout`; did you mean `timeout`?"
    assert found.range == types.Range(types.Position(1, 0), types.Position(1, 6))

    editor.open("promptls.toml", "[rendering]\ntimeout = 3\n")
    await eventually(shown, lambda diagnostics: not diagnostics)
    editor.write("promptls.toml", "[rendering]\nmemry = 3\n")
    editor.close(settings)
    (found,) = await eventually(shown, bool)
    assert found.message == "there is no setting `rendering.memry`; did you mean `memory`?"
    assert editor.client.messages == []


async def test_a_mistake_in_the_settings_of_the_editor_is_logged_once_and_never_pops_up(
    editor: Editor,
) -> None:
    uri = editor.open("a.yml.j2", PROMPT)
    await editor.rules(uri, ["unknown-role"])

    editor.set_settings({"rolls": ["robot"]})
    editor.set_settings({"rolls": ["robot"]})

    async def logged() -> list[str]:
        await editor.lenses(uri)
        return [log.message for log in editor.client.log_messages if "rolls" in log.message]

    assert len(await eventually(logged, bool)) == 1
    assert editor.client.messages == []


async def test_an_included_file_that_is_written_counts(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT.replace("robot", "user") + '{% include "tail.yml.j2" %}\n')
    await editor.rules(uri, ["unresolved-include"])

    editor.write("tail.yml.j2", "- name: tail\n  content: x\n")
    touched(editor, "tail.yml.j2", types.FileChangeType.Created)

    await editor.rules(uri, [])


async def test_saving_a_file_looks_at_the_disk_for_clients_that_watch_nothing(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT)
    await editor.rules(uri, ["unknown-role"])

    saved = editor.write("promptls.toml", 'roles = ["robot"]\n')
    editor.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(saved)))

    await editor.rules(uri, [])


async def test_files_are_watched_where_the_client_can_be_asked(editor: Editor) -> None:
    workspace = editor.client.capabilities.workspace
    can = bool(workspace.did_change_watched_files and workspace.did_change_watched_files.dynamic_registration)

    async def registered() -> list[str]:
        await asyncio.sleep(0)
        return editor.client.registered

    if can:
        await eventually(registered, lambda methods: types.WORKSPACE_DID_CHANGE_WATCHED_FILES in methods)
    else:
        uri = editor.open("a.yml.j2", PROMPT)
        await editor.rules(uri, ["unknown-role"])
        assert types.WORKSPACE_DID_CHANGE_WATCHED_FILES not in await registered()


async def test_a_section_is_known_by_the_files_that_include_it(code: Editor) -> None:
    code.write("entry.yml.j2", '{% include "section.yml.j2" %}\n- name: a\n  content: x\n')
    uri = code.open("section.yml.j2", "- name: tail\n  content: x\n  rolle: user\n")

    await code.rules(uri, ["unknown-part-key"])
    assert await code.lenses(uri) == []


async def test_settings_files_are_completed_and_explained(editor: Editor) -> None:
    uri = editor.open("promptls.toml", 'encoding = "o200k_base"\n[rules]\nunknown-role = ""\n')

    found = await editor.client.text_document_completion_async(
        types.CompletionParams(types.TextDocumentIdentifier(uri), types.Position(2, 16))
    )
    reported = await editor.client.text_document_hover_async(
        types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(0, 3))
    )

    assert [item.label for item in found.items] == ["error", "warning", "information", "hint", "off"]
    assert "The default tiktoken encoding" in reported.contents.value


async def test_settings_files_are_asked_for_where_the_client_can_send_them(code: Editor) -> None:
    async def registered() -> list[str]:
        await asyncio.sleep(0)
        return code.client.registered

    await eventually(registered, lambda methods: types.TEXT_DOCUMENT_HOVER in methods)


async def test_folds_are_asked_for_again_when_a_file_becomes_a_section(code: Editor) -> None:
    uri = code.open("part.yml.j2", "{% if a %}\nhello\n{% endif %}\n")
    folds = types.FoldingRangeParams(types.TextDocumentIdentifier(uri))
    assert await code.client.text_document_folding_range_async(folds) is None

    code.open("whole.yml.j2", '{% include "part.yml.j2" %}\n- name: a\n  content: x\n')

    async def request_count() -> int:
        await asyncio.sleep(0)
        return code.client.refreshed.get(types.WORKSPACE_FOLDING_RANGE_REFRESH, 0)

    await eventually(request_count, lambda count: count > 0)
    assert await code.client.text_document_folding_range_async(folds)
