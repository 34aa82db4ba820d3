"""`promptls render --viewer`: rows, examples, labels, layouts, and invalid options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from promptls.cli.main import main

PROMPT = """\
reader_cfg: {input_columns: [q], output_column: a}
path: rows.csv
examples: [{q: zero, a: "0"}]
ice_template: {template: "{q}={a}"}
prompt_template: {template: "</E>{q}=", ice_token: "</E>"}
retriever: {type: FixKRetriever, fix_id_list: [0]}
inferencer: {type: GenInferencer}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ask.yml.j2").write_text(PROMPT, "utf-8")
    (tmp_path / "rows.csv").write_text("q,a\none,1\ntwo,2\nthree,3\n", "utf-8")
    return tmp_path


def test_the_first_row_is_shown_with_its_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "ask.yml.j2", "--viewer"]) == 0
    shown = capsys.readouterr()
    assert shown.out == (
        "ask.yml.j2 · GenInferencer, FixKRetriever, no meta template, o200k_base\n"
        "\n"
        "row 1 of 3\n"
        "  example · training row 1 · 3 tokens\n"
        "    zero=0\n"
        "  prompt · 6 tokens\n"
        "    zero=0\n"
        "    one=\n"
    )
    assert shown.err == "note: 2 more rows; `--rows N` and `--all` show them\n"


@pytest.mark.parametrize(
    ("words", "rows"),
    [(["--all"], [1, 2, 3]), (["--rows", "2"], [1, 2]), (["--row", "2", "--rows", "5"], [2, 3])],
)
def test_rows_are_chosen(words: list[str], rows: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "ask.yml.j2", "--viewer", "--json", *words]) == 0
    assert [row["row"] for row in json.loads(capsys.readouterr().out)["all"]] == rows


def test_a_failing_row_is_shown_and_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PROMPT.replace("{type: FixKRetriever, fix_id_list: [0]}", "{type: SlidingWindowRetriever, k: 1}")
    (folder / "ask.yml.j2").write_text(text, "utf-8")
    assert main(["render", "ask.yml.j2", "--viewer", "--all"]) == 1
    assert "failed: The retriever picks the training row 1, and there are 1." in capsys.readouterr().out


def test_other_prompts_cannot_be_viewed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ask.yml.j2").write_text("- name: a\n  content: b\n", "utf-8")
    assert main(["render", "ask.yml.j2", "--viewer"]) == 2
    assert "the viewer is for evaluation prompts only" in capsys.readouterr().err


def test_without_rows_the_values_are_made_up_or_given(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "ask.yml.j2").write_text("prompt_template: {template: 'Q: {q}'}\npath: hub/name\n", "utf-8")
    assert main(["render", "ask.yml.j2", "--viewer"]) == 0
    shown = capsys.readouterr()
    assert "    Q: <q>\n" in shown.out
    assert shown.err == "note: the values are made up, as there are no rows: `path` names no file here\n"
    assert main(["render", "ask.yml.j2", "--viewer", "--data", '{"q": "why"}']) == 0
    assert "    Q: why\n" in capsys.readouterr().out
    (folder / "ask.yml.j2").write_text("prompt_template: {template: 'Q: {q}'}\n", "utf-8")
    assert main(["render", "ask.yml.j2", "--viewer"]) == 0
    assert "as there are no rows: name a file with `path`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("retriever", "examples"),
    [
        ("{type: FixKRetriever, fix_id_list: [4, 9]}", ["<q 1>=A", "<q 2>=B"]),
        ("{type: RandomRetriever, ice_num: 3}", ["<q 1>=A", "<q 2>=B", "<q 3>=A"]),
        ("{type: TopkRetriever, ice_num: 1}", ["<q 1>=A"]),
        ("{type: SlidingWindowRetriever, k: 1}", ["<q 1>=A"]),
        ("{type: ZeroRetriever}", []),
    ],
)
def test_without_rows_as_many_examples_are_made_up_as_the_retriever_picks(
    folder: Path, capsys: pytest.CaptureFixture[str], retriever: str, examples: list[str]
) -> None:
    (folder / "ask.yml.j2").write_text(
        "path: hub/name\nreader_cfg: {input_columns: [q], output_column: a}\n"
        "ice_template: {template: {A: '{q}=A', B: '{q}=B'}}\n"
        "prompt_template: {template: {A: '</E>{q}=A', B: '</E>{q}=B'}, ice_token: </E>}\n"
        f"retriever: {retriever}\ninferencer: {{type: PPLInferencer}}\n",
        "utf-8",
    )
    assert main(["render", "ask.yml.j2", "--viewer", "--json"]) == 0
    viewer = json.loads(capsys.readouterr().out)
    assert [each["text"] for each in viewer["examples"]] == examples
    assert viewer["prompts"][0]["text"].endswith("<q>=A")


def test_a_configuration_in_python_is_viewed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "base.py").write_text("t = '</E>{q}='\n", "utf-8")
    (folder / "config.py").write_text(
        "with read_base():\n    from .base import t\n"
        "infer = dict(ice_template=dict(template='{q}={a}'),\n"
        "    prompt_template=dict(template=t, ice_token='</E>'),\n"
        "    retriever=dict(type=FixKRetriever, fix_id_list=[1]))\n"
        "x_datasets = [dict(abbr=n, path='rows.csv', infer_cfg=infer,\n"
        "    reader_cfg=dict(input_columns=['q'], output_column='a')) for n in 'xy']\n",
        "utf-8",
    )
    assert main(["render", "config.py", "--viewer", "--row", "3", "--dataset", "y"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("config.py · GenInferencer, FixKRetriever, no meta template")
    assert "    two=2\n    three=\n" in shown.out
    assert shown.err == ""


def test_an_unknown_meta_template_names_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "ask.yml.j2", "--meta-template", "chta"]) == 1
    assert "did you mean `chat`? There are: none, chat" in capsys.readouterr().err
