"""A plan is carried out: the graph finished, the scenarios asked about, the data set written."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from promptls.experiments.at_once import BudgetSpentError
from promptls.experiments.events import Event, Finished, RowFinished, Started, Stopped
from promptls.generation.graph_file import save
from promptls.generation.model_asker import ModelAsker, opened_asker
from promptls.generation.prepare import GenerationPlan
from promptls.generation.rows import rows_of, write_rows
from promptls.generation.scenario import Sample
from promptls.generation.synthesis import Samples, generate_samples
from promptls.generation.transforms import transform
from promptls.text.counted import counted
from promptls.text.failure import Failure, FilePlace


async def generate(plan: GenerationPlan, on_event: Callable[[Event], None]) -> Finished:
    """The data set is written; the manifest of the end says what it holds and what it took.

    What is cancelled writes nothing, and tells `Stopped`: what was answered is kept, and the same request
    goes on with it. A budget that is spent ends the asking, and what is there is written. Raises `Failure`
    where no query is any good, and what the model raises.
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
    rows = rows_of(samples.samples)
    write_rows(plan.output, rows)
    manifest = _manifest(plan, samples, asker, time.monotonic() - began)
    return Finished(str(plan.output), "", manifest)


async def _samples(plan: GenerationPlan, asker: ModelAsker, progress: _Progress) -> Samples:
    drawn = plan.drawn
    if drawn is None:
        await transform(plan.graph, plan.extraction(asker))
        drawn = plan.draw()
    if plan.request.graph is not None and not plan.graph_is_loaded:
        save(plan.graph, Path(plan.request.graph))
    progress.begin(len(drawn.scenarios))
    return await generate_samples(
        drawn.scenarios,
        asker,
        tries=plan.request.tries,
        at_once=plan.asking.concurrency,
        tell=progress.tell,
    )


class _Progress:
    """Tells of each query that is there, or is left out."""

    def __init__(self, plan: GenerationPlan, on_event: Callable[[Event], None]) -> None:
        self._plan = plan
        self._on_event = on_event
        self._total = plan.scenarios
        self._began = time.monotonic()
        self.done = 0

    def begin(self, total: int) -> None:
        self._total = total
        self._began = time.monotonic()
        self._on_event(Started(self._plan.output.name, total, 0, 0, ""))

    def tell(self, index: int, found: Sample | str) -> None:
        self.done += 1
        seconds = max(time.monotonic() - self._began, 1e-9)
        rate = self.done / seconds
        self._on_event(
            RowFinished(
                id=str(index + 1),
                model=self._plan.reference.name,
                error=found if isinstance(found, str) else None,
                scores={},
                done=self.done,
                total=self._total,
                seconds=seconds,
                left=(self._total - self.done) / rate,
                rate=rate,
            )
        )


def _nothing(samples: Samples, plan: GenerationPlan) -> Failure:
    if samples.stopped is not None and not samples.left_out:
        return BudgetSpentError(
            f"{samples.stopped} before there was a query",
            FilePlace(plan.output),
            "run it again with a larger one: what was answered is kept, and not paid for again",
        )
    reasons = ", ".join(
        f"{counted(count, 'time')} {reason}" for reason, count in samples.left_out.most_common(3)
    )
    return Failure(
        f"`{plan.reference.name}` gave no query that is any good: {reasons}",
        FilePlace(plan.output),
        "try a larger model, another `--seed`, or documents with more prose; nothing was written",
    )


def _manifest(plan: GenerationPlan, samples: Samples, asker: ModelAsker, seconds: float) -> dict[str, Any]:
    request = plan.request
    made = Counter(sample.scenario.synthesizer for sample in samples.samples)
    return {
        "rows": len(samples.samples),
        "wanted": request.size,
        "synthesizers": dict(made),
        "left_out": dict(samples.left_out.most_common()),
        "duplicates": samples.duplicates,
        "not_asked": samples.not_asked,
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
    words = [f"{plan.output.name}: {counted(len(samples.samples), 'row')}"]
    if left := sum(samples.left_out.values()):
        words.append(f"{left} left out")
    if samples.duplicates:
        words.append(f"{counted(samples.duplicates, 'duplicate')} dropped")
    if samples.stopped:
        words.append(f"{samples.stopped}, so {samples.not_asked} were not asked for")
    return ", ".join(words)
