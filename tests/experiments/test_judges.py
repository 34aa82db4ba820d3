"""Metrics that ask models, in whole runs with servers for the model and its judge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from promptls.experiments.budget import BudgetSpentError
from promptls.text.errors import UsageError, UserError
from promptls.tokens import count
from support.experiment_folder import Folder, last_text, table
from support.grants import allow_key
from support.model_server import ModelServer, Reply, model_server
from support.unfinished import unfinished_run


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
    """Return an experiment of four rows with the model `echo`, whose metric asks the server `judge`."""
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


async def test_a_metric_may_have_its_own_judge(tmp_path: Path, judge: ModelServer) -> None:
    metric = 'use = "aspect_critic"\ndefinition = "Is it polite?"\nmodel = "judge"'
    finished = await judged(tmp_path, judge, metric=metric, top='judge = "openai:gpt-4.1"').run()
    assert finished.manifest["metrics"][0]["scored"] == 4


async def test_a_metric_without_a_judge_says_before_the_run_what_to_set(
    tmp_path: Path, judge: ModelServer
) -> None:
    with pytest.raises(UsageError, match="`polite` asks a model that judges, and none is set") as refused:
        await judged(tmp_path, judge).plan()
    assert "`promptls.toml`" in str(refused.value.remedy)
    assert "`model: provider:model`" in str(refused.value.remedy)


async def test_an_unknown_judge_is_reported(tmp_path: Path, judge: ModelServer) -> None:
    with pytest.raises(UsageError, match="a metric names a model that judges: there is no model `jugde`"):
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
    # Four answers of `echo`, and a judgment of each.
    assert planned.calls == 8
    assert planned.judging == 4
    assert planned.prompt_cost == pytest.approx(4 * 320 / 1_000_000, rel=0.3)
    assert "8 calls" in str(planned.question)


async def test_a_judgment_is_paid_for_once(tmp_path: Path, judge: ModelServer) -> None:
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
    with pytest.raises(UserError, match="the model that judges answered for none of the first 4 responses"):
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


async def test_a_planted_key_comes_out_of_no_judgment(
    tmp_path: Path, judge: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", "planted-secret-123")
    allow_key("JUDGE_API_KEY", judge.url)
    judge.reply = lambda _body: verdict(value=True, reason="the key is planted-secret-123")
    folder = judged(tmp_path, judge, top='judge = "judge"', settings="api_key_env = 'JUDGE_API_KEY'")
    await folder.run()
    found = [
        path for path in tmp_path.rglob("*") if path.is_file() and b"planted-secret" in path.read_bytes()
    ]
    assert found == []


async def test_embeddings_of_a_server_are_compared_and_cached(tmp_path: Path, judge: ModelServer) -> None:
    def embedded(body: dict[str, Any]) -> Reply:
        vector = [1.0, 0.0] if "other" in body["input"][0] else [0.6, 0.8]
        data = {"data": [{"index": 0, "embedding": vector}], "usage": {"prompt_tokens": 3}}
        return Reply(raw=json.dumps(data).encode())

    judge.reply = embedded
    metric = 'use = "semantic_similarity"\nembeddings = "judge"'
    folder = judged(tmp_path, judge, metric=metric)
    finished = await folder.run()
    assert [float(row["polite"]) for row in table(finished)] == pytest.approx([1, 0.6, 1, 0.6])
    calls = len(judge.requests)
    assert calls == 5  # four texts and `other`
    await folder.run()
    assert len(judge.requests) == calls


async def test_the_cost_that_a_server_reports_for_embeddings_is_counted(
    tmp_path: Path, judge: ModelServer
) -> None:
    data = {
        "data": [{"index": 0, "embedding": [0.6, 0.8]}],
        "usage": {"prompt_tokens": 3, "cost": 0.25},
    }
    judge.reply = lambda _body: Reply(raw=json.dumps(data).encode())
    folder = judged(tmp_path, judge, metric='use = "semantic_similarity"\nembeddings = "judge"')
    finished = await folder.run()
    assert finished.manifest["totals"]["judging"]["paid"] == pytest.approx(5 * 0.25)


async def test_a_model_that_judges_may_be_the_one_that_answers(tmp_path: Path, judge: ModelServer) -> None:
    folder = judged(tmp_path, judge, top='judge = "judge"')
    folder.write(model="judge", metrics="polite")
    await folder.run()
    # Of two rows with the same answer and the same reference, the judgment is the same one.
    assert len(judge.requests) == 4 + 3


async def test_scores_whose_judge_failed_are_asked_for_again_and_the_model_is_not(
    tmp_path: Path, judge: ModelServer, server: ModelServer
) -> None:
    folder = judged(tmp_path, judge, top='judge = "judge"', settings=office(server))
    folder.write(model="office", metrics="polite, metrics.py:length")
    server.reply = lambda body: Reply(f"to {last_text(body)}")
    judge.reply = lambda body: Reply("no", status=400) if "text 2" in last_text(body) else verdict(value=True)
    first = await folder.ask()
    judge.reply = lambda _body: verdict(value=False, reason="now it answers")
    (folder.results / ".cache").rename(tmp_path / "without answers")
    again = await folder.ask(retry_errors=first.results)
    assert [row["polite"] for row in table(again)] == ["pass", "fail", "pass", "pass"]
    assert table(again)[1]["polite_reason"] == "now it answers"
    assert (len(server.requests), len(judge.requests)) == (4, 4 + 1)
    assert again.manifest["metrics"][0]["unscored"] == 0
    assert again.manifest["totals"]["judging"]["calls"] == 1
    with pytest.raises(UsageError, match="all of them have their scores"):
        await folder.ask(retry_errors=again.results)


async def test_a_judge_without_a_verdict_is_asked_again_despite_its_cached_answer(
    tmp_path: Path, judge: ModelServer
) -> None:
    folder = judged(tmp_path, judge, top='judge = "judge"')
    judge.reply = lambda body: Reply("I will not say") if "text 3" in last_text(body) else verdict(value=True)
    first = await folder.ask()
    assert len(judge.requests) == 3 + 2
    judge.reply = lambda _body: verdict(value=True)
    again = await folder.ask(retry_errors=first.results)
    assert [row["polite"] for row in table(again)] == ["pass"] * 4
    assert len(judge.requests) == 5 + 1


async def test_a_resumed_run_asks_failed_judges_again(tmp_path: Path, judge: ModelServer) -> None:
    folder = judged(tmp_path, judge, top='judge = "judge"')
    folder.write(metrics="polite", settings="concurrency: 1")
    judge.queue = [Reply("no", status=400)]
    with pytest.raises(BudgetSpentError):
        await folder.ask(max_calls=4)
    journal = unfinished_run(folder.results)
    finished = await folder.ask(resume=str(journal))
    assert [row["polite"] for row in table(finished)] == ["pass", "fail", "fail", "fail"]
    assert len(judge.requests) == 5
    assert finished.manifest["totals"]["judging"]["calls"] == 5


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        (("'large'", "'larger'"), "the model that judges for the metric `polite`"),
        (("Is it polite?", "Is it rude?"), "the metric `polite`"),
    ],
)
async def test_a_run_with_a_changed_judge_or_question_is_not_resumed(
    tmp_path: Path, judge: ModelServer, change: tuple[str, str], reported: str
) -> None:
    folder = judged(tmp_path, judge, top='judge = "judge"')
    with pytest.raises(BudgetSpentError):
        await folder.ask(max_calls=4)
    settings = tmp_path / "promptls.toml"
    settings.write_text(settings.read_text("utf-8").replace(*change), "utf-8")
    journal = unfinished_run(folder.results)
    with pytest.raises(UsageError, match=f"{reported} changed after this run began"):
        await folder.ask(resume=str(journal))


async def test_reused_rows_are_judged_again_if_the_judge_has_changed(
    tmp_path: Path, judge: ModelServer, server: ModelServer
) -> None:
    folder = judged(tmp_path, judge, top='judge = "judge"', settings=office(server))
    folder.write(model="office", metrics="polite")
    server.reply = lambda body: (
        Reply(status=400, raw=b"{}") if last_text(body) == "text 2" else Reply(f"to {last_text(body)}")
    )
    first = await folder.ask()
    server.reply = lambda _body: Reply("repaired")
    settings = tmp_path / "promptls.toml"
    settings.write_text(settings.read_text("utf-8").replace("polite?", "rude?"), "utf-8")
    again = await folder.ask(retry_errors=first.results)
    assert (len(server.requests), len(judge.requests)) == (4 + 1, 3 + 4)
    assert all("rude?" in last_text(body) for body in judge.requests[3:])
    assert [row["response"] for row in table(again)][:2] == ["to text 1", "repaired"]


async def test_the_plan_measures_the_judges_questions(
    tmp_path: Path, judge: ModelServer, server: ModelServer
) -> None:
    metric = 'use = "aspect_critic"\ndefinition = "Is it polite?"\nrepeats = 3'
    folder = judged(tmp_path, judge, metric=metric, top='judge = "judge"', settings=office(server))
    folder.write(model="office", metrics="polite", rows=60)
    server.reply = lambda body: Reply(f"to {last_text(body)}")
    planned = await folder.plan()
    assert (planned.calls, planned.judging, planned.cached) == (60 * 4, 60 * 3, 0)
    assert judge.requests == []
    finished = await folder.ask()
    sent = sum(
        count("\n".join(each["content"] for each in body["messages"]), "o200k_base")
        for body in judge.requests
    )
    assert planned.tokens - 60 * 3 == pytest.approx(sent, rel=0.35)
    assert (await folder.plan()).judging == 0
    assert finished.manifest["settings"]["scoring"]["polite"]["options"]["repeats"] == 3


async def test_the_plan_counts_what_ragas_would_ask(tmp_path: Path, judge: ModelServer) -> None:
    pytest.importorskip("ragas")
    metric = 'use = "factual_correctness"\n[metrics.polite.columns]\nreference = "answer"'
    folder = judged(tmp_path, judge, metric=metric, top='judge = "judge"')
    folder.write(metrics="polite", rows=2)
    planned = await folder.plan()
    # Claims of response and of reference, and how far the ones follow from the others.
    assert planned.judging == 2 * 4


def office(server: ModelServer) -> str:
    return f"[models.office]\nprovider = 'openai'\nmodel = 'small'\nbase_url = '{server.url}'"
