"""Metrics that ask models, in whole runs against servers that play the model and its judge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from promptls.experiments.runner import BudgetSpentError
from promptls.text.failure import Failure, WrongUse
from support.experiment_folder import Folder, last_text, table
from support.model_server import ModelServer, Reply, model_server


@pytest.fixture
def judge() -> Iterator[ModelServer]:
    with model_server() as running:
        running.reply = lambda body: verdict("text 1" in last_text(body))
        yield running


def verdict(value: object, reason: str = "so it is") -> Reply:
    return Reply(json.dumps({"reason": reason, "verdict": value}))


def judged(
    tmp_path: Path, judge: ModelServer, *, metric: str = "", settings: str = "", top: str = ""
) -> Folder:
    """An experiment of four rows that `echo` answers, and whose metric `polite` asks the server `judge`."""
    folder = Folder(tmp_path).write(metrics="polite")
    metric = metric or 'use = "aspect_critic"\ndefinition = "Is it polite?"'
    (tmp_path / "promptls.toml").write_text(
        f"{top}\n[models.judge]\nprovider = 'openai'\nmodel = 'large'\nbase_url = '{judge.url}'\n"
        f"input_price = 1.0\noutput_price = 2.0\n{settings}\n[metrics.polite]\n{metric}\n",
        "utf-8",
    )
    return folder


async def test_a_judge_scores_each_response_and_says_why(tmp_path: Path, judge: ModelServer) -> None:
    finished = await judged(tmp_path, judge, top='judge = "judge"').run()
    assert [row["polite"] for row in table(finished)] == ["pass", "fail", "fail", "fail"]
    assert table(finished)[0]["polite_reason"] == "so it is"
    assert judge.requests[0]["response_format"]["json_schema"]["schema"]["required"] == ["reason", "verdict"]
    assert judge.requests[0]["temperature"] == 0


async def test_a_metric_may_have_a_judge_of_its_own(tmp_path: Path, judge: ModelServer) -> None:
    metric = 'use = "aspect_critic"\ndefinition = "Is it polite?"\nmodel = "judge"'
    finished = await judged(tmp_path, judge, metric=metric, top='judge = "openai:gpt-4.1"').run()
    assert finished.manifest["metrics"][0]["scored"] == 4


async def test_a_metric_without_a_judge_says_before_the_run_what_to_set(
    tmp_path: Path, judge: ModelServer
) -> None:
    with pytest.raises(WrongUse, match="`polite` asks a model that judges, and none is set") as refused:
        await judged(tmp_path, judge).plan()
    assert "`promptls.toml`" in str(refused.value.remedy)
    assert "`model: provider:model`" in str(refused.value.remedy)


async def test_a_judge_that_nobody_knows_is_said(tmp_path: Path, judge: ModelServer) -> None:
    with pytest.raises(WrongUse, match="a metric names a model that judges: there is no model `jugde`"):
        await judged(tmp_path, judge, top='judge = "jugde"').plan()


async def test_what_judges_take_is_counted(tmp_path: Path, judge: ModelServer) -> None:
    finished = await judged(tmp_path, judge, top='judge = "judge"').run()
    totals = finished.manifest["totals"]
    first = judge.requests[0]
    assert first["messages"][0]["role"] == "system"
    taken = totals["judging"]
    assert (taken["calls"], taken["cached"]) == (4, 0)
    assert taken["tokens"] > 0
    assert totals["paid"] == pytest.approx(taken["paid"])
    assert float(table(finished)[0]["judge_cost"]) == pytest.approx(taken["cost"] / 4)


async def test_the_plan_says_what_judges_may_take(tmp_path: Path, judge: ModelServer) -> None:
    planned = await judged(tmp_path, judge, top='judge = "judge"\nask_above = {cost = 0.0001}').plan()
    # Four answers of `echo`, and a judgement of each.
    assert planned.calls == 8
    assert planned.prompt_cost == pytest.approx(4 * 400 / 1_000_000)
    assert "8 calls" in str(planned.question)


async def test_a_judgement_is_paid_for_once(tmp_path: Path, judge: ModelServer) -> None:
    folder = judged(tmp_path, judge, top='judge = "judge"')
    await folder.run()
    again = await folder.run()
    assert len(judge.requests) == 4
    assert again.manifest["totals"]["judging"]["cached"] == 4
    assert again.manifest["totals"]["paid"] == 0.0
    assert [row["polite"] for row in table(again)] == ["pass", "fail", "fail", "fail"]


async def test_each_repeat_is_judged_for_itself(tmp_path: Path, judge: ModelServer) -> None:
    folder = judged(tmp_path, judge, top='judge = "judge"')
    folder.write(metrics="polite", settings="repeats: 2")
    await folder.run()
    assert len(judge.requests) == 8


async def test_a_judge_that_fails_for_a_row_leaves_it_without_a_score(
    tmp_path: Path, judge: ModelServer
) -> None:
    judge.reply = lambda body: Reply("no", status=400) if "text 2" in last_text(body) else verdict(value=True)
    finished = await judged(tmp_path, judge, top='judge = "judge"').run()
    assert [row["polite"] for row in table(finished)] == ["pass", "", "pass", "pass"]
    assert "the model that judges did not answer" in table(finished)[1]["polite_reason"]
    assert not table(finished)[1]["error"]
    assert finished.manifest["metrics"][0]["unscored"] == 1


async def test_a_judge_that_never_answers_stops_the_run(tmp_path: Path, judge: ModelServer) -> None:
    judge.reply = lambda _body: Reply("no", status=401)
    folder = judged(tmp_path, judge, top='judge = "judge"')
    with pytest.raises(Failure, match="the model that judges answered for none of the first 4 responses"):
        await folder.run()


async def test_calls_of_judges_count_for_the_budget(tmp_path: Path, judge: ModelServer) -> None:
    folder = judged(tmp_path, judge, top='judge = "judge"')
    folder.write(metrics="polite", settings="budget: {calls: 4}")
    with pytest.raises(BudgetSpentError, match="4 calls is spent after 2 of 4"):
        await folder.run()
    assert len(judge.requests) == 2


async def test_the_judge_keeps_to_its_rate_limit(tmp_path: Path, judge: ModelServer) -> None:
    judge.queue = [Reply("busy", status=429, headers={"Retry-After": "0"})]
    finished = await judged(tmp_path, judge, top='judge = "judge"').run()
    assert finished.manifest["metrics"][0]["scored"] == 4
    assert len(judge.requests) == 5


async def test_a_planted_key_comes_out_of_no_judgement(
    tmp_path: Path, judge: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", "planted-secret-123")
    judge.reply = lambda _body: verdict(value=True, reason="the key is planted-secret-123")
    folder = judged(tmp_path, judge, top='judge = "judge"', settings="api_key_env = 'JUDGE_API_KEY'")
    await folder.run()
    found = [
        path for path in tmp_path.rglob("*") if path.is_file() and b"planted-secret" in path.read_bytes()
    ]
    assert found == []


async def test_embeddings_of_a_server_are_compared_and_kept(tmp_path: Path, judge: ModelServer) -> None:
    def embedded(body: dict[str, Any]) -> Reply:
        vector = [1.0, 0.0] if "other" in body["input"][0] else [0.6, 0.8]
        data = {"data": [{"index": 0, "embedding": vector}], "usage": {"prompt_tokens": 3}}
        return Reply(raw=json.dumps(data).encode())

    judge.reply = embedded
    metric = 'use = "semantic_similarity"\nembeddings = "judge"'
    folder = judged(tmp_path, judge, metric=metric)
    finished = await folder.run()
    assert [float(row["polite"]) for row in table(finished)] == pytest.approx([1, 0.6, 1, 0.6])
    asked = len(judge.requests)
    assert asked == 5  # four texts and `other`
    await folder.run()
    assert len(judge.requests) == asked


async def test_a_model_that_judges_may_be_the_one_that_answers(tmp_path: Path, judge: ModelServer) -> None:
    folder = judged(tmp_path, judge, top='judge = "judge"')
    folder.write(model="judge", metrics="polite")
    await folder.run()
    # Of two rows with the same answer and the same reference, the judgement is the same one.
    assert len(judge.requests) == 4 + 3
