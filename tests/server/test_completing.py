from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from lsp_editor import Editor
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = """\
{#---
name: greeting
input_keys:
  user: {type: object, description: Who is greeted., properties: {name: {type: string}, town: {}}}
---#}
{# Greets **somebody**. #}
{% macro greet(name, mark="🎉!", loud=false) %}{{ name }}{{ mark }}{{ loud }}{% endmacro %}
- name: "🎉 greeting"
  content: |
    🎉 Hello {{ user.name }} {{ greet("x🎉", "y") | upper }}
"""


async def completed(editor: Editor, uri: str, words: str, trigger: str | None = None) -> types.CompletionList:
    kind = types.CompletionTriggerKind.TriggerCharacter if trigger else types.CompletionTriggerKind.Invoked
    params = types.CompletionParams(
        types.TextDocumentIdentifier(uri),
        editor.at(uri, words),
        context=types.CompletionContext(kind, trigger_character=trigger),
    )
    found = await editor.client.text_document_completion_async(params)
    assert found is None or isinstance(found, types.CompletionList)
    return found or types.CompletionList(is_incomplete=False, items=[])


def named(found: types.CompletionList, label: str) -> types.CompletionItem:
    item = next(item for item in found.items if item.label == label)
    # Clients fill in what the list says once for all.
    if item.data is None and found.item_defaults is not None:
        item.data = found.item_defaults.data
    return item


def accepted(editor: Editor, uri: str, found: types.CompletionList, label: str) -> str:
    """Return the text after accepting the item, as this client does."""
    item = named(found, label)
    edit: Any = item.text_edit
    text = edit.new_text if edit else item.text_edit_text or item.label
    place = edit or found.item_defaults.edit_range
    place = getattr(place, "range", place)
    place = getattr(place, "replace", place)
    before = editor.texts[uri]
    lines = before.splitlines(keepends=True)
    line = lines[place.start.line]
    columns = [
        next(column for column in range(len(line) + 1) if editor.units(line[:column]) == each.character)
        for each in (place.start, place.end)
    ]
    lines[place.start.line] = line[: columns[0]] + text + line[columns[1] :]
    return "".join(lines)


async def test_the_members_of_a_value_are_completed_behind_an_emoji(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT)

    found = await completed(editor, uri, "{{ user.na|me }}")

    assert {"name", "town"} <= {item.label for item in found.items}
    assert accepted(editor, uri, found, "town") == PROMPT.replace("user.name }}", "user.town }}")


async def test_an_editor_may_ask_at_each_letter(editor: Editor) -> None:
    uri = editor.open("a.yml.j2", PROMPT)

    found = await completed(editor, uri, "user.na|me", "a")

    assert {"name", "town"} <= {item.label for item in found.items}


@pytest.mark.parametrize(
    ("typed", "label"), [("instruction", "prompt object"), ("infer_cfg", "evaluation prompt")]
)
async def test_a_new_prompt_is_found_by_its_first_key(editor: Editor, typed: str, label: str) -> None:
    uri = editor.open("a.yml.j2", typed)

    found = await completed(editor, uri, f"{typed}|")

    assert (named(found, label).filter_text or "").startswith(typed)


async def test_a_tag_being_typed_is_completed_while_it_is_open(editor: Editor) -> None:
    uri = editor.open("b.yml.j2", PROMPT)
    editor.replace(uri, "{{ user.name }}", "🎉 {{ user.")

    found = await completed(editor, uri, "{{ user.|", trigger=".")

    assert {"name", "town"} <= {item.label for item in found.items}


async def test_items_are_as_the_client_takes_them(editor: Editor) -> None:
    uri = editor.open("c.yml.j2", PROMPT)
    capabilities = editor.client.capabilities.text_document.completion.completion_item
    editor.replace(uri, 'greet("x🎉", "y")', "gre")

    found = await completed(editor, uri, "{{ gre|")
    item = named(found, "greet")

    snippet = item.insert_text_format == types.InsertTextFormat.Snippet
    assert snippet is bool(capabilities.snippet_support)
    expected = "greet($1)$0" if snippet else "greet"
    text = item.text_edit.new_text if item.text_edit else item.text_edit_text or item.label
    assert text == expected
    assert bool(item.label_details) is bool(capabilities.label_details_support)
    assert [each.sort_text for each in found.items] == sorted(each.sort_text for each in found.items)
    if item.text_edit is None:
        assert found.item_defaults.edit_range is not None


async def test_documentation_comes_when_it_is_asked_for_in_the_clients_form(editor: Editor) -> None:
    uri = editor.open("d.yml.j2", PROMPT)
    item = named(await completed(editor, uri, "{{ gre|et("), "greet")
    assert item.documentation is None

    resolved = await editor.client.completion_item_resolve_async(item)

    formats = editor.client.capabilities.text_document.completion.completion_item.documentation_format or ()
    marked = types.MarkupKind.Markdown in formats
    said = resolved.documentation
    assert isinstance(said, types.MarkupContent) is bool(formats)
    text = said.value if isinstance(said, types.MarkupContent) else said
    assert (r"Greets \*\*somebody\*\*." if marked else "Greets **somebody**.") in text
    assert 'greet(name, mark="🎉!", loud=false)' in text


