"""Findings of prompts about an open samples file or dataset appear in it."""

from __future__ import annotations

import pytest
from lsp_editor import Editor, eventually
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = (
    "{{#---\ninput_keys:\n  text: {{type: string}}\n{keys}\n---#}}\n"
    "- name: a\n  content: |\n    {{{{ escape_special_characters(text) }}}}\n"
)


def _save(editor: Editor, uri: str) -> None:
    editor.write(uri.rpartition("/")[2], editor.texts[uri])
    document = types.TextDocumentIdentifier(uri)
    editor.client.text_document_did_save(types.DidSaveTextDocumentParams(document))


@pytest.mark.parametrize(
    ("name", "wrong", "right", "keys"),
    [
        ("tickets.yml", "one:\n  txt: Hello.\n", "  text:", "samples: tickets.yml"),
        ("tickets.json", '{"one": {"txt": "Hello."}}\n', '"text":', "samples: tickets.json"),
    ],
)
async def test_mistakes_in_a_samples_file_are_shown_until_the_file_is_saved_without_them(
    editor: Editor, name: str, wrong: str, right: str, keys: str
) -> None:
    prompt = editor.open("a.yml.j2", PROMPT.format(keys=keys))
    samples = editor.open(name, wrong)

    async def shown() -> list[types.Diagnostic]:
        await editor.lenses(prompt)
        return list(editor.client.diagnostics.get(samples, ()))

    (found,) = await eventually(shown, bool)
    assert (found.code, found.range) == (
        "invalid-sample",
        editor.range_of(samples, right.replace("text", "txt").strip(" :")),
    )
    assert found.message == "the sample `one` lacks `text`; it has `txt`"

    editor.replace(samples, right.replace("text", "txt"), right)
    _save(editor, samples)
    await eventually(shown, lambda diagnostics: not diagnostics)


async def test_an_unreadable_row_is_shown_in_an_open_dataset(editor: Editor) -> None:
    keys = "experiments: {e: {dataset: rows.jsonl}}"
    prompt = editor.open("a.yml.j2", PROMPT.format(keys=keys))
    rows = editor.open("rows.jsonl", '{"text": "one"}\n{"text": "two"\n')

    async def shown() -> list[types.Diagnostic]:
        await editor.lenses(prompt)
        return list(editor.client.diagnostics.get(rows, ()))

    (found,) = await eventually(shown, bool)
    assert (found.code, found.range.start.line) == ("unknown-dataset", 1)

    editor.close(rows)
    await eventually(shown, lambda diagnostics: not diagnostics)


async def test_a_long_data_file_is_no_prompt_whatever_is_written_into_it(editor: Editor) -> None:
    prompt = editor.open("a.yml.j2", PROMPT.format(keys=""))
    long = '{"one": "' + 2_000 * "x" + '"}\n'
    data = editor.open("rows.json", long)
    editor.replace(data, long, PROMPT.format(keys="output_key: {"))
    place = types.TextDocumentIdentifier(prompt), editor.at(prompt, "|: {type")
    context = types.ReferenceContext(include_declaration=True)
    await editor.client.text_document_references_async(types.ReferenceParams(context, *place))
    assert not await editor.lenses(data)


async def test_a_long_prompt_whose_beginning_is_lost_gets_its_error(editor: Editor) -> None:
    keys = '"instruction": "Do it.", "input_keys": ["a"], "output_key": "b"'
    prompt = editor.open("lost.json", '"' + 2_000 * "x" + f'", {keys}}}\n')
    await editor.rules(prompt, ["invalid-json"])
