"""Experiments on evaluation prompts: rows are asked, and labels compared, as OpenCompass does."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from promptls.datasets.dataset_files import open_dataset
from promptls.experiments.definition import define_experiment
from promptls.experiments.row_rendering import RowRenderer
from promptls.text.errors import UserError
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


def by_words(scores: dict[str, float], *, as_vllm: bool = False) -> Any:
    """Return a server where each word or pair is a token with this log-probability, by default -1."""

    def reply(body: dict[str, Any]) -> Reply:
        words = body["prompt"].split()
        pairs = pairwise(words)
        found = [None, *(scores.get(f"{last} {word}", scores.get(word, -1.0)) for last, word in pairs)]
        choice: dict[str, Any] = {"text": ""}
        if not as_vllm:
            choice["logprobs"] = {"token_logprobs": [*found, -9.0]}
        elif "prompt_logprobs" in body:
            reported = [None, *({"17": {"logprob": each, "rank": 1}} for each in found[1:])]
            choice["prompt_logprobs"] = reported
        usage = {"prompt_tokens": len(found)}
        return Reply(raw=json.dumps({"choices": [choice], "usage": usage}).encode())

    return reply


async def answers(folder: Path, prompt: str, rows: str, reply: Any) -> list[tuple[str, str, str]]:
    (folder / "rows.jsonl").write_text(rows, "utf-8")
    (folder / "ask.yml.j2").write_text(prompt.replace("rows.csv", "rows.jsonl"), "utf-8")
    with model_server() as server:
        server.reply = reply
        made = Folder(folder)
        made.serve(server)
        return [(row["response"], row["answer_note"], row["error"]) for row in table(await made.ask())]


@pytest.mark.parametrize("as_vllm", [False, True])
async def test_ll_compares_the_likelihood_of_the_continuation(tmp_path: Path, as_vllm: bool) -> None:
    prompt = LABELS.replace("PPLInferencer", "LLInferencer").replace("small", "tiny {cont}")
    prompt = prompt.replace("large", "huge {cont}")
    row = json.dumps({"q": "ant", "a": "no", "cont": "and black"}) + "\n"
    scores = {"is": -7.0, "tiny": -9.0, "huge": -3.0}
    found = await answers(tmp_path, prompt, row, by_words({**scores, "and": -0.5}, as_vllm=as_vllm))
    # A sum over both words of the continuation; the first of equal labels is the answer.
    assert found == [("no", "likelihood: no -1.5000, yes -1.5000", "")]


async def test_ll_needs_the_column_of_the_continuation(tmp_path: Path) -> None:
    prompt = LABELS.replace("PPLInferencer", "LLInferencer")
    ((_, _, error),) = await answers(tmp_path, prompt, '{"q": "ant", "a": "no"}\n', by_words({}))
    assert "from the column `cont`, and the rows have none" in error


async def test_the_perplexity_of_the_answer_alone_normalizes_that_of_the_prompt(tmp_path: Path) -> None:
    prompt = LABELS.replace("template: {", "sep_token: '<S>'\n  template: {").replace(" is ", " is <S>")
    prompt = prompt.replace("PPLInferencer", "PPLInferencer, normalizing_str: 'Answer: '")
    scores = {"is small": -2.0, "Answer: small": -0.5, "is large": -2.5, "Answer: large": -1.75}
    found = await answers(tmp_path, prompt, '{"q": "an ant", "a": "no"}\n', by_words(scores))
    assert found == [("yes", "perplexity: no 1.5000, yes 0.7500", "")]


async def test_clp_compares_the_probabilities_of_the_next_token(tmp_path: Path) -> None:
    prompt = LABELS.replace("PPLInferencer", "CLPInferencer")
    prompt = prompt.replace('{"no": "{q} is small", "yes": "{q} is large"}', '"{q} is large: "')
    rows = '{"q": "ant", "a": "no", "choices": ["no", "yes"]}\n{"q": "whale", "a": "yes", "choices": null}\n'
    found = await answers(tmp_path, prompt, rows, by_words({"no": -2.0, "yes": -1.0}))
    assert found == [("yes", "probability: no 0.2689, yes 0.7311", "")] * 2


async def test_clp_refuses_choices_of_several_tokens(tmp_path: Path) -> None:
    prompt = LABELS.replace("PPLInferencer", "CLPInferencer")
    rows = '{"q": "ant", "a": "no", "choices": ["not at all", "yes"]}\n'
    with pytest.raises(UserError, match="`not at all` is not one token of `office`"):
        await answers(tmp_path, prompt, rows, by_words({}))
