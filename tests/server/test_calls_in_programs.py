"""Findings in a program's calls that load prompts appear in the program while it is typed."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsp_editor import Editor, eventually
from lsprotocol import types
from pygls.exceptions import JsonRpcException

pytestmark = pytest.mark.asyncio(loop_scope="module")

PROMPT = "- name: a\n  content: |\n    {{ text }} {{ tone | default('dry') }}\n"
PROGRAM = 'x = "🎉"; Prompt(template_path="a.yml.j2", template_data={"txet": 1})\n'


def shown(editor: Editor, uri: str) -> list[types.Diagnostic]:
    return list(editor.client.diagnostics.get(uri, ()))


async def test_a_wrong_call_is_shown_while_it_is_there(editor: Editor) -> None:
    prompt = editor.open("a.yml.j2", PROMPT)
    program = editor.open("call.py", PROGRAM)

    async def reported() -> list[types.Diagnostic]:
        await editor.lenses(prompt)
        return shown(editor, program)

    (found,) = await eventually(reported, bool)
    assert found.code == "missing-template-data"
    assert found.message == "`text` is not given to `a.yml.j2`; `txet` is, which it does not read"
    start = PROGRAM.index("txet")
    assert found.range == types.Range(
        editor.position(program, start), editor.position(program, start + len("txet"))
    )
    if found.related_information is not None:
        assert [each.location.uri for each in found.related_information] == [prompt]

    editor.replace(program, "txet", "text")
    assert await eventually(reported, lambda diagnostics: not diagnostics) == []

    editor.replace(prompt, "{{ text }}", "{{ text }} {{ locale }}")
    (found,) = await eventually(reported, bool)
    assert found.message == "`locale` is not given to `a.yml.j2`"

    editor.close(program)
    assert await eventually(reported, lambda diagnostics: not diagnostics) == []


LIBRARY_USES = """\
from promptls import SingleTurnSample

SingleTurnSample(question="Why?")
"""
POET_USES = """\
from prompt_poet import Prompt

def build():
    prompt = Prompt(template_path="a.yml.j2", template_data=["Why?"])
    return prompt.messages()
