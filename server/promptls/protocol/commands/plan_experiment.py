"""`promptls.planExperiment`: what a run would do and cost, and how many rendered prompts an edit changes."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.protocol.commands.run_request import run_request
from promptls.text.dollars import in_dollars

if TYPE_CHECKING:
    from promptls.experiments.events import Planned
    from promptls.protocol.session import Session


async def plan_experiment(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The plan with a sentence for people; every row is rendered, and no model is asked."""
    from promptls.experiments.client import plan_in_process

    planned = await plan_in_process(run_request(session, arguments))
    return {**asdict(planned), "message": in_words(planned)}


def in_words(planned: Planned) -> str:
    """The plan in one sentence: `12 of 50 rendered prompts are changed by the edit; 12 calls, …`."""
    words = [f"{planned.rows} rows" if planned.changed is None else changed_words(planned)]
    words.append(f"{planned.calls} calls to make, {planned.cached} answered before")
    cost = planned.longest_cost if planned.longest_cost is not None else planned.prompt_cost
    if cost is not None:
        words.append(f"about {in_dollars(cost)}")
    if planned.failing:
        words.append(f"{planned.failing} rows cannot be rendered")
    if planned.over_limit:
        words.append(f"{planned.over_limit} rows are over the token limit")
    if planned.unsure is not None:
        words.append(planned.unsure)
    return "; ".join(words)


def changed_words(planned: Planned) -> str:
    """What the edit has changed: `12 of 50 rendered prompts differ from the last run`."""
    return f"{planned.changed} of {planned.rows} rendered prompts differ from the last run"
