"""Executing a plan: completing the graph, generating samples for the scenarios, and writing the dataset."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from promptls.experiments.budget import BudgetSpentError
from promptls.experiments.pipeline import Progress
from promptls.experiments.process import MayGo, Notify, leave, main
from promptls.experiments.run_protocol import Event, Finished, RowFinished, Started, Stopped, to_json
from promptls.testset.generation import (
    GenerationPlan,
    GenerationRequest,
    prepare_generation,
    requested_access,
)
from promptls.testset.model_asker import ModelAsker, opened_asker
from promptls.testset.synthesis import GeneratedSample, Samples, generate_samples, rows_of, write_rows
from promptls.testset.transforms import transform
from promptls.text.errors import FilePlace, UserError
from promptls.text.format import plural


async def generate(plan: GenerationPlan, on_event: Callable[[Event], None]) -> Finished:
    """Generate and write the dataset; the manifest of the final event describes its content and usage.

    If cancelled, nothing is written and `Stopped` is reported; answers are cached, so the same request
    can continue. If the budget is exhausted, the samples generated so far are written. Raises `UserError`
    if there is no acceptable query, and the errors of the model.
    """
    began = time.monotonic()
    progress = _Progress(plan, on_event)
    try:
        async with opened_asker(plan.reference, plan.asking, plan.cache) as asker:
            samples = await _samples(plan, asker, progress)
    except asyncio.CancelledError:
        on_event(Stopped(progress.done, plan.scenarios, ""))
        raise
    if not samples.samples:
        raise _nothing(samples, plan)
    write_rows(plan.output, rows_of(samples.samples))
    manifest = _manifest(plan, samples, asker, time.monotonic() - began)
    return Finished(str(plan.output), "", manifest)


async def _samples(plan: GenerationPlan, asker: ModelAsker, progress: _Progress) -> Samples:
    drawn = plan.drawn
    if drawn is None:
        await transform(plan.graph, plan.extraction(asker))
        drawn = plan.draw()
    if plan.request.graph is not None and not plan.graph_is_loaded:
        plan.graph.save(plan.request.graph)
    progress.begin(len(drawn.scenarios))
    return await generate_samples(
        drawn.scenarios,
        asker,
        tries=plan.request.tries,
        at_once=plan.asking.concurrency,
        notify=progress.notify,
    )


class _Progress:
    def __init__(self, plan: GenerationPlan, on_event: Callable[[Event], None]) -> None:
        self._plan = plan
        self._on_event = on_event
        self._total = plan.scenarios
        self._progress = Progress()
        self.done = 0

    def begin(self, total: int) -> None:
        self._total = total
        self._progress = Progress()
        self._on_event(Started(self._plan.output.name, total, ""))

    def notify(self, index: int, found: GeneratedSample | str) -> None:
        self.done += 1
        error = found if isinstance(found, str) else None
        finished = RowFinished(str(index + 1), error, {}, self.done, self._total)
        self._on_event(self._progress.timed(finished))


def _nothing(samples: Samples, plan: GenerationPlan) -> UserError:
    if samples.stopped is not None and not samples.left_out:
        return BudgetSpentError(
            f"{samples.stopped} before there was a query",
            FilePlace(plan.output),
            "run it again with a larger one; cached answers cost nothing",
        )
    reasons = ", ".join(
        f"{plural(count, 'time')} {reason}" for reason, count in samples.left_out.most_common(3)
    )
    return UserError(
        f"`{plan.reference.name}` gave no usable query: {reasons}",
        FilePlace(plan.output),
        "try a larger model, another `--seed`, or documents with more prose; nothing was written",
    )


def _manifest(plan: GenerationPlan, samples: Samples, asker: ModelAsker, seconds: float) -> dict[str, Any]:
    request = plan.request
    made = Counter(sample.scenario.synthesizer for sample in samples.samples)
    return {
        "rows": len(samples.samples),
        "requested": request.size,
        "synthesizers": dict(made),
        "left_out": dict(samples.left_out.most_common()),
        "duplicates": samples.duplicates,
        "not_requested": samples.not_requested,
        "stopped": samples.stopped,
        "documents": plan.documents,
        "nodes": len(plan.graph.nodes),
        "relationships": len(plan.graph.relationships),
        "graph": request.graph,
        "model": plan.reference.name,
        "extraction": request.extraction,
        "seed": request.seed,
        "calls": asker.taken.calls,
        "cached": asker.taken.cached,
        "input_tokens": asker.taken.input_tokens,
        "output_tokens": asker.taken.output_tokens,
        "cost": asker.taken.cost,
        "seconds": round(seconds, 3),
        "message": _message(plan, samples),
    }


def _message(plan: GenerationPlan, samples: Samples) -> str:
    notes = [f"{plan.output.name}: {plural(len(samples.samples), 'row')}"]
    if left := sum(samples.left_out.values()):
        notes.append(f"{left} left out")
    if samples.duplicates:
        notes.append(f"{plural(samples.duplicates, 'duplicate')} dropped")
    if samples.stopped:
        notes.append(f"{samples.stopped}, so {samples.not_requested} were not asked for")
    return ", ".join(notes)


async def _generate(request: GenerationRequest, notify: Notify, may_go: MayGo) -> None:
    async with prepare_generation(request) as (plan, planned):
        if await may_go(planned):
            notify(to_json(await generate(plan, lambda event: notify(to_json(event)))))


if __name__ == "__main__":
    leave(main(GenerationRequest, requested_access, _generate))