async def test_a_whole_part_is_completed_with_the_right_indentation(code: Editor) -> None:
    uri = code.open("e.yml.j2", "- name: a\n  con")

    found = await completed(code, uri, "  con|")
    item = named(found, "content")

    assert (item.text_edit_text or item.text_edit.new_text) == "content: |\n  $0"
    assert item.insert_text_mode == types.InsertTextMode.AdjustIndentation


async def test_a_new_file_can_be_begun(editor: Editor) -> None:
    uri = editor.open("f.yml.j2", "")
    params = types.CompletionParams(types.TextDocumentIdentifier(uri), types.Position(0, 0))

    found = await editor.client.text_document_completion_async(params)

    assert [item.label for item in found.items][:2] == ["header", "part"]


async def test_there_is_nothing_to_complete_in_a_file_that_is_no_prompt(editor: Editor) -> None:
    uri = editor.open("g.yml.j2", "- hosts: all\n  tasks: [{shell: '{{ x }}'}]\n")

    assert (await completed(editor, uri, "{{ |x")).items == []


async def signature(editor: Editor, uri: str, words: str) -> types.SignatureHelp | None:
    params = types.SignatureHelpParams(types.TextDocumentIdentifier(uri), editor.at(uri, words))
    return await editor.client.text_document_signature_help_async(params)


async def test_the_signature_of_a_call_shows_the_argument_being_written(editor: Editor) -> None:
    uri = editor.open("h.yml.j2", PROMPT)

    found = await signature(editor, uri, 'greet("x🎉", |"y")')

    assert found is not None
    (only,) = found.signatures
    assert only.label == 'greet(name, mark="🎉!", loud=false)'
    assert found.active_parameter == 1
    labels = [parameter.label for parameter in only.parameters]
    if isinstance(labels[0], str):
        assert labels == ["name", 'mark="🎉!"', "loud=false"]
    else:
        units = only.label.encode("utf-16-le")
        shown = [units[2 * start : 2 * end].decode("utf-16-le") for start, end in labels]
        assert shown == ["name", 'mark="🎉!"', "loud=false"]
    assert await signature(editor, uri, "Hel|lo") is None


@pytest.mark.parametrize(
    ("samples", "labels"),
    [
        ("one:\n  |", {"text", "tone"}),
        ("one:\n  text: Hello\n  t|", {"tone"}),
        ("one:\n  tone: |", {"dry", "kind"}),
        ("text: Hello\n|", {"tone"}),
        ("|", {"text", "tone"}),
        ("one:\n  text: Hello\n|", set()),
    ],
)
async def test_a_samples_file_is_completed_with_the_inputs_of_its_prompt(
    editor: Editor, samples: str, labels: set[str]
) -> None:
    items = await _complete_samples(editor, "short.yml", samples)

    assert {item.label for item in items} == labels


@pytest.mark.parametrize(
    ("samples", "texts"),
    [
        ('{\n  "one": {"|"}}', {'"text"', '"tone"'}),
        ('{"one": {"text": "Hello",\n  |}}', {'"tone"'}),
        ('{"one": {"text": "Hello",\n  "t|": "dry"}}', {'"tone"'}),
        ('{"one": {"tone": "|"}}', {'"dry"', '"kind"'}),
        ('{"text": "Hello",\n"|"}', {'"tone"'}),
        ('{"one": {"text": "Hello"},\n"|"}', set()),
    ],
)
async def test_a_samples_file_in_json_is_completed_with_quotes(
    editor: Editor, samples: str, texts: set[str]
) -> None:
    items = await _complete_samples(editor, "short.json", samples)

    assert {item.filter_text for item in items} == texts


async def _complete_samples(editor: Editor, name: str, samples: str) -> Sequence[types.CompletionItem]:
    inputs = "input_keys:\n  text: {type: string}\n  tone: {enum: [dry, kind]}"
    header = f"{{#---\n{inputs}\nsamples: {name}\n---#}}\n"
    editor.open("a.yml.j2", f"{header}- name: a\n  content: '{{{{ text }}}} {{{{ tone }}}}'\n")
    uri = editor.open(name, samples.replace("|", ""))
    before = samples.partition("|")[0]
    place = types.Position(before.count("\n"), len(before.rpartition("\n")[2]))
    found = await editor.client.text_document_completion_async(
        types.CompletionParams(types.TextDocumentIdentifier(uri), place)
    )
    items: Sequence[types.CompletionItem] = getattr(found, "items", ())
    return items
