"""Experiments on evaluation prompts: rows are asked, and labels compared, as OpenCompass does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from promptls.datasets.files import open_dataset
from promptls.experiments.definition import define_experiment
from promptls.experiments.row_rendering import RowRenderer
from promptls.text.errors import UsageError, UserError
from support.experiment_folder import Folder, table
from support.model_server import Reply, model_server

PROMPT = """\
ice_template: {template: "Q: {q}; A: {a}"}
prompt_template:
  ice_token: "</E>"
  template:
    begin: [{role: SYSTEM, fallback_role: HUMAN, prompt: Be brief.}]
    round:
      - {role: HUMAN, prompt: "</E>{q}"}
      - {role: BOT, prompt: "{a}"}
retriever: {type: SlidingWindowRetriever, k: 1}
inferencer: {type: GenInferencer}
reader_cfg: {input_columns: [q], output_column: a}
experiments:
  first: {dataset: other.csv}
  second: {dataset: rows.csv}
"""


@pytest.fixture
def prompt(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text("q,a\none,1\ntwo,2\nthree,3\n", "utf-8")
    path = tmp_path / "ask.yml.j2"
    path.write_text(PROMPT, "utf-8")
    return path


async def test_a_row_is_asked_with_its_own_examples_and_without_its_answer(prompt: Path) -> None:
    experiment = define_experiment(prompt, "second")
    assert experiment.output_key == "a"
    renderer = RowRenderer(experiment)
    try:
        rendered = [await renderer.render(row) for row in open_dataset(experiment.dataset).rows()]
    finally:
        await renderer.close()
    assert [each.error for each in rendered] == [None, None, None]
    assert [each.messages[1]["content"] for each in rendered] == [
        "Q: three; A: 3\none",
        "Q: one; A: 1\ntwo",
        "Q: two; A: 2\nthree",
    ]
    assert rendered[0].messages[0] == {"role": "system", "content": "Be brief."}
    assert len(rendered[0].messages) == 2


LABELS = """\
prompt_template:
  template: {"no": "{q} is small", "yes": "{q} is large"}
retriever: {type: ZeroRetriever}
inferencer: {type: PPLInferencer}
reader_cfg: {input_columns: [q], output_column: a}
experiments:
  main: {dataset: rows.csv, models: [office], metrics: [exact_match]}
"""


async def test_the_label_with_the_lowest_perplexity_is_the_answer(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("q,a\nant,no\nwhale,yes\n", "utf-8")
    (tmp_path / "ask.yml.j2").write_text(LABELS, "utf-8")

    def reply(body: dict[str, Any]) -> Reply:
        likely = body["prompt"] in {"ant is small", "whale is large"}
        scores = [None, -0.5 if likely else -2.0, -0.5, -9.0]
        answer = {
            "choices": [{"text": "", "logprobs": {"token_logprobs": scores}}],
            "usage": {"prompt_tokens": 3},
        }
        return Reply(raw=json.dumps(answer).encode())

    with model_server() as server:
        server.reply = reply
        folder = Folder(tmp_path)
        folder.serve(server)
        finished = await folder.ask()
    rows = table(finished)
    assert [(row["response"], row["exact_match"]) for row in rows] == [("no", "pass"), ("yes", "pass")]
    assert [row["input_tokens"] for row in rows] == ["6", "6"]
    assert {path.rsplit("/", 1)[-1] for path in server.paths} == {"completions"}
    assert len(server.requests) == 4


async def test_a_server_without_log_probabilities_is_named(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("q,a\nant,no\nwhale,yes\n", "utf-8")
    (tmp_path / "ask.yml.j2").write_text(LABELS, "utf-8")
    with model_server() as server:
        folder = Folder(tmp_path)
        folder.serve(server)
        with pytest.raises(UserError, match="gives no log-probabilities of prompts"):
            await folder.ask()


@pytest.mark.parametrize("inferencer", ["LLInferencer", "CLPInferencer"])
def test_inferencers_that_need_more_than_perplexity_are_refused(prompt: Path, inferencer: str) -> None:
    prompt.write_text(PROMPT.replace("GenInferencer", inferencer), "utf-8")
    with pytest.raises(UsageError, match=f"experiments with `{inferencer}` cannot be run"):
        define_experiment(prompt, "second")
