"""Evaluation prompts in a program."""

from __future__ import annotations

from pathlib import Path

import pytest

import promptls
from promptls.library.evaluation import EvaluationPrompt

GENERATING = """\
reader_cfg: {input_columns: [q], output_column: a}
path: rows.csv
examples: [{q: zero, a: "0"}]
ice_template: {template: "{q}={a}"}
prompt_template:
  ice_token: "</E>"
  template: {round: [{role: HUMAN, prompt: "</E>{q}"}, {role: BOT, prompt: "{a}"}]}
retriever: {type: FixKRetriever, fix_id_list: [0]}
inferencer: {type: GenInferencer}
"""
LABELS = GENERATING.replace("Gen", "PPL").replace(
    '{round: [{role: HUMAN, prompt: "</E>{q}"}, {role: BOT, prompt: "{a}"}]}',
    '{A: "</E>{q} A", B: "</E>{q} B"}',
)


def load(folder: Path, text: str) -> EvaluationPrompt:
    (folder / "rows.csv").write_text("q,a\none,1\ntwo,2\n", "utf-8")
    (folder / "ask.yml.j2").write_text(text, "utf-8")
    loaded = promptls.load(folder / "ask.yml.j2")
    assert isinstance(loaded, EvaluationPrompt)
    return loaded


def test_a_row_is_rendered_with_examples_and_without_its_answer(tmp_path: Path) -> None:
    prompt = load(tmp_path, GENERATING)
    assert prompt.rows == ({"q": "one", "a": "1"}, {"q": "two", "a": "2"})
    rendered = prompt.render(prompt.rows[1])
    assert rendered.string == "zero=0\ntwo"
    assert rendered.messages == [{"role": "user", "content": "zero=0\ntwo"}]
    assert rendered.examples == ("zero=0",)
    assert rendered.tokens.total == rendered.prompts[0].tokens == 5
    assert prompt.render(q="three").string == prompt.format(q="three") == "zero=0\nthree"
    assert prompt.render().string == "zero=0\none"


def test_labels_have_a_prompt_each(tmp_path: Path) -> None:
    rendered = load(tmp_path, LABELS).render(q="x")
    assert [(prompt.label, prompt.text) for prompt in rendered.prompts] == [
        ("A", "zero=0\nx A"),
        ("B", "zero=0\nx B"),
    ]
    assert [part.name for part in rendered.parts] == ["A", "B"]
    assert rendered.messages == []


def test_rows_and_meta_template_are_given(tmp_path: Path) -> None:
    prompt = load(tmp_path, GENERATING).asking(train=[{"q": "t", "a": "T"}], meta_template="chat")
    rendered = prompt.render(q="x")
    assert rendered.prompts[0].messages == ({"role": "user", "content": "t=T\nx"},)
    assert [(part.name, part.role) for part in rendered.parts] == [("message 1", "user")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GENERATING.replace("[0]", "[9]"), r"ask.yml.j2:8: `fix_id_list` names the training row 9"),
        (GENERATING.replace("rows.csv", "ask.yml.j2"), "a data set cannot end in"),
        (GENERATING.replace("prompt_template:", "prompt_template: ["), "YAML|expected"),
    ],
)
def test_what_opencompass_refuses_is_a_prompt_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(promptls.PromptError, match=f"(?i){message}"):
        load(tmp_path, text).render(q="x")


def test_an_unknown_meta_template_names_the_others(tmp_path: Path) -> None:
    with pytest.raises(promptls.PromptError, match="there are: none, chat"):
        load(tmp_path, GENERATING).asking(meta_template="cht").render(q="x")
