"""Evaluation prompts in an editor: failures of their rows, hovers, and asking a model."""

from __future__ import annotations

import pytest
from lsp_editor import Editor, eventually
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = """\
reader_cfg: {input_columns: [q], output_column: a}
path: evaluated.csv
examples: [{q: zero, a: "0"}]
ice_template: {template: "{q}={a}"}
prompt_template: {template: "</E>{q}=", ice_token: "</E>"}
retriever: {type: FixKRetriever, fix_id_list: [5]}
inferencer: {type: GenInferencer}
"""


async def test_a_row_that_is_not_there_is_found_and_the_prompt_is_shown_without(editor: Editor) -> None:
    editor.write("evaluated.csv", "q,a\none,1\ntwo,2\n")
    uri = editor.open("evaluated.yml.j2", PROMPT)
    (found,) = await editor.rules(uri, ["failing-rendering"])
    assert found.range == editor.range_of(uri, "retriever: {type: FixKRetriever, fix_id_list: [5]}")
    assert found.severity == types.DiagnosticSeverity.Error
    editor.replace(uri, "[5]", "[0]")
    assert await editor.rules(uri, []) == []

    made = await editor.command("preview", uri=uri, row=1, metaTemplate="chat")
    assert (made.viewer.rows, made.viewer.row, made.viewer.metaTemplates) == (2, 1, ["none", "chat"])
    assert [prompt.text for prompt in made.viewer.prompts] == ["zero=0\ntwo="]
    assert [example.text for example in made.viewer.examples] == ["zero=0"]
    assert made.rendering.string == "zero=0\ntwo="


async def test_keys_are_explained_as_opencompass_reads_them(editor: Editor) -> None:
    uri = editor.open(
        "hovered.yml.j2", PROMPT.replace("FixKRetriever, fix_id_list: [5]", "RandomRetriever, seed: 7")
    )
    assert "Default: 43" in (await editor.hover(uri, "seed") or "")
    assert "a folder with one file per split" in (await editor.hover(uri, "path") or "")


async def test_columns_and_the_file_with_the_rows_are_explained(editor: Editor) -> None:
    editor.write("columns.csv", "q,a\none,1\ntwo,2\n")
    uri = editor.open("columns.yml.j2", PROMPT.replace("evaluated", "columns").replace("[5]", "[0]"))
    assert await editor.rules(uri, []) == []
    # The value comes with the first rendering.
    hovered = await eventually(lambda: editor.hover(uri, "</E>{|q}"), lambda text: "row 1" in (text or ""))
    assert hovered == '`q`: column with an input\n\nin `row 1` (columns.csv): `"one"`\n\nalso in line 1, 4'
    assert "column with the answer" in (await editor.hover(uri, "column: |a") or "")
    assert "dataset `columns.csv`: 2 rows" in (await editor.hover(uri, "colu|mns.csv") or "")