"""


@pytest.mark.parametrize(("text", "wrong"), [(LIBRARY_USES, "question"), (POET_USES, '["Why?"]')])
async def test_wrong_uses_of_a_library_are_shown(editor: Editor, text: str, wrong: str) -> None:
    prompt = editor.open("a.yml.j2", PROMPT)
    program = editor.open("uses.py", text)

    async def reported() -> list[types.Diagnostic]:
        await editor.lenses(prompt)
        return shown(editor, program)

    found = await eventually(reported, bool)
    assert {each.code for each in found} == {"wrong-arguments"}
    assert found[0].range.start == editor.position(program, text.index(wrong))
    editor.close(program)


async def test_a_program_that_loads_nothing_is_never_spoken_of(editor: Editor) -> None:
    prompt = editor.open("a.yml.j2", PROMPT)
    other = editor.open("other.py", "x = 'template_path'\n")
    program = editor.open("call.py", PROGRAM)

    async def reported() -> list[types.Diagnostic]:
        await editor.lenses(prompt)
        return shown(editor, program)

    await eventually(reported, bool)
    editor.replace(other, "x = ", "y = ")
    await editor.lenses(prompt)
    assert other not in editor.client.diagnostics


async def test_a_template_that_a_program_writes_out_is_checked_and_explained(editor: Editor) -> None:
    prompt = editor.open("a.yml.j2", PROMPT)
    text = "- name: a\\n  role: systm\\n  content: {{ escape_special_characters(x) }}\\n"
    program = editor.open(
        "app.py", f"y = '🎉'; Prompt(raw_template=\"{text}\", template_data={{'x': 'b'}})\n"
    )

    async def reported() -> list[types.Diagnostic]:
        await editor.lenses(prompt)
        return shown(editor, program)

    (found,) = [each for each in await eventually(reported, bool) if each.code == "unknown-role"]
    start = editor.texts[program].index("systm")
    assert found.range == types.Range(
        editor.position(program, start), editor.position(program, start + len("systm"))
    )
    explained = await editor.hover(program, "escape_special")
    assert explained is not None
    assert "escape_special_characters" in explained


async def test_lost_white_space_of_a_template_in_a_program_is_shown_as_it_is_typed(editor: Editor) -> None:
    prompt = editor.open("a.yml.j2", PROMPT)
    text = "- name: a\\n  role: system\\n  content: 'Hi {{ name | trim }}, '\\n"
    program = editor.open("app.py", f"Prompt(raw_template=\"{text}\", template_data={{'name': 'Ada'}})\n")

    async def diagnostics() -> list[types.Diagnostic]:
        await editor.lenses(prompt)
        return [each for each in shown(editor, program) if each.code == "stripped-whitespace"]

    (found,) = await eventually(diagnostics, bool)
    assert found.range.start.line == 0

    editor.replace(program, "}}, '", "}}.'")
    assert await eventually(diagnostics, lambda found: not found) == []


async def test_a_template_that_a_program_writes_out_has_a_preview(editor: Editor) -> None:
    text = "- name: a\\n  role: system\\n  content: Be {{ tone }} to {{ user }}.\\n"
    program = editor.open(
        "app.py", f"x = 1\nPrompt(raw_template=\"{text}\", template_data={{'tone': 'kind'}})\n"
    )

    assert await editor.lenses(program) == ["Preview"]
    answer = await editor.command("previewTemplate", uri=program, template=1)
    shown_text = Path(answer.document).read_text("utf-8")
    assert "Be kind to" in shown_text
    assert "a (system" in shown_text


CONFIGURATION = """\
q_datasets = [
    dict(
        reader_cfg=dict(input_columns=['question'], output_column='answer'),
        infer_cfg=dict(
            prompt_template=dict(template='Q: {qestion}'),
            retriever=dict(type=ZeroRetriever),
            inferencer=dict(type=GenInferencer),
        ),
    )
]
"""


async def test_a_configuration_has_a_preview_of_its_first_dataset(editor: Editor) -> None:
    program = editor.open("q_gen.py", CONFIGURATION.replace("qestion", "question"))

    assert await editor.lenses(program) == ["Preview"]
    answer = await editor.command("previewConfiguration", uri=program)
    text = Path(answer.document).read_text("utf-8")
    assert text.startswith("# q_gen.py, first dataset\n")
    assert "Q: " in text


async def test_a_configuration_without_a_dataset_says_so_in_place_of_its_preview(editor: Editor) -> None:
    program = editor.open("q_gen.py", "from mmengine.config import read_base\n\nq_datasets = []\n")

    with pytest.raises(JsonRpcException, match="configures no dataset"):
        await editor.command("previewConfiguration", uri=program)


async def test_a_configuration_in_python_is_checked_as_it_is_typed(editor: Editor) -> None:
    prompt = editor.open("a.yml.j2", PROMPT)
    program = editor.open("q_gen.py", CONFIGURATION)

    async def reported() -> list[types.Diagnostic]:
        await editor.lenses(prompt)
        return shown(editor, program)

    (found,) = await eventually(reported, bool)
    assert (found.code, found.message) == (
        "unknown-field",
        "the reader has no column `qestion`; did you mean `question`?",
    )
    start = CONFIGURATION.index("{qestion}")
    assert found.range.start == editor.position(program, start)

    (fix,) = await editor.client.text_document_code_action_async(
        types.CodeActionParams(
            types.TextDocumentIdentifier(program), found.range, types.CodeActionContext([found])
        )
    )
    assert fix.title == "Change to `question`"
    assert "{question}" in str(fix.edit)

    editor.replace(program, "{qestion}", "{question}")
    assert await eventually(reported, lambda diagnostics: not diagnostics) == []
