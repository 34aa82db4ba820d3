"""Who calls the function of a code-defined experiment: this process, or the nodes of a Ray cluster."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from promptls.experiments.python.decorator import DEFAULT_CONCURRENCY
from promptls.experiments.python.plan import PythonPlan
from promptls.experiments.python.row_function import FunctionOutcome, RowFunction, failed_row
from promptls.models.model import ModelError
from promptls.models.providers import TABLE

if TYPE_CHECKING:
    from promptls.experiments.python.ray_function_worker import SentFunction
    from promptls.models.ray_nodes import RayNodes

RowCall: TypeAlias = Callable[[Any, int], Awaitable[FunctionOutcome]]
"""What a row and a repeat come to."""

# How often a row is called on another node when its own is lost.
_MAX_TRIES: Final = 3

_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\b")


class RowCaller(NamedTuple):
    """Calls the function of a plan; `at_once` is how many calls go on at a time where nobody says it."""

    call: RowCall
    at_once: int


@asynccontextmanager
async def row_caller(plan: PythonPlan, timeout: float | None, most: int) -> AsyncIterator[RowCaller]:
    """Provide the caller of the plan's function, on the chosen engine; `most` calls at a time are of any use.

    Raises as `RayNodes.connect`, and `ModelError` where a node has not the experiment's file.
    """
    if plan.engine == "ray":
        async with _on_cluster(plan, timeout, most) as caller:
            yield caller
        return
    functions = [
        RowFunction(plan.function, (), plan.arguments_of(repeat), plan.model, timeout)
        for repeat in range(1, plan.repeats + 1)
    ]
    yield RowCaller(
        lambda row, repeat: functions[repeat - 1].call(row),
        DEFAULT_CONCURRENCY if plan.is_asynchronous else 1,
    )


@asynccontextmanager
async def _on_cluster(plan: PythonPlan, timeout: float | None, most: int) -> AsyncIterator[RowCaller]:
    from promptls.experiments.python.ray_function_worker import FunctionWorker
    from promptls.models.ray_nodes import RayNodes

    sent = _sent(plan, timeout)
    environment = _environment(sent.text)
    nodes = RayNodes(FunctionWorker, (sent, environment), most)
    await nodes.connect(plan.ray_address, environment, from_project=plan.ray_from_project)

    async def call(row: Any, repeat: int) -> FunctionOutcome:
        outcome: FunctionOutcome | ModelError = ModelError("")
        for _ in range(_MAX_TRIES):
            outcome = await _called(nodes, row, repeat)
            if not isinstance(outcome, ModelError):
                return outcome
        return failed_row(row, str(outcome))

    is_ended = False
    try:
        # A function that is not asynchronous has each node to itself.
        yield RowCaller(call, DEFAULT_CONCURRENCY if plan.is_asynchronous else nodes.count)
        is_ended = True
    finally:
        await nodes.close(at_once=not is_ended)


async def _called(nodes: RayNodes, row: Any, repeat: int) -> FunctionOutcome | ModelError:
    """Return what the row came to on one node; the error of a node that was lost."""
    try:
        outcome = await nodes.asked("", lambda actor: actor.call.remote(repeat, row))
    except ModelError as error:
        return error
    except TypeError as error:
        return failed_row(row, f"the row cannot be sent to a node: {error}")
    return FunctionOutcome(*outcome)


def _sent(plan: PythonPlan, timeout: float | None) -> SentFunction:
    from promptls.experiments.python.ray_function_worker import SentFunction

    path = Path(plan.experiment.file)
    arguments = [plan.arguments_of(repeat) for repeat in range(1, plan.repeats + 1)]
    return SentFunction(str(path), path.read_bytes(), plan.experiment.name, arguments, timeout)


def _environment(text: bytes) -> dict[str, str]:
    """Return the environment variables of providers and of the experiment's file that are set."""
    names = set(_VARIABLE.findall(text.decode("utf-8", "replace")))
    for provider in TABLE.values():
        names |= {*provider.key_envs, *([provider.base_url_env] if provider.base_url_env else [])}
    return {name: os.environ[name] for name in names if name in os.environ}
