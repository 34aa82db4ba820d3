"""An evaluation prompt to its outcome: what OpenCompass asks for a row. Runs in the worker's process."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from promptls.rendering.evaluation_asking import asked_row, asking_of, chat_messages, meta_templates
from promptls.rendering.evaluation_data import rows_of
from promptls.rendering.evaluation_job import EvaluationJob
from promptls.rendering.evaluation_map import evaluation_map, with_places
from promptls.rendering.evaluation_place import line_at
from promptls.rendering.evaluation_view import RowPrompts, row_json
from promptls.rendering.job import RenderJob
from promptls.rendering.outcome import EVALUATION_FAILURE, RenderedPart, RenderFailure, Rendering
from promptls.rendering.source_map.render import render_mapped
from promptls.rendering.source_map.templates import CompiledGroups
from promptls.systems.opencompass.failure import OpenCompassError
from promptls.systems.prompt_poet.document import read
from promptls.systems.prompt_poet.render import RenderOptions
from promptls.text.failure import Failure
from promptls.text.nearest import did_you_mean
from promptls.tokens.counting import count

KIND: Final = EVALUATION_FAILURE


_compiled = CompiledGroups()


def render_evaluation(job: RenderJob, data: Mapping[str, Any], started: float) -> Rendering | RenderFailure:
    """What OpenCompass asks of the mapping that the template makes of `data`; its failures are outcomes.

    Raises PromptPoetError where Jinja fails, or what it makes is no YAML.
    """
    unsaved = {**job.unsaved, job.path: job.text}
    options = RenderOptions(token_limit=job.token_limit)
    made, source_map = render_mapped(job.path, data, unsaved=unsaved, options=options, compiled=_compiled)
    loaded, root = read(made.text)
    if isinstance(loaded, Mapping) and job.with_source_map:
        loaded = with_places(made.text, loaded, root)
    if not isinstance(loaded, Mapping):
        return RenderFailure(KIND, "An evaluation prompt is a mapping with `prompt_template`.", job.path)
    wanted = job.evaluation or EvaluationJob()
    try:
        train, test = rows_of(wanted.data)
    except Failure as failure:
        place = failure.place
        return RenderFailure("data", failure.message, str(place.path) if place else job.path)
    choices = meta_templates(loaded, wanted.meta_templates)
    chosen = wanted.meta_template or next(iter(choices))
    if chosen not in choices:
        slip = did_you_mean(chosen, choices)
        message = f"There is no meta template `{chosen}`{slip or '.'} There are: {', '.join(choices)}."
        return RenderFailure(KIND, message, job.path)
    try:
        counter = partial(count, encoding=job.encoding)
        made_up = None if train or test else data
        asking = asking_of(loaded, choices[chosen], (train, test), counter, job.token_limit, made_up)
        index, row = asked_row(wanted.row, asking, test, job.data)
        shown = asking.prompts(index, row)
    except OpenCompassError as error:
        kind = KIND if error.is_opencompass else "unavailable"
        return RenderFailure(kind, error.message, job.path, line_at(job.text, error.at))
    indices = [index]
    if wanted.rows != 1 and test:
        last = len(asking.test) if wanted.rows == 0 else index + wanted.rows
        indices += range(index + 1, min(last, len(asking.test)))
    first = shown.to_json(asking.count)
    viewer = {
        "rows": len(test),
        **first,
        "row": wanted.row or shown.number,
        "asked": len(asking.test),
        "all": [first, *(row_json(asking, each, asking.test[each]) for each in indices[1:])],
        "inferencer": asking.evaluation.inferencer_class,
        "retriever": asking.evaluation.retriever.kind,
        "approximation": asking.approximation,
        "metaTemplate": chosen,
        "metaTemplates": list(choices),
    }
    pieces = _pieces(shown)
    contents = [content for _, _, content in pieces]
    parts = tuple(
        RenderedPart(place, name, role, str(content), asking.count(content), None, kept=True)
        for place, (name, role, content) in enumerate(pieces)
    )
    tokens = sum(prompt.tokens for prompt in shown.prompts)
    return Rendering(
        parts=parts,
        string=_string(shown),
        messages=chat_messages(asking, shown),
        tokens=tokens,
        tokens_kept=tokens,
        text=made.text,
        seconds=time.perf_counter() - started,
        problems=tuple(_problems(job, shown)),
        files=tuple(sorted(made.files)),
        viewer=viewer,
        source_map=evaluation_map(source_map, contents, job.most_segments) if job.with_source_map else None,
    )


def _pieces(shown: RowPrompts) -> list[tuple[str, str, str]]:
    """Name, role and content of each part: of a prompt's text, or of each of its messages."""
    found: list[tuple[str, str, str]] = []
    for asked in shown.prompts:
        label = None if asked.label is None else str(asked.label)
        messages = asked.messages
        if messages is None:
            found.append((label or "prompt", "user", asked.text))
            continue
        for number, each in enumerate(messages, start=1):
            name = f"message {number}" if label is None else f"{label}, message {number}"
            content = each.get("content", "")
            found.append((name, str(each["role"]), content if isinstance(content, str) else str(content)))
    return found


def _problems(job: RenderJob, shown: RowPrompts) -> Iterator[RenderFailure]:
    """What is lost on the way to the model."""
    for asked in shown.prompts:
        label = "" if asked.label is None else f" of the label `{asked.label}`"
        if asked.made.ignored:
            lost = asked.made.ignored[0]
            message = f"A model behind an API does not get the texts outside of roles{label}: {lost!r}."
            yield RenderFailure(KIND, message, job.path)
        if asked.cuts:
            examples = "example does" if len(asked.cuts) == 1 else "examples do"
            message = f"{len(asked.cuts)} {examples} not fit into the prompt{label}: left out."
            yield RenderFailure("truncation", message, job.path)


def _string(shown: RowPrompts) -> str:
    """The prompt as one text; of several, each under its label."""
    if len(shown.prompts) == 1 and shown.prompts[0].label is None:
        return shown.prompts[0].text
    return "\n\n".join(f"[{asked.label}]\n{asked.text}" for asked in shown.prompts)
