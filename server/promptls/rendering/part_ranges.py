"""How many tokens each part has with all samples and the first rows: branches and loops make them differ."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import median_low
from typing import Final

from promptls.meaning.template import Template
from promptls.rendering.file_rendering import FileRendering, PartRange, rendered_parts
from promptls.rendering.included_tokens import brought_in, tokens_of, told_names
from promptls.rendering.outcome import Rendering
from promptls.rendering.samples import Sample, given_samples, row_samples
from promptls.rendering.worker import RenderWorker
from promptls.text.failure import Failure
from promptls.workspace.included_parts import included_part_names
from promptls.workspace.snapshot import Snapshot

_MOST_SECONDS: Final = 3.0
"""How long samples and rows are tried; what was tried until then counts."""
_MOST_ROWS: Final = 30


async def weigh_parts(
    worker: RenderWorker, snapshot: Snapshot, made: FileRendering, go_on: Callable[[], bool]
) -> FileRendering:
    """The same rendering, with the ranges of its parts; data is tried as long as `go_on` says so.

    Without other data than that of the rendering, and where functions are stand-ins, there are none.
    """
    path = made.job.path
    template = snapshot.template(path)
    known = replace(made, ranges=()) if made.ranges else made
    if template is None or made.job.stand_ins or made.rendering is None:
        return known
    others = included_part_names(snapshot, path)
    groups = _included_groups(snapshot, path)
    counts = [_counts(template, others, groups, made.rendering)]
    deadline = time.monotonic() + _MOST_SECONDS
    for sample in _samples(snapshot, path):
        if not go_on():
            return made
        if time.monotonic() > deadline:
            break
        if sample.data != made.sample.data:
            outcome = await worker.render(replace(made.job, data=sample.data))
            if isinstance(outcome, Rendering):
                counts.append(_counts(template, others, groups, outcome))
    if len(counts) == 1:
        return known
    names = Counter(placed.part.name for placed in template.parts)
    ranges = []
    for index, placed in enumerate(template.parts):
        name = placed.part.name
        # Of a part that cannot be told from others, nobody knows how often it was left out.
        if name is not None and names[name] == 1 and name not in others:
            tokens = [each[index] for each in counts]
            ranges.append(PartRange(name, min(tokens), median_low(tokens), max(tokens), len(tokens)))
    for index, name in enumerate(groups, start=len(template.parts)):
        tokens = [each[index] for each in counts]
        ranges.append(PartRange(name, min(tokens), median_low(tokens), max(tokens), len(tokens)))
    return replace(made, ranges=tuple(ranges))


def _samples(snapshot: Snapshot, path: str) -> list[Sample]:
    try:
        given = given_samples(snapshot, path)
        found = [each for each in given if not each.name.startswith("row ")]
    except Failure:  # the rendering reports it
        found = []
    return [*found, *row_samples(snapshot, path)[:_MOST_ROWS]]


def _included_groups(snapshot: Snapshot, path: str) -> dict[str, tuple[str, ...]]:
    """The parts that come from includes: each by itself under its name, and all of a file under its path."""
    told = told_names(snapshot, path)
    groups: dict[str, tuple[str, ...]] = {name: (name,) for names in told.values() for name in names}
    for target in told:
        names = brought_in(snapshot, told, target)
        if names:
            groups[target] = names
    return groups


def _counts(
    template: Template, others: frozenset[str], groups: Mapping[str, tuple[str, ...]], rendering: Rendering
) -> list[int]:
    """The tokens of what each part of the template became, and behind them of the parts of each group."""
    own = [sum(part.tokens for part in became) for became in rendered_parts(template, others, rendering)]
    return [*own, *(sum(tokens_of(names, rendering)) for names in groups.values())]
