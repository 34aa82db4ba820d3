"""Evaluation prompts in a program."""

from __future__ import annotations

from pathlib import Path

import pytest

import promptls
from promptls.api.evaluation import EvaluationPrompt

GENERATING = """\
reader_cfg: {input_columns: [q], output_column: a}
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
    (folder / "ask.yml.j2").write_text(text, "utf-8")
    loaded = promptls.load(folder / "ask.yml.j2")
    assert isinstance(loaded, EvaluationPrompt)
    return loaded


def test_a_row_is_rendered_with_examples_and_without_its_answer(tmp_path: Path) -> None:
    prompt = load(tmp_path, GENERATING)
    rendered = prompt.render({"q": "two", "a": "2"})
    assert rendered.string == "zero=0\ntwo"
    assert rendered.messages == [{"role": "user", "content": "zero=0\ntwo"}]
    assert rendered.examples == ("zero=0",)
    assert rendered.tokens.total == rendered.prompts[0].tokens == 5
    assert prompt.render(q="three").string == prompt.format(q="three") == "zero=0\nthree"


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


def test_the_asked_rows_decide_what_is_retrieved(tmp_path: Path) -> None:
    text = GENERATING.replace("FixKRetriever, fix_id_list: [0]", "SlidingWindowRetriever, k: 1")
    rows = [{"q": "one", "a": "1"}, {"q": "two", "a": "2"}]
    prompt = load(tmp_path, text.replace('examples: [{q: zero, a: "0"}]\n', "")).asking(rows=rows)
    assert [prompt.render(row).string for row in prompt.rows] == ["two=2\none", "one=1\ntwo"]
    assert prompt.render().string == "two=2\none"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (GENERATING.replace("[0]", "[9]"), 7, "`fix_id_list` names the training row 9"),
        (GENERATING.replace("output_column: a", "output_column: b"), 1, "no column `b`"),
        (GENERATING.replace("prompt_template:\n", "prompt_template: [\n"), 6, "not valid YAML"),
    ],
)
def test_what_opencompass_refuses_is_a_prompt_error(
    tmp_path: Path, text: str, line: int | None, message: str
) -> None:
    with pytest.raises(promptls.PromptError, match=f"(?i){message}") as failed:
        load(tmp_path, text).render(q="x")
    assert failed.value.rendered_line == line


def test_an_unknown_meta_template_names_the_others(tmp_path: Path) -> None:
    with pytest.raises(promptls.PromptError, match="there are: none, chat"):
        load(tmp_path, GENERATING).asking(meta_template="cht").render(q="x")


def test_a_row_has_the_columns_of_all_rows(tmp_path: Path) -> None:
    prompt = load(tmp_path, GENERATING.replace("{q}", "{q} {extra}"))
    rows = [{"q": "x", "a": "1", "extra": "more"}, {"q": "y", "a": "2"}]
    assert "y None" in prompt.asking(rows=rows).render(rows[1]).string
    assert "y {extra}" in prompt.render(rows[1]).string
