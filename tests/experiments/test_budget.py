from __future__ import annotations

import json

import pytest

from promptls.experiments.budget import Budget, BudgetSpentError, ExpectedUsage, Spending
from promptls.experiments.client import plan_in_process, run_in_process
from promptls.experiments.run_protocol import Event, Planned, RunRequest, Stopped
from support.experiment_folder import Folder, table
from support.model_server import ModelServer, Reply

PRICED = {"input_price": "1000000", "output_price": "2000000"}


def priced(folder: Folder, server: ModelServer, settings: str = "concurrency: 2", rows: int = 10) -> Folder:
    """Return a folder whose model costs 1 dollar per input token and 2 dollars per output token."""
    folder.serve(server).write(model="office", rows=rows, settings=settings)
    toml = folder.path / "promptls.toml"
    lines = [f"{name} = {value}" for name, value in PRICED.items()]
    toml.write_text("\n".join([toml.read_text("utf-8"), *lines]), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("limit", "calls"),
    [
        ({"max_calls": 4}, 4),
        # Each call takes 7 + 3 tokens; 3 + 5 are expected of it before.
        ({"max_tokens": 38}, 4),
        # Each call costs 7 + 2 * 3 dollars; 3 + 2 * 5 are expected of it before.
        ({"max_cost": 52.5}, 4),
    ],
)
async def test_a_run_stops_before_it_spends_more_than_it_may(
    folder: Folder, server: ModelServer, limit: dict[str, float], calls: int
) -> None:
    priced(folder, server, "{concurrency: 1, max_tokens: 5}"[1:-1].replace(", ", "\n    "))
    events: list[Event] = []
    with pytest.raises(BudgetSpentError, match=f"is spent after {calls} of 10 results") as spent:
        await folder.ask(events.append, **limit)
    assert "--resume" in spent.value.remedy
    assert len(server.requests) == calls
    assert isinstance(events[-1], Stopped)
    assert "budget" in events[-1].why


@pytest.mark.parametrize("prices", [{}, {"input_price": 1, "output_price": 2}])
async def test_a_reported_cost_takes_precedence_over_the_price(
    folder: Folder, server: ModelServer, prices: dict[str, float]
) -> None:
    answer = {
        "choices": [{"message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 50, "cost": 0.5},
    }
    server.reply = lambda _body: Reply(raw=json.dumps(answer).encode())
    folder.serve(server, **prices).write(model="office", rows=9, settings="concurrency: 1")
    with pytest.raises(BudgetSpentError, match="is spent after 2 of 9 results"):
        await folder.ask(max_cost=0.9)
    finished = await folder.ask(rows="2")
    assert [row["cost"] for row in table(finished)] == ["0.5", "0.5"]
    assert finished.manifest["totals"]["cost"] == 1.0


async def test_a_budget_may_be_declared(folder: Folder, server: ModelServer) -> None:
    folder.serve(server).write(model="office", rows=9, settings="budget: {calls: 2}")
    with pytest.raises(BudgetSpentError, match="the budget of 2 calls is spent"):
        await folder.ask()


async def test_answers_from_the_cache_cost_nothing_of_a_budget(folder: Folder, server: ModelServer) -> None:
    priced(folder, server, rows=6)
    await folder.ask()
    again = await folder.ask(max_calls=1, max_cost=0.01)
    assert again.manifest["totals"]["cost"] == 6 * 13
    assert again.manifest["totals"]["paid"] == 0


def test_what_is_under_way_counts() -> None:
    spending = Spending(Budget(calls=3, cost=10))
    assert spending.allows(ExpectedUsage(1, 4))
    assert spending.allows(ExpectedUsage(1, 4))
    assert not spending.allows(ExpectedUsage(1, 4))
    assert spending.reached == "$10.00"


async def test_the_plan_says_calls_tokens_and_costs(folder: Folder, server: ModelServer) -> None:
    priced(folder, server, "max_tokens: 5")
    planned = await folder.plan()
    assert (planned.rows, planned.calls, planned.tokens) == (10, 10, 30)
    assert planned.prompt_cost == pytest.approx(planned.tokens)
    assert planned.longest_cost == pytest.approx(planned.tokens + 10 * 5 * 2)
    assert planned.question is not None
    assert "10 calls" in planned.question
    assert server.requests == []


async def test_a_cheap_run_and_a_free_one_ask_nobody(folder: Folder, server: ModelServer) -> None:
    assert (await folder.plan()).question is None
    priced(folder, server)
    toml = folder.path / "promptls.toml"
    toml.write_text(toml.read_text("utf-8") + "\n[ask_above]\ncost = 1000\n", "utf-8")
    assert (await folder.plan()).question is None


async def test_a_process_waits_for_the_answer_to_its_question(folder: Folder, server: ModelServer) -> None:
    import asyncio

    priced(folder, server)
    request = RunRequest(str(folder.prompt))
    confirmed: list[Planned] = []

    async def refuse(planned: Planned) -> bool:
        confirmed.append(planned)
        return False

    async def allow(_planned: Planned) -> bool:
        return True

    with pytest.raises(asyncio.CancelledError):
        await run_in_process(request, lambda _event: None, refuse)
    assert (len(confirmed), server.requests) == (1, [])
    await run_in_process(request, lambda _event: None, allow)
    assert len(server.requests) == 10


async def test_a_process_reports_the_plan_of_a_run(folder: Folder, server: ModelServer) -> None:
    priced(folder, server)
    server.reply = lambda _body: Reply("fine")
    await folder.ask()
    text = folder.prompt.read_text("utf-8").replace("{{ escape", "{{ 'x' if '3' in text }}{{ escape")
    planned = await plan_in_process(RunRequest(str(folder.prompt), unsaved={str(folder.prompt): text}))
    assert (planned.changed, planned.calls, planned.cached) == (1, 1, 9)
    assert json.dumps(planned.question)
