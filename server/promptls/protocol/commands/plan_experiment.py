"""`promptls.planExperiment`: what a run would do and cost, and how many rendered prompts an edit changes."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from promptls.features.run_words import plan_text
from promptls.protocol.commands.run_request import run_request

if TYPE_CHECKING:
    from promptls.protocol.session import Session


async def plan_experiment(
    session: Session, arguments: dict[str, Any], _token: types.ProgressToken | None
) -> dict[str, Any]:
    """The plan with a sentence for people; every row is rendered, and no model is asked."""
    from promptls.experiments.client import plan_in_process

    planned = await plan_in_process(run_request(session, arguments))
    return {**asdict(planned), "message": plan_text(planned)}
