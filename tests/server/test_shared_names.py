"""Names that prompts share with programs, data and settings, requested from those files."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest
from lsp_editor import Editor, eventually
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = """\
{#---
input_keys: [subject]
experiments: {first: {dataset: rows.csv, metrics: ["metrics.py:right"]}}
---#}
- name: a
  content: "🎉 {{ subject }}"
"""
METRICS = 'from promptls import discrete_metric\n\n\ndef right(response): return "🎉", right\n'
ROWS = "id,subject\n1,🎉\n"
SETTINGS = '[models.office]\nprovider = "openai"\nmodel = "x"\n[metrics.mine]\nuse = "metrics.py:right"\n'


def opened(editor: Editor) -> dict[str, str]:
    """Open the files; return their URIs by name."""
    texts = {"metrics.py": METRICS, "rows.csv": ROWS, "promptls.toml": SETTINGS, "a.yml.j2": PROMPT}
    return {name: editor.open(name, text) for name, text in texts.items()}


def place(editor: Editor, uri: str, words: str) -> dict[str, object]:
    return {"text_document": types.TextDocumentIdentifier(uri), "position": editor.at(uri, words)}


async def renamed(editor: Editor, uri: str, words: str, new: str) -> dict[str, str]:
    """Return the texts of the changed files after a rename, by name."""
    prepared = await editor.client.text_document_prepare_rename_async(
        types.PrepareRenameParams(**place(editor, uri, words))
    )
    assert prepared.range.start <= editor.at(uri, words) <= prepared.range.end
    edit = await editor.client.text_document_rename_async(
        types.RenameParams(new_name=new, **place(editor, uri, words))
    )
    changes = dict(edit.changes or {})
    for each in edit.document_changes or ():
        assert each.text_document.version in {None, editor.versions[each.text_document.uri]}
        changes[each.text_document.uri] = each.edits
    return {
        Path(unquote(uri)).name: edited(editor, uri, [(each.range, each.new_text) for each in edits])
        for uri, edits in changes.items()
    }


def edited(editor: Editor, uri: str, edits: list[tuple[types.Range, str]]) -> str:
    lines = editor.texts[uri].split("\n")
    for place, new in sorted(
        edits, key=lambda edit: (edit[0].start.line, edit[0].start.character), reverse=True
    ):
        line = lines[place.start.line]
        columns = {editor.units(line[:column]): column for column in range(len(line) + 1)}
        start, end = columns[place.start.character], columns[place.end.character]
        lines[place.start.line] = line[:start] + new + line[end:]
    return "\n".join(lines)


async def test_a_metric_is_renamed_from_its_function(editor: Editor) -> None:
    uris = opened(editor)

    texts = await renamed(editor, uris["metrics.py"], "def ri|ght(", "exact")

    assert texts == {
        "a.yml.j2": PROMPT.replace("right", "exact"),
        "metrics.py": METRICS.replace("right", "exact"),
        "promptls.toml": SETTINGS.replace("right", "exact"),
    }


async def test_a_column_is_renamed_from_the_data_set(editor: Editor) -> None:
    uris = opened(editor)

    texts = await renamed(editor, uris["rows.csv"], "id,sub|ject", "topic")

    assert texts == {
        "a.yml.j2": PROMPT.replace("subject", "topic"),
        "rows.csv": ROWS.replace("subject", "topic"),
    }


async def test_what_is_typed_into_a_program_counts_before_it_is_saved(editor: Editor) -> None:
    uris = opened(editor)
    editor.replace(uris["metrics.py"], "\n\n\ndef", '\n\n# "🎉"\nlater = 1\n\ndef')
    editor.replace(uris["metrics.py"], '"🎉", right\n', '"🎉🎉", right, right\n')

    texts = await renamed(editor, uris["metrics.py"], '"🎉🎉", ri|ght,', "exact")

    assert texts["metrics.py"] == editor.texts[uris["metrics.py"]].replace("right", "exact")
    assert texts["metrics.py"].count("exact") == 3


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("metrics.py", "def right(resp|onse)"),
        ("metrics.py", "discrete_|metric"),
        ("rows.csv", "🎉|\n"),
        ("promptls.toml", "prov|ider"),
    ],
)
async def test_what_is_no_prompts_name_is_left_to_others(editor: Editor, name: str, words: str) -> None:
    uri = opened(editor)[name]
    arguments = place(editor, uri, words)

    prepared = await editor.client.text_document_prepare_rename_async(types.PrepareRenameParams(**arguments))
    edit = await editor.client.text_document_rename_async(types.RenameParams(new_name="x", **arguments))
    found = await editor.client.text_document_references_async(
        types.ReferenceParams(types.ReferenceContext(include_declaration=True), **arguments)
    )
    targets = await editor.client.text_document_definition_async(types.DefinitionParams(**arguments))

    assert (prepared, edit, found or None, targets or None) == (None, None, None, None)


async def test_references_of_a_function_and_of_a_column_lead_to_prompts(editor: Editor) -> None:
    uris = opened(editor)

    async def ask(name: str, words: str) -> list[str]:
        params = types.ReferenceParams(
            types.ReferenceContext(include_declaration=True), **place(editor, uris[name], words)
        )
        found = await editor.client.text_document_references_async(params)
        return [f"{Path(unquote(each.uri)).name}:{each.range.start.line}" for each in found]

    assert await ask("metrics.py", "def ri|ght(") == [
        "a.yml.j2:2",
        "metrics.py:3",
        "metrics.py:3",
        "promptls.toml:4",
    ]
    assert await ask("rows.csv", "id,sub|ject") == ["a.yml.j2:1", "a.yml.j2:5", "rows.csv:0"]


async def test_a_metric_of_the_settings_leads_to_its_function(editor: Editor) -> None:
    uris = opened(editor)

    (found,) = await editor.client.text_document_definition_async(
        types.DefinitionParams(**place(editor, uris["promptls.toml"], "metrics.py:ri|ght"))
    )

    assert getattr(found, "target_uri", None) or found.uri == uris["metrics.py"]


async def test_a_column_is_highlighted_in_its_data_set_and_nothing_in_a_program(editor: Editor) -> None:
    uris = opened(editor)

    async def ask(name: str, words: str) -> int:
        params = types.DocumentHighlightParams(**place(editor, uris[name], words))
        return len(await editor.client.text_document_document_highlight_async(params) or ())

    assert await ask("rows.csv", "id,sub|ject") == 1
    assert await ask("metrics.py", "def ri|ght(") == 0


async def test_a_name_that_cannot_be_is_refused_with_the_reason(editor: Editor) -> None:
    uris = opened(editor)

    with pytest.raises(JsonRpcException, match="is not a name"):
        await editor.client.text_document_rename_async(
            types.RenameParams(new_name="my metric", **place(editor, uris["metrics.py"], "def ri|ght("))
        )


async def test_a_client_is_asked_for_programs_where_it_can_be(editor: Editor) -> None:
    async def registered() -> list[str]:
        await editor.client.text_document_hover_async(types.HoverParams(**place(editor, uri, "def ri|ght(")))
        return editor.client.registered

    uri = opened(editor)["metrics.py"]
    can = editor.client.capabilities.text_document.rename.dynamic_registration
    syncs = editor.client.capabilities.text_document.synchronization.dynamic_registration
    if can and syncs:
        await eventually(registered, lambda methods: types.TEXT_DOCUMENT_RENAME in methods)
    else:
        assert types.TEXT_DOCUMENT_RENAME not in await registered()


async def test_a_program_that_is_saved_says_what_it_gives_to_a_prompt(editor: Editor) -> None:
    uri = editor.open("b.yml.j2", "{#---\ninput_keys: [text]\n---#}\n- name: a\n  content: '{{ text }}'\n")
    program = editor.open("app.py", 'import promptls\npromptls.load("b.yml.j2").render(text=1)\n')
    references = types.ReferenceParams(
        types.ReferenceContext(include_declaration=True), **place(editor, uri, "[te|xt]")
    )
    await editor.client.text_document_references_async(references)

    editor.replace(program, "text=1", "wrong=1")
    editor.write("app.py", editor.texts[program])
    editor.client.text_document_did_save(
        types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(program))
    )
    found = await editor.client.text_document_references_async(references)

    assert [Path(unquote(each.uri)).name for each in found] == ["b.yml.j2", "b.yml.j2"]
